//! The words that a mistyped one is near to.

/// How many known words are compared at most: what a person meant is not sought among more.
const COMPARED: usize = 10_000;

/// The nearest of a few words, if one is near: for keys and values, where a wrong guess is worse than none.
#[must_use]
pub fn word<'w>(wanted: &str, known: impl Iterator<Item = &'w str>) -> Option<&'w str> {
    let length = wanted.chars().count();
    if !(3..=40).contains(&length) {
        return None;
    }
    let allowed = if length < 6 { 1 } else { 2 };
    let near = known.take(COMPARED).filter_map(|known| {
        let distance = strsim::osa_distance(wanted, known);
        (distance > 0 && distance <= allowed).then_some((distance, known))
    });
    near.min().map(|(_, known)| known)
}

/// The names that are near to a wanted one, best first, at most three: the same but for what `key` leaves out, a slip of
/// the hand, one that holds the other. Gives their numbers.
pub fn names<'n>(wanted: &str, known: impl Iterator<Item = &'n str>, key: fn(&str) -> String) -> Vec<usize> {
    let wanted = key(wanted);
    let length = wanted.chars().count();
    if length == 0 || length > 200 {
        return Vec::new();
    }
    let allowed = if length < 3 { 0 } else { (length / 3).clamp(1, 3) };
    let score = |name: &str| {
        let name = key(name);
        let far = name.chars().count().abs_diff(length);
        if far <= allowed {
            let distance = strsim::osa_distance(&name, &wanted);
            if distance <= allowed && distance < length.max(2) {
                return Some(distance);
            }
        }
        let holds = name.contains(&wanted) || (wanted.contains(&name) && name.chars().count() > 1);
        (holds && length > 1 && far < 200).then_some(4 + far)
    };
    let mut near: Vec<(usize, usize)> =
        known.take(COMPARED).enumerate().filter_map(|(at, name)| Some((score(name)?, at))).collect();
    near.sort_unstable();
    near.into_iter().take(3).map(|(_, at)| at).collect()
}

/// The question whether one of these names was meant. A name that is a question itself stands in quotation marks.
#[must_use]
pub fn question(names: &[impl AsRef<str>]) -> String {
    let name = |name: &str| match name.ends_with(['?', '？', '!', '！']) {
        true => format!("“{name}”"),
        false => name.to_owned(),
    };
    format!("did you mean {}?", names.iter().map(|one| name(one.as_ref())).collect::<Vec<_>>().join(", or "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_ends_in_one_mark() {
        assert_eq!(question(&["a.md", "b.md"]), "did you mean a.md, or b.md?");
        assert_eq!(question(&["#为什么？"]), "did you mean “#为什么？”?");
    }

    #[test]
    fn near_words() {
        assert_eq!(word("sumary", ["summary", "source"].into_iter()), Some("summary"));
        assert_eq!(word("cssclasses", ["summary", "source"].into_iter()), None);
    }

    #[test]
    fn near_names_come_best_first() {
        let known = ["Install", "Uninstall", "Settings", "Set up sync", "安装"];
        let near = |wanted: &str| -> Vec<&str> {
            names(wanted, known.into_iter(), str::to_lowercase).into_iter().map(|at| known[at]).collect()
        };
        assert_eq!(near("instal"), ["Install", "Uninstall"]);
        assert_eq!(near("sync"), ["Set up sync"]);
        assert_eq!(near("安装步骤"), ["安装"]);
        assert!(near("nothing like it").is_empty());
        assert!(near("").is_empty());
    }
}
