//! `eval`: how well the search answers questions whose answers are known.

pub mod arms;
pub mod baseline;
mod cases;
pub mod metrics;

use schemars::JsonSchema;
use serde::Serialize;

use super::find::FindRequest;
use super::progress::Progress;
use super::reader::{self, Reader};
use super::sync::{self, Freshness};
use super::vault::Vault;
use crate::model::access::Access;
use crate::model::fault::Fault;
use crate::model::path::VaultPath;

use arms::{Answerer, Arm};
pub use cases::{CasesError, MOST_BYTES};
use metrics::{Measures, mean, measure, percentile};

/// What is asked of `eval`.
#[derive(Debug, Clone)]
pub struct EvalRequest<'a> {
    /// What the file of cases is called, for errors.
    pub file: &'a str,
    /// What it says.
    pub text: &'a str,
    /// How many answers of each arm are looked at.
    pub k: usize,
    /// Which arms answer; the baselines are held beside them.
    pub arms: Vec<Arm>,
    /// Who asks, where a case does not say; as `--as` has it.
    pub acting: Option<&'a str>,
}

/// What `eval` answers.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct EvalAnswer {
    /// How many answers were looked at.
    pub k: usize,
    /// How many cases have an answer.
    pub cases: usize,
    /// In how many cases nothing is to be found.
    pub empty_cases: usize,
    /// From which state of the vault.
    pub freshness: Freshness,
    /// How each arm did, the baselines first.
    pub arms: Vec<ArmReport>,
    /// What a reader should know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// How one arm did.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ArmReport {
    /// The arm.
    pub arm: Arm,
    /// Over all cases.
    pub all: Summary,
    /// Over the cases of each tier, where cases name one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<Group>,
    /// Over the cases of each tag, where cases have some.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<Group>,
    /// The cases of which nothing relevant was among the answers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missed: Vec<String>,
}

/// The cases that share something.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Group {
    /// The tier's number, or the tag.
    pub name: String,
    /// How it went.
    pub summary: Summary,
}

/// How some cases went.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Summary {
    /// How many cases have an answer.
    pub cases: usize,
    /// The means over those.
    pub measures: Measures,
    /// Of the cases in which nothing is to be found, the share in which something was; absent where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answered_empty: Option<f64>,
    /// Of the memories that must not be among the answers, the share that was; absent where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forbidden: Option<f64>,
    /// How long half of the questions took at most, in milliseconds.
    pub p50_ms: f64,
    /// How long 95 in a hundred took at most.
    pub p95_ms: f64,
}

/// How one case went with one arm.
struct Went<'c> {
    asked: &'c cases::Asked,
    measures: Measures,
    answered: bool,
    forbidden: usize,
    ms: f64,
}

/// Measures. Changes nothing but the index.
///
/// # Errors
/// When the file of cases cannot be used, or the vault cannot be searched.
pub fn eval(
    vault: &Vault<'_>,
    request: &EvalRequest<'_>,
    progress: &dyn Progress,
) -> Result<EvalAnswer, Fault> {
    let access = reader::access(vault, request.acting, None)?;
    let freshness = sync::ensure(vault, progress)?;
    let paths: Vec<VaultPath> = Reader::new(vault, access.clone())?.all_paths()?.into_iter().collect();
    let asked = cases::read(request.file, request.text, &paths)?;
    let questions: Vec<&str> = asked.iter().map(|one| one.case.query.as_str()).collect();
    let mut answerer = Answerer::open(vault, &questions)?;
    let mut arms = Vec::new();
    progress.begin("asking", Some((request.arms.len() * asked.len()) as u64));
    let (can, cannot): (Vec<Arm>, Vec<Arm>) = request.arms.iter().partition(|arm| answerer.can(**arm));
    let names: Vec<&str> = cannot.iter().map(|arm| arm.name()).collect();
    let note =
        format!("left out for want of vectors, so that `find` goes by words alone: {}", names.join(", "));
    let notes = if names.is_empty() { Vec::new() } else { vec![note] };
    for arm in &can {
        let mut went = Vec::new();
        for one in &asked {
            vault.env.go_on()?;
            went.push(ask(&mut answerer, *arm, one, vault, &access, request)?);
            progress.advance(1);
        }
        arms.push(report(*arm, &went));
    }
    progress.end();
    let empty_cases = asked.iter().filter(|one| one.case.empty).count();
    let cases = asked.len() - empty_cases;
    Ok(EvalAnswer { k: request.k, cases, empty_cases, freshness, arms, notes })
}

fn ask<'c>(
    answerer: &mut Answerer<'_, '_>,
    arm: Arm,
    asked: &'c cases::Asked,
    vault: &Vault<'_>,
    access: &Access,
    request: &EvalRequest<'_>,
) -> Result<Went<'c>, Fault> {
    let case = &asked.case;
    let filters = case.filters.clone().unwrap_or_default();
    let find = FindRequest {
        query: case.query.clone(),
        limit: request.k,
        types: filters.types,
        tags: filters.tags,
        paths: filters.paths,
        since: filters.since,
        until: filters.until,
        ..FindRequest::default()
    };
    let other = case.actor.as_deref().map(|actor| reader::access(vault, Some(actor), None)).transpose()?;
    let (paths, spent) = answerer.answer(arm, other.as_ref().unwrap_or(access), &find)?;
    Ok(Went {
        asked,
        measures: measure(&paths, &asked.relevant, request.k),
        answered: !paths.is_empty(),
        forbidden: paths.iter().filter(|path| asked.forbidden.contains(*path)).count(),
        ms: spent.as_secs_f64() * 1e3,
    })
}

fn report(arm: Arm, went: &[Went<'_>]) -> ArmReport {
    let all: Vec<&Went<'_>> = went.iter().collect();
    let group = |name: String, holds: &dyn Fn(&Went<'_>) -> bool| {
        let some: Vec<&Went<'_>> = went.iter().filter(|one| holds(one)).collect();
        Group { name, summary: summary(&some) }
    };
    let mut tiers: Vec<u8> = went.iter().filter_map(|one| one.asked.case.tier).collect();
    tiers.sort_unstable();
    tiers.dedup();
    let mut tags: Vec<&String> = went.iter().flat_map(|one| &one.asked.case.tags).collect();
    tags.sort_unstable();
    tags.dedup();
    let missed = went.iter().filter(|one| !one.asked.case.empty && one.measures.hit == 0.0);
    ArmReport {
        arm,
        all: summary(&all),
        tiers: tiers
            .into_iter()
            .map(|tier| group(tier.to_string(), &|one| one.asked.case.tier == Some(tier)))
            .collect(),
        tags: tags
            .into_iter()
            .map(|tag| group(tag.clone(), &|one| one.asked.case.tags.contains(tag)))
            .collect(),
        missed: missed.map(|one| one.asked.case.id.clone()).collect(),
    }
}

fn summary(went: &[&Went<'_>]) -> Summary {
    let share = |part: usize, whole: usize| (whole > 0).then(|| part as f64 / whole as f64);
    let with: Vec<Measures> =
        went.iter().filter(|one| !one.asked.case.empty).map(|one| one.measures).collect();
    let empty: Vec<_> = went.iter().filter(|one| one.asked.case.empty).collect();
    let times: Vec<f64> = went.iter().map(|one| one.ms).collect();
    let named = went.iter().map(|one| one.asked.forbidden.len()).sum();
    Summary {
        cases: with.len(),
        measures: mean(&with),
        answered_empty: share(empty.iter().filter(|one| one.answered).count(), empty.len()),
        forbidden: share(went.iter().map(|one| one.forbidden).sum(), named),
        p50_ms: percentile(&times, 50),
        p95_ms: percentile(&times, 95),
    }
}
