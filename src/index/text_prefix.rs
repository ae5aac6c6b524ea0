//! All terms with a beginning as if they were one term: how a single CJK character is found in pairs.

use std::sync::Arc;

use tantivy::fieldnorm::FieldNormReader;
use tantivy::index::SegmentId;
use tantivy::postings::Postings as _;
use tantivy::query::{Bm25Weight, EnableScoring, Explanation, Query, Scorer, Weight};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, DocSet, Score, SegmentReader, TERMINATED};

use super::text_view::View;

/// In one segment: which documents have such a term, and how often.
type Found = Arc<Vec<(DocId, u32)>>;

/// The documents that have a term with this beginning.
#[derive(Debug, Clone)]
pub(super) struct Prefix {
    field: Field,
    found: Vec<(SegmentId, Found)>,
    /// In how many documents of the view.
    pub(super) frequency: u64,
    chunks: u64,
    mean: Score,
}

impl Prefix {
    /// Looks the terms up. `at` is the field's number.
    pub(super) fn find(view: &View, at: usize, prefix: &str) -> tantivy::Result<Prefix> {
        let field = view.fields.searched[at];
        let mut end = prefix.to_owned();
        end.push(char::MAX);
        let (mut found, mut frequency) = (Vec::new(), 0);
        for (segment, unseen) in view.searcher.segment_readers().iter().zip(&view.unseen) {
            let inverted = segment.inverted_index(field)?;
            let mut docs: Vec<(DocId, u32)> = Vec::new();
            let mut terms = inverted.terms().range().ge(prefix).lt(&end).into_stream()?;
            while terms.advance() {
                let mut postings =
                    inverted.read_postings_from_terminfo(terms.value(), IndexRecordOption::WithFreqs)?;
                while postings.doc() != TERMINATED {
                    docs.push((postings.doc(), postings.term_freq()));
                    postings.advance();
                }
            }
            docs.sort_unstable();
            docs.dedup_by(|next, first| {
                let same = next.0 == first.0;
                first.1 += if same { next.1 } else { 0 };
                same
            });
            frequency += docs.iter().filter(|(doc, _)| !unseen.bits.has(*doc)).count() as u64;
            found.push((segment.segment_id(), Arc::new(docs)));
        }
        let mean = view.mean(at) as Score;
        Ok(Prefix { field, found, frequency, chunks: view.totals.chunks.max(frequency), mean })
    }

    /// How often a document of a segment has such a term.
    pub(super) fn count(&self, segment: usize, doc: DocId) -> u32 {
        let docs = self.found.get(segment).map_or(&[][..], |(_, docs)| docs.as_slice());
        docs.binary_search_by_key(&doc, |(doc, _)| *doc).map_or(0, |at| docs[at].1)
    }
}

impl Query for Prefix {
    fn weight(&self, _: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        Ok(Box::new(PrefixWeight(self.clone())))
    }
}

struct PrefixWeight(Prefix);

impl Weight for PrefixWeight {
    fn scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        let prefix = &self.0;
        let docs = prefix.found.iter().find(|(id, _)| *id == reader.segment_id());
        let docs = docs.map(|(_, docs)| Arc::clone(docs)).unwrap_or_default();
        let weight = Bm25Weight::for_one_term(prefix.frequency, prefix.chunks, prefix.mean).boost_by(boost);
        Ok(Box::new(PrefixScorer {
            docs,
            at: 0,
            weight,
            lengths: reader.get_fieldnorms_reader(prefix.field)?,
        }))
    }

    fn explain(&self, _: &SegmentReader, _: DocId) -> tantivy::Result<Explanation> {
        Ok(Explanation::new("a term with this beginning", 0.0))
    }
}

struct PrefixScorer {
    docs: Found,
    at: usize,
    weight: Bm25Weight,
    lengths: FieldNormReader,
}

impl DocSet for PrefixScorer {
    fn advance(&mut self) -> DocId {
        self.at = (self.at + 1).min(self.docs.len());
        self.doc()
    }

    fn doc(&self) -> DocId {
        self.docs.get(self.at).map_or(TERMINATED, |(doc, _)| *doc)
    }

    fn size_hint(&self) -> u32 {
        self.docs.len() as u32
    }
}

impl Scorer for PrefixScorer {
    fn score(&mut self) -> Score {
        self.docs
            .get(self.at)
            .map_or(0.0, |(doc, count)| self.weight.score(self.lengths.fieldnorm_id(*doc), *count))
    }
}
