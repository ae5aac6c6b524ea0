//! A person's word before something is decided.

use super::ask::{Answer, confirm};
use crate::flow::vault::Vault;
use crate::model::actor::Actor;
use crate::model::fault::{Explain, Fault, Kind};
use crate::model::policy::Confirm;

/// The word was not given.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Consent {
    /// Nobody could be asked.
    #[error("{0} needs a person's word, and this is no terminal")]
    Nobody(String),
    /// The answer was no.
    #[error("nothing was done")]
    No,
}

impl Explain for Consent {
    fn kind(&self) -> Kind {
        match self {
            Consent::Nobody(_) => Kind::Usage,
            Consent::No => Kind::Nothing,
        }
    }

    fn hint(&self) -> Option<String> {
        matches!(self, Consent::Nobody(_)).then(|| {
            "run it at a terminal, or add `--yes`; an agent says who it is with RUNEBOOK_ACTOR or `--as`"
                .to_owned()
        })
    }
}

/// Whether a person is asked before a verdict or a merge counts: a person acts and the policy does not say
/// `confirm: none`. An agent is not asked, it has nobody to ask.
pub(crate) fn is_asked(vault: &Vault<'_>, actor: &Actor) -> Result<bool, Fault> {
    let policy = vault.governance(vault.main()?)?.rules.policy;
    Ok(actor.is_person() && policy.confirm != Confirm::None)
}

/// Asks. `what` is what is about to be done, as a noun phrase (`the merge of 7k3qm2xd`).
pub(crate) fn ask(question: &str, what: &str) -> Result<(), Consent> {
    match confirm(question) {
        Answer::Yes => Ok(()),
        Answer::No => Err(Consent::No),
        Answer::Nobody => Err(Consent::Nobody(what.to_owned())),
    }
}
