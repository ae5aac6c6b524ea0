//! How much each thing counts in a search.

use super::ask::question;
use super::{Finder, locked, parse};
use crate::index::weights as text;
use crate::model::fault::Fault;

/// How much each thing counts in a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    /// In what the words find.
    pub text: text::Weights,
    /// Where words and meaning are fused.
    pub fusion: Fusion,
}

impl Weights {
    /// The ones that are used.
    pub const DEFAULT: Weights = Weights { text: text::Weights::DEFAULT, fusion: Fusion::DEFAULT };
}

/// How much each thing counts when the arms are fused. As with those of the words, there is one set for everything, and
/// BENCHMARKS.md tells how it was chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fusion {
    /// How much meaning counts for a question in Latin letters; words have the rest.
    pub meaning: f64,
    /// The same for a Chinese question.
    pub meaning_cjk: f64,
    /// The same for what is in the other language, where words find names alone.
    pub meaning_abroad: f64,
    /// The share of what all texts of its language have in common that is taken off a question in Latin letters; off
    /// what is searched all of it is taken.
    pub centred: f64,
    /// The same of a Chinese question.
    pub centred_cjk: f64,
    /// What an answer in the other language stands behind one in the question's, in standard deviations.
    pub abroad: f64,
    /// What the memories that one resembles most have of its score.
    pub likes: f64,
    /// What the whole question counts where it stands as it was typed, as a share of the range of all scores.
    pub run: f64,
    /// The same where it is the title.
    pub named: f64,
    /// The share of its original's score that a translation takes…
    pub lift: f64,
    /// …where both point the same way at least so far.
    pub translation: f64,
}

impl Fusion {
    /// The ones that are used.
    pub const DEFAULT: Fusion = Fusion {
        meaning: 0.45,
        meaning_cjk: 0.5,
        meaning_abroad: 1.0,
        centred: 0.8,
        centred_cjk: 1.0,
        abroad: 0.3,
        likes: 0.35,
        run: 1.0,
        named: 1.0,
        lift: 1.0,
        translation: 0.5,
    };

    /// All of them by name, to be varied.
    pub fn each(&mut self) -> [(&'static str, &mut f64); 11] {
        [
            ("meaning", &mut self.meaning),
            ("meaning_cjk", &mut self.meaning_cjk),
            ("meaning_abroad", &mut self.meaning_abroad),
            ("centred", &mut self.centred),
            ("centred_cjk", &mut self.centred_cjk),
            ("abroad", &mut self.abroad),
            ("likes", &mut self.likes),
            ("run", &mut self.run),
            ("named", &mut self.named),
            ("lift", &mut self.lift),
            ("translation", &mut self.translation),
        ]
    }
}

impl Finder {
    /// Embeds queries that will be asked many times; the model is let go of then.
    ///
    /// # Errors
    /// When the model cannot be loaded or does not take one.
    pub fn embed_ahead(&self, queries: &[String]) -> Result<(), Fault> {
        let Some(asker) = &self.asker else { return Ok(()) };
        let questions = queries.iter().filter_map(|query| question(&parse(query)));
        locked(asker).ahead(&questions.collect::<Vec<_>>())
    }

    /// Searches with other weights from here on, to see what they do.
    pub fn weigh(&mut self, weights: Weights) {
        self.weights = weights;
    }
}
