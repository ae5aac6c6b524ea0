//! Fetching files of models from a hub, which is not believed: what it sends is bounded, counted and held against the
//! hash that it names. The only place that names ureq.
//!
//! The network has a thread of its own, so that Ctrl-C and a hub that falls silent are noticed at once whatever the
//! system waits for. What came is kept where the hub named a SHA-256, and the next run goes on behind it: the whole is
//! held against that hash in the end.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use super::address;
use crate::model::clock::Stopwatch;
use crate::model::id::hex;

/// No file of a model is larger.
const MOST_BYTES: u64 = 8 << 30;
/// So much comes at most of a file of which the hub does not say how large it is.
const MOST_UNTOLD: u64 = 64 << 20;
/// A hub that leads on and on leads nowhere.
const MOST_HOPS: usize = 10;
/// What is read at once.
const PIECE: usize = 1 << 16;
/// How often it is asked whether to go on.
const GLANCE: Duration = Duration::from_millis(50);

/// A hub.
#[derive(Debug, Clone)]
pub struct Hub {
    /// Where it is: `https://huggingface.co`.
    pub endpoint: String,
    /// What it is shown where it wants to know who asks. It goes nowhere else.
    pub token: Option<String>,
    /// How long it may be silent.
    pub patience: Duration,
}

/// Why a file was not had.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// Whoever asked wants it no longer.
    #[error("stopped before it was done")]
    Stopped,
    /// The hub, or the way to it.
    #[error("{0}")]
    Hub(String),
    /// The disk.
    #[error("writing {}: {why}", path.display())]
    Disk {
        /// The file.
        path: PathBuf,
        /// Why.
        why: std::io::Error,
    },
}

/// What came, in order.
enum Came {
    /// Of which content it is, from which byte on, and how many bytes the whole has.
    Head { etag: String, start: u64, total: Option<u64> },
    /// Bytes.
    Piece(Vec<u8>),
    /// All of it.
    End,
    /// No more.
    Broken(String),
}

/// Fetches a file of a repository to `to`, and goes on behind what an earlier call left there. `tells` hears how many
/// bytes are there and, where it is known, of how many; it says whether to go on.
///
/// # Errors
/// When it cannot be had whole.
pub fn fetch(
    hub: &Hub,
    (repository, file): (&str, &str),
    to: &Path,
    tells: &mut dyn FnMut(u64, Option<u64>) -> bool,
) -> Result<(), FetchError> {
    let url = format!("{}/{repository}/resolve/main/{file}", hub.endpoint.trim_end_matches('/'));
    let mut part = Part::at(to)?;
    let known = part.etag();
    let (sender, receiver) = sync_channel(16);
    let (asked, from) = (hub.clone(), known.map(|etag| (etag, part.bytes)));
    // It is left alone where it still waits for a silent hub: it holds nothing but its connection.
    std::thread::spawn(move || {
        if let Err(why) = send(&asked, &url, from, &sender) {
            // Nobody listens any more, then.
            let _ = sender.send(Came::Broken(why));
        }
    });
    part.take(&receiver, hub.patience, tells)
}

/// The file that grows, and beside it of which content it is.
struct Part {
    path: PathBuf,
    bytes: u64,
}

impl Part {
    fn at(path: &Path) -> Result<Part, FetchError> {
        let bytes = path.metadata().map_or(0, |data| data.len());
        Ok(Part { path: path.to_owned(), bytes })
    }

    fn beside(&self) -> PathBuf {
        let mut name = self.path.file_name().unwrap_or_default().to_owned();
        name.push(".etag");
        self.path.with_file_name(name)
    }

    fn disk(&self, why: std::io::Error) -> FetchError {
        FetchError::Disk { path: self.path.clone(), why }
    }

    /// Of which content the beginning is, if that can be told in the end.
    fn etag(&self) -> Option<String> {
        let etag = std::fs::read_to_string(self.beside()).ok()?;
        (self.bytes > 0 && is_sha256(&etag)).then_some(etag)
    }

    /// Forgets what is there.
    fn forget(&self) {
        let _ = std::fs::remove_file(self.beside());
        let _ = std::fs::remove_file(&self.path);
    }

    fn take(
        &mut self,
        came: &Receiver<Came>,
        patience: Duration,
        tells: &mut dyn FnMut(u64, Option<u64>) -> bool,
    ) -> Result<(), FetchError> {
        let mut file: Option<File> = None;
        let (mut of, mut whole) = (String::new(), None);
        let mut silent = Stopwatch::start();
        loop {
            if !tells(self.bytes, whole) {
                return Err(FetchError::Stopped);
            }
            match came.recv_timeout(GLANCE) {
                Err(RecvTimeoutError::Timeout) if silent.elapsed() < patience => continue,
                Err(RecvTimeoutError::Timeout) => {
                    return Err(FetchError::Hub(format!("nothing came for {} s", patience.as_secs())));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(FetchError::Hub("the connection ended".to_owned()));
                }
                Ok(Came::Head { etag, start, total }) => {
                    if let Some(total) = total.filter(|total| *total > MOST_BYTES) {
                        return Err(FetchError::Hub(format!(
                            "it says that it has {total} bytes, and no model has"
                        )));
                    }
                    file = Some(self.open(start, &etag)?);
                    (of, whole) = (etag, total);
                }
                Ok(Came::Piece(piece)) => {
                    let Some(file) = &mut file else { continue };
                    self.bytes += piece.len() as u64;
                    if self.bytes > whole.unwrap_or(MOST_UNTOLD) {
                        self.forget();
                        return Err(FetchError::Hub(format!(
                            "it sends more than {} bytes",
                            self.bytes - piece.len() as u64
                        )));
                    }
                    file.write_all(&piece).map_err(|why| self.disk(why))?;
                }
                Ok(Came::Broken(why)) => return Err(FetchError::Hub(why)),
                Ok(Came::End) => {
                    if let Some(total) = whole.filter(|total| *total != self.bytes) {
                        let why = format!("it ended after {} of {total} bytes", self.bytes);
                        return Err(FetchError::Hub(why));
                    }
                    return self.is(&of);
                }
            }
            silent = Stopwatch::start();
        }
    }

    /// Opens the file to go on at a byte, of which content it then is.
    fn open(&mut self, start: u64, etag: &str) -> Result<File, FetchError> {
        if start != self.bytes {
            self.forget();
        }
        let file = OpenOptions::new().create(true).append(true).open(&self.path);
        let file = file.map_err(|why| self.disk(why))?;
        file.set_len(start).map_err(|why| self.disk(why))?;
        self.bytes = start;
        std::fs::write(self.beside(), etag).map_err(|why| self.disk(why))?;
        Ok(file)
    }

    /// Whether all of it is what the hub calls it.
    fn is(&self, etag: &str) -> Result<(), FetchError> {
        if !is_sha256(etag) {
            return Ok(());
        }
        let mut file = File::open(&self.path).map_err(|why| self.disk(why))?;
        let (mut hash, mut buffer) = (Sha256::new(), vec![0; 1 << 20]);
        loop {
            let read = file.read(&mut buffer).map_err(|why| self.disk(why))?;
            if read == 0 {
                break;
            }
            hash.update(&buffer[..read]);
        }
        let found = hex(&hash.finalize());
        if found == etag.to_ascii_lowercase() {
            return Ok(());
        }
        self.forget();
        Err(FetchError::Hub(format!("what came is damaged: its SHA-256 is {found}, and the hub says {etag}")))
    }
}

fn is_sha256(etag: &str) -> bool {
    etag.len() == 64 && etag.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Asks for a file and sends what comes of it, behind what is there already if that is of the same content.
fn send(hub: &Hub, url: &str, from: Option<(String, u64)>, to: &SyncSender<Came>) -> Result<(), String> {
    let agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .timeout_connect(Some(hub.patience))
        .timeout_recv_response(Some(hub.patience))
        .user_agent("runebook")
        .build()
        .new_agent();
    let mut from = from;
    loop {
        let answer = ask(&agent, hub, url, from.as_ref().map_or(0, |(_, bytes)| *bytes))?;
        let same = from.as_ref().is_none_or(|(etag, _)| *etag == answer.etag);
        if same && let Some((etag, bytes)) = from.as_ref().filter(|_| answer.status == 416) {
            // There is nothing behind what is there.
            let _ = to.send(Came::Head { etag: etag.clone(), start: *bytes, total: answer.total });
            let _ = to.send(Came::End);
            return Ok(());
        }
        if !same || answer.status == 416 {
            if from.take().is_none() {
                return Err(format!("{url}: it has nothing to send (416)"));
            }
            continue;
        }
        let start = if answer.status == 206 { answer.start.unwrap_or(0) } else { 0 };
        if start != 0 && from.as_ref().is_none_or(|(_, bytes)| *bytes != start) {
            return Err(format!("{url}: it sends another part than was asked for"));
        }
        let head = Came::Head { etag: answer.etag, start, total: answer.total };
        let mut body = answer.body.into_reader();
        let mut alive = to.send(head).is_ok();
        while alive {
            let mut piece = vec![0; PIECE];
            let read = body.read(&mut piece).map_err(|why| format!("{url}: {why}"))?;
            piece.truncate(read);
            alive = to.send(if read == 0 { Came::End } else { Came::Piece(piece) }).is_ok() && read > 0;
        }
        return Ok(());
    }
}

/// What a hub answers in the end.
struct Answer {
    status: u16,
    etag: String,
    start: Option<u64>,
    total: Option<u64>,
    body: ureq::Body,
}

/// Asks, and follows where that leads.
fn ask(agent: &ureq::Agent, hub: &Hub, url: &str, from: u64) -> Result<Answer, String> {
    let (mut at, mut linked) = (url.to_owned(), None);
    for _ in 0..=MOST_HOPS {
        let mut request = agent.get(&at).header("Accept-Encoding", "identity");
        if from > 0 {
            request = request.header("Range", format!("bytes={from}-"));
        }
        if let Some(token) =
            hub.token.as_ref().filter(|_| address::origin(&at) == address::origin(&hub.endpoint))
        {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        let response = request.call().map_err(|why| format!("{at}: {why}"))?;
        let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
        let bare = |etag: &str| etag.trim_start_matches("W/").trim_matches('"').to_owned();
        linked = linked.or_else(|| header("x-linked-etag").map(bare));
        let status = response.status().as_u16();
        match status {
            200 | 206 | 416 => {
                let etag = linked.or_else(|| header("etag").map(bare)).unwrap_or_default();
                let range = header("content-range").and_then(|text| text.strip_prefix("bytes "));
                let start = range.and_then(|text| text.split('-').next()?.parse().ok());
                let total = match status {
                    200 => header("content-length"),
                    _ => range.and_then(|text| text.rsplit('/').next()),
                };
                let total = total.and_then(|text| text.parse().ok());
                return Ok(Answer { status, etag, start, total, body: response.into_body() });
            }
            301 | 302 | 303 | 307 | 308 => {
                let to =
                    header("location").ok_or_else(|| format!("{at}: it leads on, and says not where"))?;
                at = address::joined(&at, to)
                    .ok_or_else(|| format!("{at}: it leads on to what is no address"))?;
            }
            401 | 403 => return Err(format!("{at}: it refuses ({status}); HF_TOKEN may name who asks")),
            404 => return Err(format!("{at}: there is no such file (404)")),
            _ => return Err(format!("{at}: it answers {status}")),
        }
    }
    Err(format!("{url}: it leads on and on, over more than {MOST_HOPS} addresses"))
}
