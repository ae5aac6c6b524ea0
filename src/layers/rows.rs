//! Fitting rows into a limit.

use super::extract::cost;
use super::sentences::sentences;

/// The rows that fit into `room` quarters of a token, each a head with as much of its words behind `between` as there
/// is room for: all words of all rows if possible; else as many heads as fit (so that with too many rows some words
/// are left, heads take two thirds of the room), then first sentences from the top, then whole words from the top.
/// Rows are dropped from the end only.
pub(super) fn fit(rows: &[(String, &str)], between: &str, room: u32) -> Vec<String> {
    let newline = 1;
    let heads: Vec<u32> = rows.iter().map(|(head, _)| cost(head) + newline).collect();
    let all: u32 = heads.iter().fold(0, |sum, head| sum.saturating_add(*head));
    let for_heads = if all <= room { room } else { room / 3 * 2 };
    let mut left = room;
    let mut shown = 0;
    for head in &heads {
        if room - left + head > for_heads {
            break;
        }
        left -= head;
        shown += 1;
    }
    let firsts: Vec<&str> = rows[..shown]
        .iter()
        .map(|(_, words)| sentences(words).first().copied().unwrap_or_default())
        .collect();
    let mut words: Vec<&str> = vec![""; shown];
    let whole: Vec<&str> = rows[..shown].iter().map(|(_, words)| *words).collect();
    for level in [&firsts, &whole] {
        for at in 0..shown {
            let separator = if words[at].is_empty() { cost(between) } else { 0 };
            let more = (cost(level[at]) + separator).saturating_sub(cost(words[at]));
            if !level[at].is_empty() && more <= left {
                left -= more;
                words[at] = level[at];
            }
        }
    }
    let row = |at: usize| match words[at] {
        "" => rows[at].0.clone(),
        words => format!("{}{between}{words}", rows[at].0),
    };
    (0..shown).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_go_before_rows_do() {
        let rows: Vec<(String, &str)> =
            (0..10).map(|n| (format!("- row {n}"), "First sentence here. Second sentence here.")).collect();
        let total = |fitted: &[String]| fitted.iter().map(|row| cost(row) + 1).sum::<u32>();
        assert!(fit(&rows, ": ", 10_000).iter().all(|row| row.ends_with("Second sentence here.")));
        let some = fit(&rows, ": ", 350);
        assert_eq!(some.len(), 10);
        assert!(total(&some) <= 350 && some[9].ends_with("First sentence here."), "{some:?}");
        let few = fit(&rows, ": ", 70);
        assert!(total(&few) <= 70 && few.len() < 10 && few[0].contains("First"), "{few:?}");
        assert!(fit(&rows, ": ", 3).is_empty());
    }
}
