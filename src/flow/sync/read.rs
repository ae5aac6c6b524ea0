//! Reading many files at once: hash, parse, cut into chunks.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use jiff::tz::TimeZone;
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

use super::date::date_of;
use super::source::kind_of;
use crate::catalog::FileKind;
use crate::flow::vault::Vault;
use crate::markdown;
use crate::model::config::Config;
use crate::model::fault::Fault;
use crate::model::finding::{Finding, Severity};
use crate::model::front_matter::FrontMatter;
use crate::model::id::{Oid, TextKey};
use crate::model::memory::{Chunk, Memory};
use crate::model::path::VaultPath;
use crate::store::git::Repo;
use crate::store::plain;

/// Where a file's bytes come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum From {
    /// The work tree.
    Work,
    /// Git's object store.
    Blob(Oid),
}

/// One file to read.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) path: VaultPath,
    pub(super) from: From,
    /// The blob that main has there.
    pub(super) main: Option<Oid>,
    /// The blobs under which the index has the path already: those need no reading.
    pub(super) known: Vec<Oid>,
}

/// What reading a file gave.
#[derive(Debug)]
pub(super) enum Read {
    /// A document that the index does not have.
    New(Box<Parsed>),
    /// One that it has, by its blob.
    Same(VaultPath, Oid),
    /// The file is gone.
    Gone(VaultPath),
    /// It could not be read, and why.
    Failed(VaultPath, String),
}

/// A document for the index.
#[derive(Debug)]
pub(super) struct Parsed {
    pub(super) oid: Oid,
    /// Whether it is what main has.
    pub(super) main: bool,
    pub(super) kind: FileKind,
    pub(super) size: u64,
    pub(super) memory: Memory,
    pub(super) chunks: Vec<Chunk>,
    pub(super) date: Option<i64>,
    pub(super) tokens: u32,
    /// The names of the texts that are embedded, one a chunk; none of a file whose text is not searched.
    pub(super) passages: Vec<TextKey>,
}

/// What a reader needs besides the job.
struct Desk<'a> {
    config: &'a Config,
    zone: &'a TimeZone,
    root: Option<&'a Path>,
}

/// How much of a file over the limit is read.
const HEAD: usize = 64 << 10;

/// Reads all jobs on several threads and hands each result to `take` on this one, in no particular order. Ends
/// early, with `false`, when `stop` says so.
pub(super) fn read_all(
    vault: &Vault<'_>,
    jobs: Vec<Job>,
    stop: &dyn Fn() -> bool,
    mut take: impl FnMut(Read) -> Result<(), Fault>,
) -> Result<bool, Fault> {
    let zone = vault.config.zone().map_err(crate::flow::vault::VaultError::from)?;
    let desk = Desk { config: &vault.config, zone: &zone, root: vault.repo.work_dir() };
    let git_dir = vault.repo.git_dir().to_owned();
    let enough = AtomicBool::new(false);
    let (sender, receiver): (SyncSender<Read>, Receiver<Read>) = sync_channel(256);
    std::thread::scope(|scope| {
        let (desk, enough, git_dir) = (&desk, &enough, &git_dir);
        scope.spawn(move || {
            jobs.into_par_iter().for_each_init(
                || (sender.clone(), None),
                |(sender, repo), job| {
                    if enough.load(Ordering::Relaxed) {
                        return;
                    }
                    let path = job.path.clone();
                    let run = std::panic::AssertUnwindSafe(|| desk.read(job, repo, git_dir));
                    let read = std::panic::catch_unwind(run).unwrap_or_else(|_| {
                        Read::Failed(
                            path,
                            "reading it failed inside the program; please report this".to_owned(),
                        )
                    });
                    // The receiver is gone only after `enough`.
                    let _ = sender.send(read);
                },
            );
        });
        let mut result = Ok(true);
        for (count, read) in receiver.iter().enumerate() {
            let halt = count % 16 == 0 && (stop() || vault.env.cancel.is_cancelled());
            result = if halt { Ok(false) } else { take(read).map(|()| true) };
            if !matches!(result, Ok(true)) {
                break;
            }
        }
        enough.store(true, Ordering::Relaxed);
        drop(receiver);
        result
    })
}

/// The texts of a document that are embedded, if it can still be read as it was when they were named so. The work file
/// is tried before git's object: where git changes the ends of lines, the file is what was read.
pub(in crate::flow) fn passages_of(
    vault: &Vault<'_>,
    path: &VaultPath,
    oid: Oid,
    keys: &[TextKey],
) -> Result<Option<Vec<String>>, Fault> {
    let zone = vault.config.zone().map_err(crate::flow::vault::VaultError::from)?;
    let desk = Desk { config: &vault.config, zone: &zone, root: vault.repo.work_dir() };
    for from in [From::Work, From::Blob(oid)] {
        if from == From::Blob(oid) && !vault.repo.has_object(oid) {
            continue;
        }
        let job = Job { path: path.clone(), from, main: Some(oid), known: Vec::new() };
        if let Read::New(parsed) = desk.read(job, &mut None, vault.repo.git_dir())
            && parsed.passages == keys
        {
            return Ok(Some(markdown::passage::passages(&parsed.memory, &parsed.chunks)));
        }
    }
    Ok(None)
}

impl Desk<'_> {
    fn read(&self, job: Job, repo: &mut Option<Repo>, git_dir: &Path) -> Read {
        let bytes = match (job.from, self.root) {
            (From::Work, Some(root)) => match plain::read(root.join(job.path.as_str())) {
                Ok(bytes) => bytes,
                Err(error) if is_gone(&error) => return Read::Gone(job.path),
                Err(error) => return Read::Failed(job.path, error.to_string()),
            },
            (From::Work, None) => return Read::Gone(job.path),
            (From::Blob(oid), _) => {
                if repo.is_none() {
                    *repo = Repo::discover(git_dir).ok();
                }
                let blob = repo.as_ref().map(|repo| repo.blob(oid));
                match blob {
                    Some(Ok(bytes)) => bytes,
                    Some(Err(error)) => return Read::Failed(job.path, error.to_string()),
                    None => return Read::Failed(job.path, "git's object store cannot be opened".to_owned()),
                }
            }
        };
        let oid = match job.from {
            From::Work => identity(&bytes, job.main),
            From::Blob(oid) => oid,
        };
        if job.known.contains(&oid) {
            return Read::Same(job.path, oid);
        }
        let (kind, memory, chunks) = self.parse(&job.path, &bytes);
        let date = date_of(&memory.front, &job.path, self.zone);
        let (tokens, passages) = match kind {
            FileKind::Other => (0, Vec::new()),
            _ => (markdown::tokens::estimate(&memory.text), markdown::passage::keys(&memory, &chunks)),
        };
        Read::New(Box::new(Parsed {
            oid,
            main: job.main == Some(oid),
            kind,
            size: bytes.len() as u64,
            memory,
            chunks,
            date,
            tokens,
            passages,
        }))
    }

    fn parse(&self, path: &VaultPath, bytes: &[u8]) -> (FileKind, Memory, Vec<Chunk>) {
        let kind = kind_of(path);
        let problem = |rule: &str, message: String, fix: &str| {
            Finding::new(rule, Severity::Warning, message).in_file(path).with_fix(fix)
        };
        let fits = bytes.len() as u64 <= self.config.index.max_file_bytes;
        if path.is_canvas() && fits && self.config.foreign.ignores(path).is_none() {
            // Its links are followed, its text is not searched.
            return (kind, markdown::read(path, bytes, self.config), Vec::new());
        }
        if kind == FileKind::Other {
            return (kind, bare(path, String::new(), Vec::new()), Vec::new());
        }
        if self.config.foreign.ignores(path).is_some() {
            // Links to it lead somewhere still.
            let mut memory = bare(path, String::new(), Vec::new());
            memory.front.sensitivity = markdown::sensitivity(bytes, self.config);
            return (FileKind::Other, memory, Vec::new());
        }
        if bytes[..bytes.len().min(8192)].contains(&0) {
            let finding = match markdown::utf16(bytes) {
                Some(name) => problem(
                    "index.encoding",
                    format!("it is {name}, not UTF-8"),
                    "save it as UTF-8; `runebook check` says how",
                ),
                None => problem("index.binary", "it is not text".to_owned(), "give it another ending"),
            };
            let mut memory = bare(path, String::new(), vec![finding]);
            memory.front.sensitivity = markdown::sensitivity(bytes, self.config);
            return (FileKind::Other, memory, Vec::new());
        }
        let mut read = bytes;
        let mut problems = Vec::new();
        if bytes.len() as u64 > self.config.index.max_file_bytes {
            read = &bytes[..bytes.len().min(HEAD)];
            let limit = self.config.index.max_file_bytes;
            problems.push(problem(
                "index.size",
                format!("it has {} bytes; of files over {limit} only the head is searched", bytes.len()),
                "split it, or raise `index.max_file_bytes` in .runebook/config.yaml",
            ));
        }
        if kind == FileKind::Text {
            let text =
                String::from_utf8_lossy(read.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(read)).into_owned();
            if std::str::from_utf8(read).is_err() && problems.is_empty() {
                problems.push(problem("index.encoding", "it is not UTF-8".to_owned(), "save it as UTF-8"));
            }
            let memory = bare(path, text, problems);
            let chunks = lines_to_chunks(&memory.text, self.config.index.chunk_tokens);
            return (kind, memory, chunks);
        }
        let mut memory = markdown::read(path, read, self.config);
        memory.problems.extend(problems);
        if memory.template {
            return (FileKind::Other, memory, Vec::new());
        }
        let chunks = markdown::chunk::chunks(&memory, self.config.index.chunk_tokens);
        (kind, memory, chunks)
    }
}

fn is_gone(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
}

/// The name of a work file's content: main's, where only the ends of lines differ as git's `autocrlf` makes them.
fn identity(bytes: &[u8], main: Option<Oid>) -> Oid {
    let oid = Repo::hash_blob(bytes);
    let Some(main) = main.filter(|main| *main != oid) else { return oid };
    if !bytes.windows(2).any(|pair| pair == b"\r\n") {
        return oid;
    }
    let mut plain = Vec::with_capacity(bytes.len());
    for (at, byte) in bytes.iter().enumerate() {
        if *byte != b'\r' || bytes.get(at + 1) != Some(&b'\n') {
            plain.push(*byte);
        }
    }
    if Repo::hash_blob(&plain) == main { main } else { oid }
}

/// A file that is no Markdown.
fn bare(path: &VaultPath, text: String, problems: Vec<Finding>) -> Memory {
    Memory {
        path: path.clone(),
        text,
        body_start: 0,
        front: FrontMatter::default(),
        title: path.name().to_owned(),
        headings: Vec::new(),
        links: Vec::new(),
        tags: Vec::new(),
        blocks: Vec::new(),
        footnotes: Vec::new(),
        problems,
        template: false,
    }
}

/// Plain text in pieces of whole lines; only a line that is too long by itself is cut.
fn lines_to_chunks(text: &str, max_tokens: u32) -> Vec<Chunk> {
    let limit = max_tokens.max(16) * 4;
    let (mut chunks, mut start, mut first, mut weight, mut line) = (Vec::new(), 0, 1, 0, 1);
    let mut push = |range: std::ops::Range<usize>, line: u32| {
        if !text[range.clone()].trim().is_empty() {
            chunks.push(Chunk { headings: Vec::new(), range, line });
        }
    };
    let (mut line_start, mut line_weight) = (0, 0);
    for (at, c) in text.char_indices() {
        let quarters = markdown::tokens::quarters(c);
        if weight + line_weight + quarters > limit {
            // Before this line, or within it if it alone is too long.
            let cut = if line_start > start { line_start } else { at };
            push(start..cut, first);
            weight = 0;
            if cut == at {
                line_start = at;
                line_weight = 0;
            }
            start = cut;
            first = line;
        }
        line_weight += quarters;
        if c == '\n' {
            weight += line_weight;
            line_weight = 0;
            line += 1;
            line_start = at + 1;
        }
    }
    push(start..text.len(), first);
    chunks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_is_cut_at_lines_and_nothing_is_lost() {
        let long = "字".repeat(250);
        let text = format!("one\n\ntwo\n{long}\nthree\n{}", "word ".repeat(200));
        let chunks = lines_to_chunks(&text, 100);
        let joined: String = chunks.iter().map(|c| &text[c.range.clone()]).collect();
        assert_eq!(joined, text);
        for chunk in &chunks {
            assert!(markdown::tokens::estimate(&text[chunk.range.clone()]) <= 101, "{chunk:?}");
            let line = text[..chunk.range.start].matches('\n').count() + 1;
            assert_eq!(chunk.line as usize, line);
        }
    }

    #[test]
    fn line_ends_alone_make_no_difference() {
        let main = Repo::hash_blob(b"a\nb\n");
        assert_eq!(identity(b"a\r\nb\r\n", Some(main)), main);
        assert_ne!(identity(b"a\r\nc\r\n", Some(main)), main);
        assert_eq!(identity(b"a\r\n", None), Repo::hash_blob(b"a\r\n"));
    }
}
