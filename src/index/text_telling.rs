//! The words that tell a text from others.

use std::collections::HashMap;

use tantivy::Term;

use super::query::is_stop_word;
use super::text::{BODY, TextError, TextIndex, Totals, guarded};
use super::text_view::View;
use super::tokenizer::{Analyzer, Kind};

/// Words that stand in more than this share of the chunks tell nothing.
const COMMON: f64 = 0.2;

/// No more of a text is looked at, in bytes.
const MOST: usize = 1 << 20;

impl TextIndex {
    /// The words of a text that are frequent in it and rare in the view (without the documents that are `hidden`), as
    /// they stand there, the most telling first. Words that stand nowhere else are left out.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn telling(
        &self,
        text: &str,
        hidden: &[u64],
        totals: &Totals,
        count: usize,
    ) -> Result<Vec<String>, TextError> {
        let mut end = text.len().min(MOST);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let text = &text[..end];
        let mut analyzer = Analyzer::default();
        let mut counts: HashMap<String, (u32, String)> = HashMap::new();
        for token in analyzer.analyze(text).to_vec() {
            if !matches!(token.kind, Kind::Plain | Kind::Pair) {
                continue;
            }
            let term = analyzer.term(&token);
            let word = text.get(token.from as usize..token.to as usize).unwrap_or_default();
            // A single sign or digit says too little.
            if word.chars().count() > 1 && word.chars().all(char::is_alphanumeric) && !is_stop_word(term) {
                let entry = counts.entry(term.to_owned()).or_insert_with(|| (0, word.to_owned()));
                entry.0 += 1;
            }
        }
        guarded(&self.path, || {
            let view = View::open(self, hidden, totals)?;
            let total = view.totals.chunks.max(1) as f64;
            let mut words = Vec::new();
            for (term, (count, word)) in counts {
                let mut has = 0;
                for at in [0, BODY] {
                    has += view.frequency(&Term::from_field_text(view.fields.searched[at], &term))?;
                }
                if has > 1 && (has as f64) < (total * COMMON).max(3.0) {
                    words.push((f64::from(count).sqrt() * (total / has as f64).ln(), word));
                }
            }
            words.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
            words.truncate(count);
            Ok(words.into_iter().map(|(_, word)| word).collect())
        })
    }
}
