//! What `doctor` says of the model and its runtime.

use super::choose::{Unavailable, choose};
use super::error::ModelError;
use super::probe::probe_apart;
use crate::flow::doctor::Report;
use crate::flow::vault::Vault;
use crate::model::fault::Explain as _;
use crate::model::finding::{Finding, Severity};

/// Where the facts come from.
const FROM: &str = "runebook model list";

/// Looks at the model that is used here as far as that costs little: the sizes of its files, and whether the runtime
/// can be loaded, in a process of its own.
pub(in crate::flow) fn examine(vault: &Vault<'_>, report: &mut Report) {
    let chosen = choose(vault.env, Some(&vault.config));
    let choice = match chosen.and_then(|choice| choice.seems_whole().map(|()| choice)) {
        Ok(choice) => choice,
        Err(why) => return without(&why, report),
    };
    report.fact("model", choice.directory.description.name.to_string(), &format!("chosen by {}", choice.by));
    // A file was tried when it was chosen. What the system looks for itself is found by trying alone.
    let tried = match choice.runtime.file() {
        Some(library) => return report.fact("model runtime", library.display().to_string(), FROM),
        None => probe_apart(vault.env, None, None),
    };
    match tried {
        Ok(probed) => report.fact("model runtime", format!("ONNX Runtime {}", probed.runtime), "the system"),
        Err(ModelError::Probe { why, hint }) => unusable(why, hint, report),
        Err(error) => unusable(error.to_string(), error.hint(), report),
    }
}

fn without(why: &Unavailable, report: &mut Report) {
    report.fact("model", "none: search is by words alone", FROM);
    match why {
        // Nobody asked for one, or somebody asked for none.
        Unavailable::NoHome
        | Unavailable::NoneInstalled
        | Unavailable::NoneChosen
        | Unavailable::SwitchedOff(_) => {}
        Unavailable::BadName { .. } | Unavailable::NotInstalled { .. } | Unavailable::Broken(_) => {
            unusable(why.to_string(), why.hint(), report);
        }
    }
}

fn unusable(why: String, hint: Option<String>, report: &mut Report) {
    let finding =
        Finding::new("model.unusable", Severity::Warning, format!("search is by words alone: {why}"));
    report.findings.push(match hint {
        Some(hint) => finding.with_fix(hint),
        None => finding,
    });
}
