//! What is asked of `find`, and reading it.

use jiff::tz::TimeZone;

use super::ask::question;
use super::{Asked, filters, parse};
use crate::flow::sync::read_date;
use crate::flow::vault::{Vault, VaultError};
use crate::model::day;
use crate::model::fault::{Explain, Fault, Kind};
use crate::model::policy::compile_glob;
use crate::model::uri::SCHEME;

/// What is asked of `find`.
#[derive(Debug, Clone, Default)]
pub struct FindRequest {
    /// The query: words, "phrases", `tag:`, `type:`, `path:`, `-not`.
    pub query: String,
    /// How many memories at most.
    pub limit: usize,
    /// Only these types.
    pub types: Vec<String>,
    /// Only what has all these tags.
    pub tags: Vec<String>,
    /// Only paths that match one of these globs or begin with one.
    pub paths: Vec<String>,
    /// Only what is dated from then on (a date, a time, or `7d` for the last seven days).
    pub since: Option<String>,
    /// Only what is dated until then, the day included.
    pub until: Option<String>,
    /// Only these states; none for active and pending ones.
    pub statuses: Vec<Status>,
    /// Whether to search main though the work tree is there.
    pub main: bool,
    /// The revision that the access was made of, in the asker's words.
    pub rev: Option<String>,
    /// Whether to tell the parts of the scores.
    pub explain: bool,
    /// What the search goes by.
    pub arm: Arm,
}

/// What a search goes by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Arm {
    /// Words and meaning together, where there are vectors; else words.
    #[default]
    Fused,
    /// Words alone.
    Text,
    /// Meaning alone.
    Dense,
}

/// What a path must be.
pub(super) enum PathTest {
    Begins(String),
    Glob(globset::GlobMatcher),
}

impl PathTest {
    pub(super) fn holds(&self, path: &str) -> bool {
        match self {
            PathTest::Begins(prefix) => path.starts_with(prefix.as_str()),
            PathTest::Glob(glob) => glob.is_match(path),
        }
    }
}

/// The state of a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// In use; also whatever has no status of ours.
    Active,
    /// Unsettled.
    Pending,
    /// Served on request only.
    Demoted,
    /// Put away.
    Archived,
    /// Every one.
    All,
}

/// What cannot be understood in a request.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// A type that does not exist.
    #[error("`{name}` is no type of memory")]
    Type {
        /// What was asked for.
        name: String,
        /// The nearest one.
        nearest: &'static str,
    },
    /// A glob that cannot be read.
    #[error("the glob `{glob}` cannot be read: {why}")]
    Glob {
        /// The glob.
        glob: String,
        /// Why.
        why: String,
    },
    /// A date that cannot be read.
    #[error("`{0}` is no date")]
    Date(String),
}

impl Explain for FindError {
    fn kind(&self) -> Kind {
        Kind::Usage
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            FindError::Type { nearest, .. } => {
                format!("did you mean `{nearest}`? There are {}", TYPES.join(", "))
            }
            FindError::Glob { .. } => "globs look like `user/**/*.md`".to_owned(),
            FindError::Date(_) => {
                "write 2026-11-28, 2026-11-28T10:00:00Z or 7d for the last seven days".to_owned()
            }
        })
    }
}

const TYPES: [&str; 6] = ["profile", "semantic", "episodic", "procedural", "skill", "resource"];

pub(super) fn read(vault: &Vault<'_>, request: &FindRequest) -> Result<Asked, Fault> {
    let query = parse(&request.query);
    let mut asked = Asked {
        kinds: request.types.iter().map(|name| kind(name)).collect::<Result<_, _>>()?,
        not_kinds: Vec::new(),
        statuses: statuses(&request.statuses),
        dates: None,
        paths: request.paths.iter().map(|path| test(path)).collect::<Result<_, _>>()?,
        not_paths: Vec::new(),
        question: question(&query),
        query,
    };
    for (what, value) in filters(&asked.query.wanted) {
        match what {
            "type" => asked.kinds.push(kind(value)?),
            _ => asked.paths.push(test(value)?),
        }
    }
    for (what, value) in filters(&asked.query.unwanted) {
        match what {
            "type" => asked.not_kinds.push(kind(value)?),
            _ => asked.not_paths.push(test(value)?),
        }
    }
    if request.since.is_some() || request.until.is_some() {
        let zone = vault.config.zone().map_err(VaultError::from)?;
        let now = vault.clock.now().as_second();
        let since = request.since.as_deref().map(|text| moment(text, &zone, now, false)).transpose()?;
        let until = request.until.as_deref().map(|text| moment(text, &zone, now, true)).transpose()?;
        asked.dates = Some((since.unwrap_or(i64::MIN), until.unwrap_or(i64::MAX)));
    }
    Ok(asked)
}

fn kind(name: &str) -> Result<u8, FindError> {
    let lower = name.to_lowercase();
    match TYPES.iter().position(|known| *known == lower) {
        Some(at) => Ok(at as u8 + 1),
        None => {
            let near = |known: &&&str| (strsim::jaro_winkler(&lower, known) * 1000.0) as u32;
            let nearest = TYPES.iter().max_by_key(near).copied().unwrap_or("semantic");
            Err(FindError::Type { name: name.to_owned(), nearest })
        }
    }
}

fn statuses(asked: &[Status]) -> Vec<u8> {
    if asked.contains(&Status::All) {
        return vec![0, 1, 2, 3];
    }
    if asked.is_empty() {
        return vec![0, 1];
    }
    asked.iter().map(|status| *status as u8).collect()
}

fn test(text: &str) -> Result<PathTest, FindError> {
    let path = text.strip_prefix(SCHEME).unwrap_or(text).trim_start_matches('/');
    if path.contains(['*', '?', '[', '{']) {
        let glob = compile_glob(path).map_err(|why| FindError::Glob { glob: path.to_owned(), why })?;
        Ok(PathTest::Glob(glob))
    } else {
        Ok(PathTest::Begins(path.to_owned()))
    }
}

fn moment(text: &str, zone: &TimeZone, now: i64, end: bool) -> Result<i64, FindError> {
    const DAY: i64 = 86_400;
    if let Some(days) = text.strip_suffix('d').and_then(day::count) {
        return Ok(now.saturating_sub(days.saturating_mul(DAY)));
    }
    let at = read_date(text, zone).ok_or_else(|| FindError::Date(text.to_owned()))?;
    // A day as the end means its last second.
    Ok(if end && !text.contains(['T', ':']) { at.saturating_add(DAY - 1) } else { at })
}
