//! What other programs' settings say of a vault: Obsidian's excluded files, folders of templates and daily notes,
//! and whether Logseq keeps it. They are read, never written, and trusted with nothing but what people see: what a
//! proposal is checked for does not depend on them.

use regex::RegexBuilder;
use serde_json::Value;

use super::path::VaultPath;

/// Obsidian's general settings.
pub const APP: &str = ".obsidian/app.json";
/// The settings of Obsidian's templates.
pub const TEMPLATES: &str = ".obsidian/templates.json";
/// The settings of Templater.
pub const TEMPLATER: &str = ".obsidian/plugins/templater-obsidian/data.json";
/// The settings of Obsidian's daily notes.
pub const DAILY: &str = ".obsidian/daily-notes.json";
/// The settings of Logseq.
pub const LOGSEQ: &str = "logseq/config.edn";
/// Every file that is read.
pub const FILES: [&str; 5] = [APP, TEMPLATES, TEMPLATER, DAILY, LOGSEQ];

/// Where Logseq keeps backups of pages, which are no pages.
pub const BACKUPS: [&str; 3] = ["logseq/bak/", "logseq/.recycle/", "logseq/version-files/"];

/// The most filters that are followed.
const MOST: usize = 1000;
/// The longest filter.
const LONGEST: usize = 1000;
/// How much memory one pattern may take when it is compiled, in bytes.
const PATTERN: usize = 1 << 20;

/// One entry of Obsidian's *excluded files*.
#[derive(Debug, Clone)]
pub struct Filter {
    /// As it is written.
    pub text: String,
    pattern: Option<regex::Regex>,
}

impl PartialEq for Filter {
    fn eq(&self, other: &Filter) -> bool {
        self.text == other.text
    }
}

impl Eq for Filter {}

impl Filter {
    /// Reads an entry: a path that names begin with, or a pattern between slashes.
    fn parse(text: &str) -> Result<Filter, String> {
        if text.len() > LONGEST {
            return Err(format!("it has {} characters; up to {LONGEST} are read", text.len()));
        }
        let inner = text.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')).filter(|p| !p.is_empty());
        let pattern = match inner {
            // Linear in the length of a path whatever the pattern, and bounded in memory.
            Some(inner) => {
                let built = RegexBuilder::new(inner).size_limit(PATTERN).dfa_size_limit(PATTERN).build();
                Some(built.map_err(|_| "it is no pattern that this program knows".to_owned())?)
            }
            None => None,
        };
        Ok(Filter { text: text.to_owned(), pattern })
    }

    /// Whether it leaves a path out.
    fn holds(&self, path: &str) -> bool {
        match &self.pattern {
            Some(pattern) => pattern.is_match(path),
            None => path.starts_with(self.text.as_str()),
        }
    }
}

/// What the settings say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Foreign {
    /// Obsidian's excluded files.
    pub ignored: Vec<Filter>,
    /// Folders of templates.
    pub templates: Vec<VaultPath>,
    /// The folder of daily notes.
    pub daily: Option<VaultPath>,
    /// Whether Logseq keeps the vault.
    pub logseq: bool,
    /// What could not be followed: the file, and why.
    pub problems: Vec<(&'static str, String)>,
}

impl Foreign {
    /// Reads the settings; `read` gives the bytes of a file, `None` where there is none.
    pub fn of(read: impl Fn(&str) -> Option<Vec<u8>>) -> Foreign {
        let mut out = Foreign { logseq: read(LOGSEQ).is_some(), ..Foreign::default() };
        let mut json = |name: &'static str| -> Option<Value> {
            let bytes = read(name)?;
            let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&bytes);
            let value = serde_json::from_slice(bytes);
            value.map_err(|error| out.problems.push((name, format!("it is no JSON: {error}")))).ok()
        };
        let (app, templates, templater, daily) = (json(APP), json(TEMPLATES), json(TEMPLATER), json(DAILY));
        let filters = app.as_ref().and_then(|app| app.get("userIgnoreFilters")?.as_array());
        for text in
            filters.into_iter().flatten().filter_map(Value::as_str).filter(|t| !t.is_empty()).take(MOST)
        {
            match Filter::parse(text) {
                Ok(filter) => out.ignored.push(filter),
                Err(why) => {
                    let shown: String = text.chars().take(60).collect();
                    out.problems.push((APP, format!("the excluded `{shown}` is not followed: {why}")));
                }
            }
        }
        if out.logseq {
            out.ignored.extend(BACKUPS.iter().filter_map(|folder| Filter::parse(folder).ok()));
        }
        let folder = |value: &Option<Value>, key: &str| -> Option<VaultPath> {
            let name = value.as_ref()?.get(key)?.as_str()?.trim().trim_matches('/');
            VaultPath::parse(name).ok().filter(|path| !path.is_root())
        };
        out.templates = [folder(&templates, "folder"), folder(&templater, "templates_folder")]
            .into_iter()
            .flatten()
            .collect();
        out.templates.dedup();
        out.daily = folder(&daily, "folder");
        out
    }

    /// The excluded-files entry that leaves a path out, if one does.
    #[must_use]
    pub fn ignores(&self, path: &VaultPath) -> Option<&Filter> {
        self.ignored.iter().find(|filter| filter.holds(path.as_str()))
    }

    /// How many entries people wrote: Logseq's own folders are not among them.
    #[must_use]
    pub fn entries(&self) -> usize {
        self.ignored.len() - if self.logseq { BACKUPS.len().min(self.ignored.len()) } else { 0 }
    }

    /// What depends on it, as text: for telling whether something made of it is still right.
    #[must_use]
    pub fn key(&self) -> String {
        let ignored: Vec<&str> = self.ignored.iter().map(|filter| filter.text.as_str()).collect();
        serde_json::json!([ignored, self.templates, self.daily, self.logseq]).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(files: &[(&str, &str)]) -> Foreign {
        Foreign::of(|name| files.iter().find(|(n, _)| *n == name).map(|(_, text)| text.as_bytes().to_vec()))
    }

    fn path(text: &str) -> VaultPath {
        VaultPath::parse(text).unwrap()
    }

    #[test]
    fn excluded_files_are_prefixes_and_patterns() {
        let app = r#"{"userIgnoreFilters": ["Archive/", "/\\.excalidraw\\.md$/", "", 7]}"#;
        let foreign = of(&[(APP, app)]);
        assert_eq!(foreign.problems, []);
        for (name, out) in
            [("Archive/a.md", true), ("x/Archive/a.md", false), ("a.excalidraw.md", true), ("a.md", false)]
        {
            assert_eq!(foreign.ignores(&path(name)).is_some(), out, "{name}");
        }
    }

    #[test]
    fn hostile_filters_cost_little_and_are_told() {
        let big = format!("/{}/", "(a{1000}){1000}");
        let app = serde_json::json!({"userIgnoreFilters": [big, "/(?=x)/", "/(a+)+$/", "y".repeat(2000)]});
        let foreign = of(&[(APP, &app.to_string())]);
        assert_eq!((foreign.ignored.len(), foreign.problems.len()), (1, 3), "{:?}", foreign.problems);
        assert!(foreign.ignores(&path(&format!("{}!", "a".repeat(200)))).is_none());
        assert_eq!(of(&[(APP, "{")]).problems.len(), 1);
        assert_eq!(of(&[(APP, "[1]"), (DAILY, "\"x\""), (TEMPLATES, "null")]), Foreign::default());
    }

    #[test]
    fn folders_of_other_programs() {
        let foreign = of(&[
            (TEMPLATES, r#"{"folder": "/Extras/Templates/"}"#),
            (TEMPLATER, r#"{"templates_folder": "模板"}"#),
            (DAILY, r#"{"folder": "Journal", "format": "YYYY-MM-DD"}"#),
            (LOGSEQ, "{}"),
        ]);
        assert_eq!(foreign.templates, [path("Extras/Templates"), path("模板")]);
        assert_eq!((foreign.daily, foreign.logseq), (Some(path("Journal")), true));
        assert_eq!(of(&[(TEMPLATES, r#"{"folder": "../out"}"#)]).templates, []);
    }
}
