//! Reading a file of cases, and finding in the vault what it names.

use std::collections::BTreeSet;

use super::metrics::Relevant;
use crate::flow::locate::nearest;
use crate::model::cases::{Case, Cases};
use crate::model::fault::{Explain, Kind};
use crate::model::path::VaultPath;
use crate::model::uri::{SCHEME, Uri};

/// The most bytes of a file of cases.
pub const MOST_BYTES: u64 = 32 << 20;

/// Why a file of cases cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CasesError {
    /// It is no file of cases.
    #[error("{file} is no file of cases: {why}")]
    Form {
        /// The file.
        file: String,
        /// Where and why.
        why: String,
    },
    /// Cases say what cannot be.
    #[error("{} of what the cases say cannot be", .0.len())]
    Wrong(Vec<String>),
}

impl Explain for CasesError {
    fn kind(&self) -> Kind {
        Kind::Usage
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            CasesError::Form { .. } => {
                "schema/evaluation-cases.json says what it may hold; `runebook eval --help` shows one"
                    .to_owned()
            }
            CasesError::Wrong(_) => "mend these lines and run it again; nothing was measured".to_owned(),
        })
    }

    fn details(&self) -> Vec<String> {
        match self {
            CasesError::Wrong(lines) => lines.clone(),
            _ => Vec::new(),
        }
    }
}

/// A case with the paths of its memories.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) case: Case,
    pub(super) relevant: Relevant,
    pub(super) forbidden: BTreeSet<String>,
}

/// For how many wrong names a nearer one is looked for.
const MOST_GUESSES: usize = 100;

/// Reads a file of cases: `file` names it in errors, `text` is what it says, `paths` what there is in the vault.
pub(super) fn read(file: &str, text: &str, paths: &[VaultPath]) -> Result<Vec<Asked>, CasesError> {
    let cases: Cases = serde_yaml::from_str(text)
        .map_err(|why| CasesError::Form { file: file.to_owned(), why: why.to_string() })?;
    let places = Places::of(text);
    let (mut wrong, mut guessed) = (Vec::new(), 0);
    let mut seen = BTreeSet::new();
    let mut asked = Vec::new();
    for (number, case) in cases.cases.into_iter().enumerate() {
        let mut complain = |of: &str, why: String| {
            wrong.push(format!("{file}:{}: case `{}`: {why}", places.line(number, of), case.id));
        };
        if case.relevant.is_empty() != case.empty {
            let why = "say in `relevant` what answers it, or `empty: true` that nothing does, and not both";
            complain("", why.to_owned());
        }
        if case.query.trim().is_empty() {
            complain("", "its query is empty".to_owned());
        }
        if !seen.insert(case.id.clone()) {
            complain("", "another case has the same id".to_owned());
        }
        let mut found = |name: &str| {
            let path = path_of(name);
            match path.filter(|path| paths.binary_search(path).is_ok()) {
                Some(path) => Some(path.as_str().to_owned()),
                None => {
                    // Each looks at all paths of the vault.
                    guessed += 1;
                    let path = path_of(name).filter(|_| guessed <= MOST_GUESSES);
                    let near = path.map(|path| nearest(&path, paths)).unwrap_or_default();
                    let near = near.first().map(|near| format!("; did you mean {near}?")).unwrap_or_default();
                    complain(name, format!("there is no `{name}` in the vault{near}"));
                    None
                }
            }
        };
        let relevant = case.relevant.iter().filter_map(|one| {
            let (name, grade) = one.parts();
            found(name).map(|path| (path, grade))
        });
        let relevant = relevant.collect();
        let forbidden = case.forbidden.iter().filter_map(|name| found(name)).collect();
        asked.push(Asked { case, relevant, forbidden });
    }
    if wrong.is_empty() { Ok(asked) } else { Err(CasesError::Wrong(wrong)) }
}

fn path_of(name: &str) -> Option<VaultPath> {
    if name.starts_with(SCHEME) {
        return Uri::parse(name).ok().map(|uri| uri.path);
    }
    VaultPath::parse(name).ok()
}

/// Where each case stands in the text.
struct Places<'t> {
    lines: Vec<&'t str>,
    /// The line of each case's `id`, counted from 0.
    starts: Vec<usize>,
}

impl<'t> Places<'t> {
    fn of(text: &'t str) -> Places<'t> {
        let lines: Vec<&str> = text.lines().collect();
        let is_id = |line: &str| {
            let bare = line.trim_start().trim_start_matches('-').trim_start();
            bare.trim_start_matches(['{', '"', '\'', ' ']).starts_with("id")
        };
        let starts = (0..lines.len()).filter(|at| is_id(lines[*at])).collect();
        Places { lines, starts }
    }

    /// The line, counted from 1, on which a case says something; where that is not found, the line of its `id`.
    fn line(&self, case: usize, what: &str) -> usize {
        let from = self.starts.get(case).copied().unwrap_or(0);
        let to = self.starts.get(case + 1).copied().unwrap_or(self.lines.len());
        let found = (from..to).find(|at| !what.is_empty() && self.lines[*at].contains(what));
        found.unwrap_or(from) + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths() -> Vec<VaultPath> {
        ["a/seats.md", "a/trips.md"].iter().map(|path| VaultPath::parse(path).unwrap()).collect()
    }

    #[test]
    fn cases_name_memories_by_path_or_address() {
        let text = "cases:\n- id: one\n  query: seat\n  relevant: [a/seats.md, {uri: 'viking://a/trips.md', grade: 2}]\n\
                    - {id: two, query: bus, empty: true, forbidden: [a/trips.md]}\n";
        let asked = read("c.yaml", text, &paths()).unwrap();
        assert_eq!(asked[0].relevant["a/seats.md"], 1);
        assert_eq!(asked[0].relevant["a/trips.md"], 2);
        assert!(asked[1].case.empty && asked[1].forbidden.contains("a/trips.md"));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let text = "cases:\n- id: one\n  query: seat\n  relevant:\n  - a/seats.md\n  - a/trip.md\n- id: one\n  query: x\n";
        let Err(CasesError::Wrong(wrong)) = read("c.yaml", text, &paths()) else { panic!("read") };
        assert_eq!(
            wrong[0],
            "c.yaml:6: case `one`: there is no `a/trip.md` in the vault; did you mean a/trips.md?"
        );
        assert!(wrong[1].starts_with("c.yaml:7: case `one`: say in `relevant`"), "{wrong:?}");
        assert!(wrong[2].contains("another case"), "{wrong:?}");
        assert!(matches!(read("c.yaml", "cases: 3", &[]), Err(CasesError::Form { .. })));
        assert!(matches!(
            read("c.yaml", "cases:\n- {id: a, query: b, quary: c}", &[]),
            Err(CasesError::Form { .. })
        ));
    }
}
