//! Words of a query that no memory has: they are told with what may have been meant, and where a search finds nothing
//! at all, or nothing by its words, it is made again with that.

use schemars::JsonSchema;
use serde::Serialize;

use super::ask::Lexical;
use super::{Asked, FindAnswer, FindRequest, Finder, request};
use crate::flow::sync::Freshness;
use crate::flow::vault::Vault;
use crate::index::search;
use crate::index::tokenizer::is_cjk;
use crate::model::access::Access;
use crate::model::fault::Fault;

/// A word of the query that no memory has which the asker may see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Missing {
    /// The word, as it was typed.
    pub word: String,
    /// Words that memories have and that may have been meant, the likeliest first: those that begin so, else those that
    /// are one or two letters off.
    pub nearest: Vec<String>,
}

impl Missing {
    /// Whether it is the likeliest word with one letter too many, too few, another, or two changed about.
    fn is_slip(&self) -> bool {
        let word = self.word.to_lowercase();
        self.nearest.first().is_some_and(|nearest| {
            word.chars().next() == nearest.chars().next() && strsim::osa_distance(&word, nearest) == 1
        })
    }

    fn told(&self) -> String {
        let Missing { word, nearest } = self;
        let quoted: Vec<String> = nearest.iter().map(|word| format!("`{word}`")).collect();
        match quoted.as_slice() {
            [one] => format!("no memory has the word `{word}`; did you mean {one}?"),
            [] => format!("no memory has the word `{word}`"),
            [most @ .., last] => {
                format!("no memory has the word `{word}`; did you mean {} or {last}?", most.join(", "))
            }
        }
    }
}

/// A query with what was likeliest meant in place of what is missing; none where that would change nothing.
fn mended(query: &str, missing: &[Missing]) -> Option<String> {
    let mut text = query.to_owned();
    for one in missing {
        if let Some(nearest) = one.nearest.first() {
            text = replaced(&text, &one.word, nearest);
        }
    }
    (text != query).then_some(text)
}

/// A query with one word in place of another: only where that stands as a word, and neither in a filter nor in what must
/// not be there.
fn replaced(query: &str, word: &str, by: &str) -> String {
    // Chinese needs no blank before or behind it.
    let joins = |c: char| c.is_alphanumeric() && !is_cjk(c);
    let (mut text, mut copied) = (String::with_capacity(query.len()), 0);
    for (at, found) in query.match_indices(word) {
        let (before, behind) = (&query[..at], &query[at + found.len()..]);
        let part = before.rsplit(char::is_whitespace).next().unwrap_or_default();
        let filters = ["tag", "type", "path"].iter().any(|name| {
            part.get(..name.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(name))
                && part[name.len()..].starts_with([':', '：'])
        });
        if before.ends_with(joins) || behind.starts_with(joins) || part.starts_with(['-', '－']) || filters {
            continue;
        }
        text.push_str(&query[copied..at]);
        text.push_str(by);
        copied = at + found.len();
    }
    text + &query[copied..]
}

/// Tells what is missing; not that of which nothing can be said but that it was typed. Where meaning answers too, a word
/// that stands nowhere is no news: only one that looks like a slip of the keys is told then, a letter off behind a first
/// letter that is right.
fn tell(answer: &mut FindAnswer, mut missing: Vec<Missing>) {
    missing.retain(|one| !one.nearest.is_empty());
    let by_words = answer.mode == "lexical" || answer.hits.is_empty();
    let told = missing.iter().filter(|one| by_words || one.is_slip()).map(Missing::told);
    answer.notes.extend(told);
    answer.missing = missing;
}

/// What was found for what was likeliest meant, as the answer to what was asked.
fn instead(answer: FindAnswer, found: FindAnswer, mended: String) -> FindAnswer {
    let mut notes = answer.notes;
    notes.push(format!("nothing was found for that; these are the answers for `{mended}`"));
    notes.extend(found.notes.iter().filter(|note| !notes.contains(note)).cloned().collect::<Vec<_>>());
    FindAnswer { query: answer.query, instead: Some(mended), missing: answer.missing, notes, ..found }
}

impl Finder {
    /// Searches. Where that finds nothing and words are missing, what was likeliest meant is searched; where it is found by
    /// meaning alone, if all that is missing looks like a slip.
    pub(super) fn search(
        &self,
        vault: &Vault<'_>,
        access: &Access,
        request: &FindRequest,
        asked: &Asked,
        freshness: &Freshness,
        lexical: Option<Lexical>,
    ) -> Result<FindAnswer, Fault> {
        let (mut answer, words) =
            self.search_once(vault, access, request, asked, freshness, lexical.clone())?;
        // What the index has but this reader may not see is missing for them.
        if !words.lacks && !access.is_narrow() {
            return Ok(answer);
        }
        let missing = self.missing(vault, access, request, asked)?;
        let by_meaning = answer.mode == "hybrid" && !answer.hits.is_empty();
        // A model makes nothing of a slip of the keys. Any other word that stands nowhere it may know.
        let again = match by_meaning {
            true => !words.found && missing.iter().all(Missing::is_slip),
            false => answer.hits.is_empty(),
        };
        let mended = mended(&request.query, &missing).filter(|_| again);
        tell(&mut answer, missing);
        if let Some(mended) = mended {
            let again = FindRequest { query: mended.clone(), ..request.clone() };
            let asked = request::read(vault, &again)?;
            let (found, words) = self.search_once(vault, access, &again, &asked, freshness, lexical)?;
            if words.found && !found.hits.is_empty() {
                return Ok(instead(answer, found, mended));
            }
        }
        if by_meaning && !words.found {
            answer.notes.push("no memory has these words: this is what is nearest by meaning".to_owned());
        }
        Ok(answer)
    }

    /// The words of a query that stand nowhere where the asker may look, whatever else the request filters by.
    pub(super) fn missing(
        &self,
        vault: &Vault<'_>,
        access: &Access,
        request: &FindRequest,
        asked: &Asked,
    ) -> Result<Vec<Missing>, Fault> {
        let open = FindRequest { main: request.main, ..FindRequest::default() };
        let all = Asked { statuses: asked.statuses.clone(), ..request::read(vault, &open)? };
        let (missing, _) = self.narrowed(vault, access, &open, &all, |_, narrowed| {
            Ok(self.pair.text.missing(narrowed, &asked.query.text())?)
        })?;
        let own = |search::Missing { word, nearest }| Missing { word, nearest };
        Ok(missing.into_iter().map(own).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_told_and_mended() {
        let one = |word: &str, nearest: &[&str]| Missing {
            word: word.to_owned(),
            nearest: nearest.iter().map(|word| (*word).to_owned()).collect(),
        };
        let (seat, flight) = (one("seatt", &["seat"]), one("fligth", &["flight", "fight", "light"]));
        assert_eq!(seat.told(), "no memory has the word `seatt`; did you mean `seat`?");
        assert_eq!(
            flight.told(),
            "no memory has the word `fligth`; did you mean `flight`, `fight` or `light`?"
        );
        assert_eq!(mended("window seatt fligth", &[seat, flight]).unwrap(), "window seat flight");
        assert_eq!(mended("window", &[one("window", &[])]), None);
    }

    #[test]
    fn only_the_word_itself_is_mended() {
        for (query, better) in [
            ("seatt seatts unseatt Seatt", "seat seatts unseatt Seatt"),
            ("座位seatt，seatt", "座位seat，seat"),
            ("\"seatt belt\" (seatt)", "\"seat belt\" (seat)"),
            ("tag:seatt path:a/seatt -seatt seatt", "tag:seatt path:a/seatt -seatt seat"),
            ("snake_seatt", "snake_seat"),
        ] {
            assert_eq!(replaced(query, "seatt", "seat"), better);
        }
    }

    #[test]
    fn a_slip_is_a_letter_off() {
        let slip = |word: &str, nearest: &str| {
            Missing { word: word.to_owned(), nearest: vec![nearest.to_owned()] }.is_slip()
        };
        assert!(slip("Migratoin", "migration") && slip("seatt", "seat"));
        assert!(!slip("seat", "heating") && !slip("kitty", "city") && !slip("heat", "heating"));
    }
}
