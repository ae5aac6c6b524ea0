//! What a revision means that somebody names to read it: a commit, a date, or a proposal over main.
//!
//! One place for every command that takes `--rev` or an address with `?rev=`.

use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use schemars::JsonSchema;
use serde::Serialize;

use super::branch::Branch;
use super::gate::history::History;
use super::proposals::{closed_state, named_by, open_ones, result_tree, when};
use super::sync::read_date;
use super::vault::{Vault, VaultError};
use crate::model::access::{Access, View};
use crate::model::day;
use crate::model::fault::{Explain, Fault, Kind};
use crate::model::id::{Oid, ProposalId};
use crate::model::near;
use crate::model::proposal::State;
use crate::store::git::GitError;

/// Why a state of the vault is not read.
#[derive(Debug, thiserror::Error)]
pub enum RevisionError {
    /// An agent asks for what was never approved.
    #[error("`{0}` is no state of the approved branch, and agents read approved memories only")]
    Unapproved(String),
    /// An agent asks for a proposal.
    #[error("proposal {0} is not approved, and agents read approved memories only")]
    Proposal(ProposalId),
    /// It names nothing.
    #[error("`{text}` names no commit, no date and no proposal")]
    Unknown {
        /// What was asked for.
        text: String,
        /// What has a name like it.
        near: Vec<String>,
    },
    /// A short name that several commits have.
    #[error("`{0}` is the beginning of several objects' names")]
    Ambiguous(String),
    /// It is before everything.
    #[error("`{text}` is before the first commit of `{main}`, which is of {first}")]
    Before {
        /// What was asked for.
        text: String,
        /// The approved branch.
        main: String,
        /// When its first commit was made.
        first: String,
    },
    /// A proposal that is over has nothing that could be read over main.
    #[error("proposal {id} is {state}")]
    Over {
        /// The proposal.
        id: ProposalId,
        /// How it ended.
        state: State,
    },
    /// A proposal has a file where main has a directory, or the reverse.
    #[error(
        "proposal {0} and the approved branch cannot stand together: one has a file where the other has a directory"
    )]
    Clash(ProposalId),
}

impl Explain for RevisionError {
    fn kind(&self) -> Kind {
        match self {
            RevisionError::Unapproved(_) | RevisionError::Proposal(_) => Kind::NotAllowed,
            RevisionError::Unknown { .. } | RevisionError::Before { .. } => Kind::Nothing,
            RevisionError::Ambiguous(_) => Kind::Usage,
            RevisionError::Over { .. } | RevisionError::Clash(_) => Kind::Conflict,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            RevisionError::Unapproved(_) => {
                "name a commit of the approved branch (`runebook log` lists them) or a date".to_owned()
            }
            RevisionError::Proposal(id) => format!(
                "`runebook propose show {id}` tells of it; `own_proposals: true` in .runebook/policy.yaml lets agents \
                 read their own open ones"
            ),
            RevisionError::Unknown { near, .. } if !near.is_empty() => near::question(near),
            RevisionError::Unknown { .. } => {
                "name a commit (`runebook log` lists them), a date (2026-11-28, 7d, yesterday) or a proposal \
                 (`runebook propose list`)"
                    .to_owned()
            }
            RevisionError::Ambiguous(_) => "type more of it".to_owned(),
            RevisionError::Before { first, .. } => {
                format!("the earliest state that there is, is that of {}", first.get(..10).unwrap_or(first))
            }
            RevisionError::Over { id, state: State::Merged } => {
                format!("what it changed is on the approved branch; `runebook show {id}` tells its story")
            }
            RevisionError::Over { id, .. } => format!(
                "`runebook show {id}` tells its story; the files of its branch are at `--rev refs/heads/closed/{id}`"
            ),
            RevisionError::Clash(id) => format!("`runebook show {id}` shows what it changes"),
        })
    }
}

/// An older state of the vault, or one that is proposed: part of the answers that were made from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Revision {
    /// What was asked for.
    pub asked: String,
    /// The commit; for a proposal its last one.
    pub commit: Oid,
    /// When that commit was made, RFC 3339.
    pub date: String,
    /// Whether it is a state of the approved branch. All others are unreviewed as a whole.
    pub approved: bool,
    /// The proposal, where it is main with what that changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposal: Option<ProposalId>,
}

/// The state that a revision names, for somebody who wants to read it: an agent reads what was approved.
///
/// In this order: a proposal's whole name, a branch or tag, a date (before short names of commits, which `100d` could be
/// too), what else git takes for a revision, the beginning of a proposal's name.
///
/// # Errors
/// See [`RevisionError`].
pub fn named(vault: &Vault<'_>, access: &Access, text: &str) -> Result<View, Fault> {
    if let Some(id) = whole_name(vault, text) {
        return proposal(vault, access, id);
    }
    match commit(vault, access, text) {
        Ok(commit) => Ok(View::Revision(commit.to_string())),
        Err(error) if matches!(error.as_error().downcast_ref(), Some(RevisionError::Unknown { .. })) => {
            match named_by(vault, None, Some(text)) {
                Ok(id) => proposal(vault, access, id),
                Err(several) if several.kind() == Kind::Usage && !access.is_agent() => Err(several),
                Err(_) => Err(error),
            }
        }
        Err(error) => Err(error),
    }
}

/// The commit that a revision or a date names, for somebody who wants to read it.
///
/// # Errors
/// See [`RevisionError`].
pub fn commit(vault: &Vault<'_>, access: &Access, text: &str) -> Result<Oid, Fault> {
    let is_ref = |prefix: &str| matches!(vault.repo.ref_oid(&format!("{prefix}{text}")), Ok(Some(_)));
    if let Some(moment) = moment(vault, text)?
        && !is_ref("refs/heads/")
        && !is_ref("refs/tags/")
    {
        return as_of(vault, text, moment);
    }
    match vault.repo.resolve(text) {
        Ok(commit) if access.is_agent() => {
            let main = vault.main()?;
            match History::of(&vault.repo, main).on_first_parent_line(commit)? {
                true => Ok(commit),
                false => Err(RevisionError::Unapproved(text.to_owned()).into()),
            }
        }
        Ok(commit) => Ok(commit),
        Err(GitError::NoCommit(_)) => Err(unknown(vault, access, text).into()),
        // So git's library calls whatever is too short to be a name of a commit.
        Err(GitError::Ambiguous(_)) if text.len() < 4 => Err(unknown(vault, access, text).into()),
        Err(GitError::Ambiguous(_)) => Err(RevisionError::Ambiguous(text.to_owned()).into()),
        Err(error) => Err(error.into()),
    }
}

/// Whether a text names a state of the vault.
#[must_use]
pub fn is_named(vault: &Vault<'_>, text: &str) -> bool {
    named_by(vault, None, Some(text)).is_ok()
        || vault.repo.resolve(text).is_ok()
        || matches!(moment(vault, text), Ok(Some(_)))
}

/// The tree of a view; none for the work tree, which has files.
///
/// # Errors
/// When it does not exist, or a proposal and main cannot stand together.
pub fn tree_of(vault: &Vault<'_>, view: &View) -> Result<Option<Oid>, Fault> {
    let repo = &vault.repo;
    Ok(Some(match view {
        View::WorkTree => return Ok(None),
        View::Main => repo.tree_of(vault.main()?)?,
        View::Revision(commit) => repo.tree_of(repo.resolve(commit)?)?,
        View::Proposal(id) => {
            let main = vault.main()?;
            let branch = Branch::read(repo, id, open_tip(vault, id)?, main)?;
            result_tree(repo, main, &branch.records)?.ok_or_else(|| RevisionError::Clash(id.clone()))?
        }
    }))
}

/// What is told of the state that a view is of; nothing of main as it stands and of the work tree.
///
/// # Errors
/// When a commit cannot be read.
pub fn told(vault: &Vault<'_>, view: &View, asked: &str) -> Result<Option<Revision>, Fault> {
    let (commit, approved, proposal) = match view {
        View::WorkTree | View::Main => return Ok(None),
        View::Revision(commit) => {
            let commit = vault.repo.resolve(commit)?;
            (commit, History::of(&vault.repo, vault.main()?).on_first_parent_line(commit)?, None)
        }
        View::Proposal(id) => (open_tip(vault, id)?, false, Some(id.clone())),
    };
    let date = when(vault.repo.time_of(commit)?);
    Ok(Some(Revision { asked: asked.to_owned(), commit, date, approved, proposal }))
}

/// The revision of an address that leads to the same state again.
#[must_use]
pub fn address(view: &View) -> Option<String> {
    match view {
        View::WorkTree | View::Main => None,
        View::Revision(commit) => Some(commit.clone()),
        View::Proposal(id) => Some(format!("proposal/{id}")),
    }
}

/// The proposal whose whole name a text is.
fn whole_name(vault: &Vault<'_>, text: &str) -> Option<ProposalId> {
    let lower = text.trim().to_lowercase();
    let name = lower.strip_prefix("proposal/").or(lower.strip_prefix("closed/")).unwrap_or(&lower);
    let id: ProposalId = name.parse().ok()?;
    Branch::find(&vault.repo, &id).is_ok().then_some(id)
}

fn open_tip(vault: &Vault<'_>, id: &ProposalId) -> Result<Oid, Fault> {
    match Branch::find(&vault.repo, id)? {
        (tip, false) => Ok(tip),
        (tip, true) => {
            Err(RevisionError::Over { id: id.clone(), state: closed_state(&vault.repo, tip)? }.into())
        }
    }
}

/// A proposal, for who may read it: a person, or the agent that opened it where the policy lets it.
fn proposal(vault: &Vault<'_>, access: &Access, id: ProposalId) -> Result<View, Fault> {
    let tip = open_tip(vault, &id);
    if access.is_agent() {
        let refused = || RevisionError::Proposal(id.clone());
        let main = vault.main()?;
        if !vault.governance(main)?.rules.policy.own_proposals {
            return Err(refused().into());
        }
        let branch = Branch::read(&vault.repo, &id, tip?, main)?;
        let opener = branch.open().map(|(_, event, _)| &event.actor);
        if opener.is_none() || opener != access.actor.as_ref().map(|actor| &actor.id) {
            return Err(refused().into());
        }
    } else {
        tip?;
    }
    Ok(View::Proposal(id))
}

/// The moment that a text names: a time, the end of a day, or so long ago. `None`: it is none.
fn moment(vault: &Vault<'_>, text: &str) -> Result<Option<i64>, Fault> {
    let zone = vault.config.zone().map_err(VaultError::from)?;
    Ok(read_moment(text.trim(), &zone, vault.clock.now()))
}

fn read_moment(text: &str, zone: &TimeZone, now: Timestamp) -> Option<i64> {
    let day = |ago: i64| now.to_zoned_datetime(zone.clone()).date().checked_sub(ago.days()).ok();
    let named = match text.to_lowercase().as_str() {
        "now" | "today" | "今天" => return Some(now.as_second()),
        "yesterday" | "昨天" => day(1),
        "前天" => day(2),
        _ => None,
    };
    if let Some(date) = named.or_else(|| day::whole(text)).or_else(|| far(text)) {
        // The day included; none follows the calendar's last.
        return Some(date.tomorrow().map_or(i64::MAX, |next| day::start(next, zone) - 1));
    }
    let unit = text.chars().next_back()?;
    let hours = match unit {
        'h' => 1,
        'd' | '天' => 24,
        'w' => 7 * 24,
        // Anything else that is read as a time says so by its form.
        _ if text.len() > 10 && text.starts_with(|c: char| c.is_ascii_digit()) && text.contains([':']) => {
            return read_date(text, zone);
        }
        _ => return None,
    };
    let count = day::count(text.strip_suffix(unit)?)?;
    Some(now.as_second().saturating_sub(count.saturating_mul(hours * 3600)))
}

/// A day of a year that nobody writes down as one.
fn far(text: &str) -> Option<jiff::civil::Date> {
    text.parse().ok().filter(|_| text.len() == "2026-11-28".len())
}

/// Main's commit as of a moment: the newest of its first-parent line that was made until then.
fn as_of(vault: &Vault<'_>, text: &str, moment: i64) -> Result<Oid, Fault> {
    let mut at = vault.main()?;
    loop {
        vault.env.go_on()?;
        let time = vault.repo.time_of(at)?;
        if time.seconds <= moment {
            return Ok(at);
        }
        match vault.repo.parents(at)?.first() {
            Some(before) => at = *before,
            None => {
                return Err(RevisionError::Before {
                    text: text.to_owned(),
                    main: vault.config.main_branch.clone(),
                    first: when(time),
                }
                .into());
            }
        }
    }
}

/// The error for a text that names nothing, with the nearest names of branches, tags and open proposals. To an agent
/// nothing is named but main: what is on other branches is not its to know.
fn unknown(vault: &Vault<'_>, access: &Access, text: &str) -> RevisionError {
    let mut names = vec![vault.config.main_branch.clone(), "HEAD".to_owned(), "yesterday".to_owned()];
    if !access.is_agent() {
        for prefix in ["refs/heads/", "refs/tags/"] {
            let refs = vault.repo.refs(prefix).unwrap_or_default();
            let short = refs.iter().filter_map(|(name, _)| name.strip_prefix(prefix));
            names.extend(short.filter(|name| !name.starts_with("closed/")).map(str::to_owned));
        }
        names.extend(open_ones(&vault.repo).unwrap_or_default().into_iter().map(|(id, _)| id.to_string()));
    }
    let lower = text.to_lowercase();
    let short: String = lower.chars().take(100).collect();
    let mut near: Vec<(usize, String)> = names
        .into_iter()
        .map(|name| (strsim::osa_distance(&short, &name.to_lowercase()), name))
        .filter(|(distance, name)| *distance <= 2 && *distance < name.chars().count() / 2 + 1)
        .collect();
    near.sort();
    near.dedup();
    let near = near.into_iter().take(3).map(|(_, name)| name).collect();
    RevisionError::Unknown { text: text.to_owned(), near }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_in_many_forms() {
        let now: Timestamp = "2026-11-30T10:00:00Z".parse().unwrap();
        let zone = TimeZone::fixed(jiff::tz::offset(8));
        let seconds = |text: &str| read_moment(text, &zone, now);
        let read = |text: &str| seconds(text).map(|at| Timestamp::from_second(at).unwrap().to_string());
        assert_eq!(read("2026-11-28").unwrap(), "2026-11-28T15:59:59Z", "the day included");
        assert_eq!(read("2026年11月28日").unwrap(), "2026-11-28T15:59:59Z");
        assert_eq!(read("yesterday").unwrap(), "2026-11-29T15:59:59Z");
        assert_eq!(read("昨天"), read("Yesterday"));
        assert_eq!(read("前天"), read("2026-11-28"));
        assert_eq!(read("today").unwrap(), "2026-11-30T10:00:00Z");
        assert_eq!(read("7d").unwrap(), "2026-11-23T10:00:00Z");
        assert_eq!(read("2w").unwrap(), "2026-11-16T10:00:00Z");
        assert_eq!(read("12h").unwrap(), "2026-11-29T22:00:00Z");
        assert_eq!(read("3天").unwrap(), "2026-11-27T10:00:00Z");
        assert_eq!(read("2026-11-28T10:00:00Z").unwrap(), "2026-11-28T10:00:00Z");
        assert_eq!(read("2026-11-28T10:00:00").unwrap(), "2026-11-28T02:00:00Z");
        assert_eq!(read("2026-11-28 10:00").unwrap(), "2026-11-28T02:00:00Z");
        for none in ["", "d", "main", "HEAD~3", "2026", "-3d", "10:00", "deadbeef"] {
            assert_eq!(read(none), None, "{none}");
        }
        for long_ago in ["4294967296d", "4294967295w", "99999999999999999999h"] {
            assert!(seconds(long_ago).unwrap() < Timestamp::MIN.as_second(), "{long_ago}");
        }
        assert!(seconds("9999-12-31").unwrap() >= Timestamp::MAX.as_second());
        assert!(seconds("0001-01-01").unwrap() < 0);
    }
}
