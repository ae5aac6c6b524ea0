//! Text at the end of a file.

/// Puts a text behind the others, on a line of its own and in the line ends of the file. Where it would be read as part
/// of the last block, an empty line stands between.
#[must_use]
pub fn append(bytes: &[u8], text: &str) -> Vec<u8> {
    let crlf = bytes.windows(2).any(|pair| pair == b"\r\n");
    let end: &[u8] = if crlf { b"\r\n" } else { b"\n" };
    let mut out = bytes.to_vec();
    if !out.is_empty() && !out.ends_with(b"\n") {
        out.extend_from_slice(end);
    }
    if joins(&String::from_utf8_lossy(last_line(&out)), text) {
        out.extend_from_slice(end);
    }
    if crlf {
        // What is typed has plain line ends; a file that has others keeps them.
        out.extend_from_slice(text.replace("\r\n", "\n").replace('\n', "\r\n").as_bytes());
    } else {
        out.extend_from_slice(text.as_bytes());
    }
    if !out.ends_with(b"\n") {
        out.extend_from_slice(end);
    }
    out
}

/// The last line, of a text that ends in a line's end.
fn last_line(bytes: &[u8]) -> &[u8] {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    &bytes[bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1)..]
}

/// Whether a text that is put behind others would be read as part of their last block, and nobody can have meant that:
/// an item goes on with a list, and a row with a table.
fn joins(last: &str, text: &str) -> bool {
    if last.trim().is_empty() {
        return false;
    }
    let first = text.lines().next().unwrap_or_default();
    let (was, is) = (last.trim_start(), first.trim_start());
    let fence = |line: &str| line.starts_with("```") || line.starts_with("~~~");
    let ends_itself = is_atx(was) || (fence(was) && was.trim_end().chars().all(|c| c == '`' || c == '~'));
    let begins_anew = is.is_empty() || is_atx(is) || fence(is);
    let indented = last.len() - was.len() >= 2;
    // What is indented at the end belongs to an item above it.
    let goes_on = is_item(is) && (is_item(was) || indented) || is.starts_with('|') && was.starts_with('|');
    !ends_itself && !begins_anew && !goes_on && last.trim_end() != "---"
}

/// A heading by its marks.
fn is_atx(line: &str) -> bool {
    let behind = line.trim_start_matches('#');
    let marks = line.len() - behind.len();
    (1..=6).contains(&marks) && (behind.is_empty() || behind.starts_with([' ', '\t', '\r']))
}

/// An item of a list.
fn is_item(line: &str) -> bool {
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let marks: &[char] = if digits == 0 { &['-', '*', '+'] } else { &['.', ')'] };
    let behind = line[digits..].strip_prefix(marks);
    digits < 10 && behind.is_some_and(|text| text.starts_with([' ', '\t']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn appends_on_a_line_of_its_own() {
        assert_eq!(append(b"a", "b"), b"a\n\nb\n");
        assert_eq!(append(b"a\r\n", "b\nc"), b"a\r\n\r\nb\r\nc\r\n");
        assert_eq!(append(b"", "b"), b"b\n");
    }

    #[test]
    fn what_is_appended_joins_no_block_but_a_list_or_table_of_its_kind() {
        let gap = |last: &str, text: &str| {
            let before = format!("x\n\n{last}\n");
            let out = append(before.as_bytes(), text);
            let out = String::from_utf8(out).unwrap();
            let behind = out.strip_prefix(&before).unwrap().to_owned();
            assert!(behind == format!("{text}\n") || behind == format!("\n{text}\n"), "{out}");
            behind.starts_with('\n')
        };
        for (last, text) in [
            ("> [!note] A\n> b", "c"),
            ("> q", "> [!tip] new"),
            ("- a", "c"),
            ("  - a\n    more", "c"),
            ("a", "---"),
            ("a", "==="),
            ("a", "2. b"),
            ("| a |", "c"),
            ("[^1]: a", "c"),
            ("<div>", "c"),
            ("> ```", "c"),
            ("#tag", "c"),
            ("文字 ^id", "下一段"),
        ] {
            assert!(gap(last, text), "{last} + {text}");
        }
        for (last, text) in [
            ("", "c"),
            ("# A", "c"),
            ("```\nlet a;\n```", "c"),
            ("---", "c"),
            ("- a", "- b"),
            ("1. a", "2. b"),
            ("- a\n  more", "- b"),
            ("- [ ] a", "- [x] b"),
            ("| a |\n| - |", "| b |"),
            ("a", "## B"),
            ("a", "```\nb\n```"),
        ] {
            assert!(!gap(last, text), "{last} + {text}");
        }
    }
}
