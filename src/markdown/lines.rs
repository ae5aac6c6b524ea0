//! Which line a byte stands on.

/// The starts of a text's lines. A line ends with LF, CRLF or a lone CR.
#[derive(Debug, Clone)]
pub struct Lines {
    starts: Vec<usize>,
    end: usize,
}

impl Lines {
    /// Finds the lines of a text.
    #[must_use]
    pub fn of(text: &str) -> Lines {
        let bytes = text.as_bytes();
        let mut starts = vec![0];
        for (at, byte) in bytes.iter().enumerate() {
            let ends = match byte {
                b'\n' => true,
                b'\r' => bytes.get(at + 1) != Some(&b'\n'),
                _ => false,
            };
            if ends {
                starts.push(at + 1);
            }
        }
        Lines { starts, end: text.len() }
    }

    /// The line of a byte offset, counted from 1.
    #[must_use]
    pub fn line(&self, at: usize) -> u32 {
        u32::try_from(self.starts.partition_point(|start| *start <= at)).unwrap_or(u32::MAX)
    }

    /// Where a line begins, counted from 1; `None` behind the last one. What follows a last line's end is no line.
    #[must_use]
    pub fn start(&self, line: u32) -> Option<usize> {
        let at = *self.starts.get(usize::try_from(line).ok()?.checked_sub(1)?)?;
        (at < self.end || at == 0).then_some(at)
    }

    /// Where a line ends, its line end included.
    #[must_use]
    pub fn end(&self, line: u32) -> usize {
        let next = usize::try_from(line).ok().and_then(|line| self.starts.get(line));
        next.copied().unwrap_or(self.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_end_counts_once() {
        let lines = Lines::of("a\nb\r\nc\rd\n");
        assert_eq!([0, 1, 2, 4, 5, 6, 7].map(|at| lines.line(at)), [1, 1, 2, 2, 3, 3, 4]);
        assert_eq!((lines.start(3), lines.end(3)), (Some(5), 7));
        assert_eq!((lines.start(4), lines.end(4), lines.start(5), lines.start(0)), (Some(7), 9, None, None));
    }
}
