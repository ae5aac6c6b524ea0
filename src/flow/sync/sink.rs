//! Taking documents into catalog and text index at once.

use super::read::Parsed;
use crate::catalog::{DocId, FileKind, NewDoc, State, Writer};
use crate::index::text::{Entry, Facts, TextIndex, TextWriter};
use crate::markdown::noise;
use crate::model::fault::Fault;
use crate::model::path::VaultPath;

/// Takes documents in: into the catalog, and their chunks into the text index, which is opened when it is needed.
pub(super) struct Sink<'a> {
    pub(super) writer: &'a Writer<'a>,
    pub(super) index: &'a TextIndex,
    pub(super) text: Option<TextWriter<'a>>,
    pub(super) bulk: bool,
    pub(super) next: u64,
    /// The generation that new documents come in.
    pub(super) born: u64,
    pub(super) added: u64,
    pub(super) removed: u64,
}

impl<'a> Sink<'a> {
    pub(super) fn text(&mut self) -> Result<&TextWriter<'a>, Fault> {
        let text = match self.text.take() {
            Some(text) => text,
            None => self.index.write(self.bulk)?,
        };
        Ok(self.text.insert(text))
    }

    pub(super) fn add(&mut self, parsed: &Parsed, main: bool) -> Result<DocId, Fault> {
        let id = DocId(self.next);
        self.next += 1;
        self.added += 1;
        self.writer.add(&NewDoc {
            id,
            oid: parsed.oid,
            main,
            kind: parsed.kind,
            size: parsed.size,
            memory: &parsed.memory,
            chunks: &parsed.chunks,
            date: parsed.date,
            tokens: parsed.tokens,
            problems: &parsed.memory.problems,
            passages: &parsed.passages,
            born: self.born,
        })?;
        self.add_text(id, parsed)?;
        Ok(id)
    }

    pub(super) fn add_text(&mut self, id: DocId, parsed: &Parsed) -> Result<(), Fault> {
        if parsed.kind == FileKind::Other {
            return Ok(());
        }
        let memory = &parsed.memory;
        let facts = facts(parsed);
        let tags: Vec<String> = memory.tags.iter().map(|tag| tag.name.clone()).collect();
        let entry = Entry {
            doc: id.0,
            ord: 0,
            path: memory.path.as_str(),
            title: &memory.title,
            headings: &[],
            tags: &tags,
            aliases: &memory.front.aliases,
            body: "",
            facts: &facts,
        };
        let text = self.text()?;
        if parsed.chunks.is_empty() {
            // Nothing but a title: it is found by that.
            text.add(&entry)?;
        }
        for (ord, chunk) in parsed.chunks.iter().enumerate() {
            let body = noise::blanked(memory.text.get(chunk.range.clone()).unwrap_or_default());
            text.add(&Entry { ord: ord as u64, headings: &chunk.headings, body: &body, ..entry })?;
        }
        Ok(())
    }

    pub(super) fn remove_unseen(&mut self, path: &VaultPath) -> Result<(), Fault> {
        for doc in self.writer.docs_at(path)? {
            self.remove_if_unseen(doc)?;
        }
        Ok(())
    }

    pub(super) fn remove_if_unseen(&mut self, doc: DocId) -> Result<(), Fault> {
        if !self.writer.is_seen(doc)? {
            self.writer.remove(doc)?;
            self.text()?.remove(doc.0);
            self.removed += 1;
        }
        Ok(())
    }

    /// Commits the text index, if it changed, as the next generation; the catalog's commit with the returned state
    /// makes it valid.
    pub(super) fn commit_text(mut self, before: &State) -> Result<State, Fault> {
        let mut state = before.clone();
        state.next_doc = self.next;
        if let Some(text) = self.text.take() {
            state.generation += 1;
            text.commit(state.generation)?;
            let totals = self.index.totals()?;
            state.text = serde_json::to_string(&totals).unwrap_or_default();
        }
        Ok(state)
    }
}

fn facts(parsed: &Parsed) -> Facts {
    use crate::model::front_matter::MemoryType as T;
    let front = &parsed.memory.front;
    Facts {
        kind: match front.kind {
            None => 0,
            Some(T::Profile) => 1,
            Some(T::Semantic) => 2,
            Some(T::Episodic) => 3,
            Some(T::Procedural) => 4,
            Some(T::Skill) => 5,
            Some(T::Resource) => 6,
        },
        status: match front.status.as_deref() {
            Some("pending") => 1,
            Some("demoted") => 2,
            Some("archived") => 3,
            _ => 0,
        },
        sensitivity: front.sensitivity.unwrap_or_default() as u8,
        date: parsed.date,
        several: parsed.chunks.len() > 1,
    }
}
