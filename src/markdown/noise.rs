//! What outliners write for themselves between a person's words: Logseq's properties of blocks, its clock, its
//! references to blocks. It stays in the files, and is neither searched nor shown.

use std::borrow::Cow;

/// Properties that say nothing to a reader: what the page's title, tags and other names say is kept elsewhere.
const SILENT: &[&str] = &[
    "collapsed",
    "id",
    "title",
    "alias",
    "aliases",
    "tags",
    "icon",
    "public",
    "heading",
    "template",
    "template-including-parent",
    "exclude-from-graph-visibility",
    "filters",
    "created-at",
    "updated-at",
    "background-color",
    "ls-type",
    "hl-page",
    "hl-color",
    "hl-type",
    "hl-stamp",
];

/// The name and the value of a line `key:: value`, which may be a list's item.
pub(super) fn property(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start();
    let line = line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")).unwrap_or(line).trim_start();
    let (key, value) = line.split_once("::")?;
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    let named = !key.is_empty() && key.len() <= 64 && key.chars().all(plain);
    (named && (value.is_empty() || value.starts_with([' ', '\t']))).then(|| (key, value.trim()))
}

fn is_silent(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    SILENT.contains(&key.as_str()) || ["logseq.", "card-", "query-"].iter().any(|own| key.starts_with(own))
}

/// The text with such noise overwritten by spaces: every other byte stays where it was. Linear in time.
#[must_use]
pub fn blanked(text: &str) -> Cow<'_, str> {
    if !text.contains("::") && !text.contains("((") && !text.contains(":LOGBOOK:") {
        return Cow::Borrowed(text);
    }
    let mut out: Option<Vec<u8>> = None;
    let mut blank = |from: usize, to: usize| {
        let bytes = out.get_or_insert_with(|| text.as_bytes().to_vec());
        bytes[from..to].iter_mut().filter(|b| !matches!(b, b'\n' | b'\r')).for_each(|b| *b = b' ');
    };
    let (mut at, mut clock) = (0, false);
    for line in text.split_inclusive(['\n', '\r']) {
        let shown = line.trim();
        clock |= shown == ":LOGBOOK:";
        if clock || property(line).is_some_and(|(key, _)| is_silent(key)) {
            blank(at, at + line.len());
        } else {
            block_references(line, |from, to| blank(at + from, at + to));
        }
        clock &= shown != ":END:" && !shown.is_empty();
        at += line.len();
    }
    match out.map(String::from_utf8) {
        Some(Ok(text)) => Cow::Owned(text),
        _ => Cow::Borrowed(text),
    }
}

/// Hands the places of `((uuid))` to `each`.
fn block_references(line: &str, mut each: impl FnMut(usize, usize)) {
    const UUID: usize = 36;
    let mut at = 0;
    while let Some(found) = line[at..].find("((") {
        let open = at + found;
        let end = open + 2 + UUID;
        let id = line.get(open + 2..end).filter(|id| id.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-'));
        if id.is_some() && line.get(end..end + 2) == Some("))") {
            each(open, end + 2);
            at = end + 2;
        } else {
            at = open + 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_logseq_writes_for_itself_is_not_shown() {
        let text = "- Book a seat\n  collapsed:: true\n  id:: 64a0b1c2-0000-4000-8000-0123456789ab\n  rating:: 5\n\
                    - See ((64a0b1c2-0000-4000-8000-0123456789ab)) 靠窗\n  :LOGBOOK:\n  CLOCK: [2026]\n  :END:\n- std::fs and a :: b\n";
        let shown = blanked(text);
        assert_eq!(shown.len(), text.len());
        let words: Vec<&str> = shown.split_whitespace().collect();
        assert_eq!(words.join(" "), "- Book a seat rating:: 5 - See 靠窗 - std::fs and a :: b");
        assert!(matches!(blanked("nothing (here): a:b"), Cow::Borrowed(_)));
        // An unclosed clock hides no more than its paragraph.
        assert_eq!(blanked(":LOGBOOK:\nx\n\ny").trim(), "y");
    }

    #[test]
    fn lines_that_are_properties() {
        assert_eq!(property("  tags:: [[a]], b"), Some(("tags", "[[a]], b")));
        assert_eq!(property("- 标签:: 旅行"), Some(("标签", "旅行")));
        for none in ["std::fs", "two words:: x", ":: x", "a: b", "https://x::y"] {
            assert_eq!(property(none), None, "{none}");
        }
    }
}
