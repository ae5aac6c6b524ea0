//! How much each thing counts in text search. There is one set of weights for every vault and every language;
//! BENCHMARKS.md tells how it was chosen, and `benches/tune.rs` chooses it again.

/// The weights of text search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    /// BM25's k1: how soon a word that stands there again counts no more (Robertson and Zaragoza, "The Probabilistic
    /// Relevance Framework: BM25 and Beyond", 2009, 3.2). 1.2 there, and in tantivy, which finds the candidates.
    pub k1: f64,
    /// BM25's b: how much a long text must have more, from 0 (nothing) to 1.
    pub b: f64,
    /// What a word in the title counts besides what it counts in the body, which has the title in front.
    pub title: f64,
    /// The same of headings.
    pub headings: f64,
    /// What a word among the tags counts.
    pub tags: f64,
    /// What a word among the aliases counts.
    pub aliases: f64,
    /// What a word in the path counts.
    pub path: f64,
    /// What the beginning of a word counts, where it tells between chunks that have words of the query.
    pub starts: f64,
    /// What a form as it was typed counts besides its stem.
    pub exact: f64,
    /// What counts of what stands around a memory in a row.
    pub around: f64,
    /// What the whole query counts where it stands as it was typed, as a share of what the best memory scores. With 1
    /// and more it comes before whatever does not have it so.
    pub run: f64,
    /// The same where the query is its title.
    pub named: f64,
    /// How late a part of the query counts that stands so: the power to which its share is raised.
    pub lateness: f64,
}

impl Weights {
    /// The ones that are used.
    pub const DEFAULT: Weights = Weights {
        k1: 1.2,
        b: 0.75,
        title: 0.3,
        headings: 0.3,
        tags: 1.5,
        aliases: 0.5,
        path: 0.5,
        starts: 0.8,
        exact: 0.1,
        around: 1.2,
        run: 1.0,
        named: 1.0,
        lateness: 4.0,
    };

    /// How much of what it counts that the query stands somewhere as it was typed, for a share of the query: 0 to 1.
    #[must_use]
    pub fn strength(&self, share: f64) -> f64 {
        share.clamp(0.0, 1.0).powf(self.lateness)
    }

    /// All of them by name, to be varied.
    pub fn each(&mut self) -> [(&'static str, &mut f64); 13] {
        [
            ("k1", &mut self.k1),
            ("b", &mut self.b),
            ("title", &mut self.title),
            ("headings", &mut self.headings),
            ("tags", &mut self.tags),
            ("aliases", &mut self.aliases),
            ("path", &mut self.path),
            ("starts", &mut self.starts),
            ("exact", &mut self.exact),
            ("around", &mut self.around),
            ("run", &mut self.run),
            ("named", &mut self.named),
            ("lateness", &mut self.lateness),
        ]
    }
}
