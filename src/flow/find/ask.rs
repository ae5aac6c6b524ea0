//! The question's vector: the model is loaded when the first question needs it, and in a thread of its own while the
//! files are looked at.

use std::collections::HashMap;
use std::time::Duration;

use crate::flow::models::{Choice, Unavailable};
use crate::index::embed::Lazy;
use crate::index::query::{Item, Query};
use crate::model::fault::{Explain as _, Fault};

/// A model that embeds questions, and the last one with its vector.
#[derive(Debug)]
pub(super) struct Asker {
    pub(super) lazy: Lazy,
    last: Option<(String, Result<Vec<f32>, Lexical>)>,
    /// The vectors of questions that were announced.
    ahead: HashMap<String, Vec<f32>>,
}

impl Asker {
    pub(super) fn new(choice: &Choice) -> Asker {
        Asker { lazy: choice.lazy(), last: None, ahead: HashMap::new() }
    }

    /// Embeds questions that will be asked, and lets go of the model.
    pub(super) fn ahead(&mut self, questions: &[String]) -> Result<(), Fault> {
        for question in questions {
            let vector = self.lazy.get()?.query(question)?;
            self.ahead.insert(question.clone(), vector);
        }
        self.lazy.unload_if_idle(Duration::ZERO);
        Ok(())
    }

    /// The vector of a question.
    pub(super) fn vector(&mut self, question: &str) -> Result<Vec<f32>, Lexical> {
        if let Some((_, known)) = self.last.as_ref().filter(|(text, _)| text == question) {
            return known.clone();
        }
        if let Some(known) = self.ahead.get(question) {
            return Ok(known.clone());
        }
        let vector = self.lazy.get().and_then(|model| model.query(question));
        let vector = vector.map_err(|error| Lexical::from(&Unavailable::Broken(error)));
        self.last = Some((question.to_owned(), vector.clone()));
        vector
    }
}

/// Why a search goes by words alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lexical {
    /// The reason, and what to do about it.
    pub(super) why: String,
    /// Whether it is news: somebody chose a model, and it cannot be had.
    pub(super) news: bool,
}

impl Lexical {
    pub(super) fn by(why: &str) -> Lexical {
        Lexical { why: why.to_owned(), news: false }
    }
}

impl From<&Unavailable> for Lexical {
    fn from(reason: &Unavailable) -> Lexical {
        let news = matches!(
            reason,
            Unavailable::BadName { .. } | Unavailable::NotInstalled { .. } | Unavailable::Broken(_)
        );
        let hint = reason.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
        Lexical { why: format!("{reason}{hint}"), news }
    }
}

/// What of a query is asked of the model: its words, with the phrases between them. None where it has no words: what
/// it then asks for is there or is not.
pub(super) fn question(query: &Query) -> Option<String> {
    let says = |text: &str| text.chars().any(char::is_alphanumeric);
    query.wanted.iter().any(|item| matches!(item, Item::Words(text) if says(text))).then(|| query.text())
}

/// Does two things, the first in a thread of its own where it is worth one.
pub(super) fn beside<A: Send, B>(
    worth: bool,
    first: impl Fn() -> A + Sync,
    second: impl FnOnce() -> B,
) -> (A, B) {
    std::thread::scope(|scope| {
        // Not in the pool: who waits there for a model to load would hold up what the model loads with.
        let start = || std::thread::Builder::new().spawn_scoped(scope, &first).ok();
        let thread = if worth { start() } else { None };
        let second = second();
        let first = match thread {
            Some(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            // Also where no thread is to be had.
            None => first(),
        };
        (first, second)
    })
}
