//! Models from a hub that lies, breaks off, falls silent or sends for ever: a small one in a thread of this process.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use runebook::index::embed::{FetchError, Hub, fetch, hash_of};

use crate::support::{Sandbox, real_model};

/// What is asked of the hub.
struct Asked {
    path: String,
    from: u64,
    token: bool,
}

type Answers = dyn Fn(&Asked, &mut TcpStream) -> std::io::Result<()> + Send + Sync;

struct Server {
    address: String,
    asked: Arc<Mutex<Vec<(String, u64, bool)>>>,
    over: Arc<AtomicBool>,
}

impl Server {
    fn start(
        answers: impl Fn(&Asked, &mut TcpStream) -> std::io::Result<()> + Send + Sync + 'static,
    ) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let (asked, over) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let (list, ends, answers): (_, _, Arc<Answers>) =
            (Arc::clone(&asked), Arc::clone(&over), Arc::new(answers));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if ends.load(Ordering::SeqCst) {
                    return;
                }
                let (list, answers) = (Arc::clone(&list), Arc::clone(&answers));
                // Whoever asks may hang up at any time.
                std::thread::spawn(move || drop(serve(stream, &list, &*answers)));
            }
        });
        Server { address, asked, over }
    }

    fn asked(&self) -> Vec<(String, u64, bool)> {
        self.asked.lock().expect("a list").clone()
    }

    fn hub(&self) -> Hub {
        Hub {
            endpoint: self.address.clone(),
            token: Some("secret".to_owned()),
            patience: Duration::from_secs(1),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address.trim_start_matches("http://"));
    }
}

fn serve(
    mut stream: TcpStream,
    list: &Mutex<Vec<(String, u64, bool)>>,
    answers: &Answers,
) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let first = lines.next().unwrap_or(Ok(String::new()))?;
    let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut asked = Asked { path, from: 0, token: false };
    for line in lines {
        let line = line?.to_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(range) = line.strip_prefix("range: bytes=") {
            asked.from = range.trim_end_matches('-').parse().expect("a range");
        }
        asked.token |= line.starts_with("authorization:");
    }
    list.lock().expect("a list").push((asked.path.clone(), asked.from, asked.token));
    answers(&asked, &mut stream)
}

/// A good answer: all of it, or what was asked for.
fn good(asked: &Asked, body: &[u8], stream: &mut TcpStream) -> std::io::Result<()> {
    let etag = hash_of(body).sha256;
    let total = body.len();
    let from = usize::try_from(asked.from).expect("a size");
    if from >= total && total > 0 {
        return write!(
            stream,
            "HTTP/1.1 416 No\r\nX-Linked-Etag: \"{etag}\"\r\nContent-Range: bytes */{total}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        );
    }
    let status = match from {
        0 => "200 OK".to_owned(),
        from => format!("206 Part\r\nContent-Range: bytes {from}-{}/{total}", total - 1),
    };
    let rest = &body[from..];
    write!(
        stream,
        "HTTP/1.1 {status}\r\nX-Linked-Etag: \"{etag}\"\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        rest.len()
    )?;
    stream.write_all(rest)
}

fn body() -> Vec<u8> {
    (0..300_000_u32).flat_map(u32::to_le_bytes).collect()
}

fn get(hub: &Hub, to: &Path) -> Result<(), String> {
    fetch(hub, ("some/model", "onnx/model.onnx"), to, &mut |_, _| true).map_err(|error| error.to_string())
}

fn left(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).expect("a directory");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8")).collect();
    names.sort();
    names
}

#[test]
fn what_is_whole_is_taken_and_a_token_goes_nowhere_else() {
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("model.onnx");
    let elsewhere = Server::start(|asked, stream| good(asked, &body(), stream));
    let there = format!("{}/blob", elsewhere.address);
    let hub = Server::start(move |_, stream| {
        let etag = hash_of(&body()).sha256;
        write!(
            stream,
            "HTTP/1.1 302 Found\r\nX-Linked-Etag: \"{etag}\"\r\nLocation: {there}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        )
    });
    get(&hub.hub(), &to).unwrap();
    assert_eq!(std::fs::read(&to).unwrap(), body());
    assert_eq!(hub.asked(), [("/some/model/resolve/main/onnx/model.onnx".to_owned(), 0, true)]);
    assert_eq!(elsewhere.asked(), [("/blob".to_owned(), 0, false)]);
    // What is there is not fetched again, only asked for.
    get(&hub.hub(), &to).unwrap();
    assert_eq!(elsewhere.asked()[1], ("/blob".to_owned(), body().len() as u64, false));
    assert_eq!(std::fs::read(&to).unwrap(), body());
}

#[test]
fn what_broke_off_goes_on_and_is_held_against_its_hash() {
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("model.onnx");
    let cut = || {
        Server::start(|_, stream| {
            let all = body();
            let etag = hash_of(&all).sha256;
            write!(
                stream,
                "HTTP/1.1 200 OK\r\nX-Linked-Etag: \"{etag}\"\r\nContent-Length: {}\r\n\r\n",
                all.len()
            )?;
            stream.write_all(&all[..500_000])
        })
    };
    let whole = Server::start(|asked, stream| good(asked, &body(), stream));
    let begun = |to: &Path| {
        get(&cut().hub(), to).unwrap_err();
        let bytes = to.metadata().unwrap().len();
        assert!(bytes > 0 && bytes <= 500_000, "{bytes}");
        bytes
    };
    let bytes = begun(&to);
    get(&whole.hub(), &to).unwrap();
    assert_eq!(std::fs::read(&to).unwrap(), body());
    assert_eq!(whole.asked()[0].1, bytes);

    // The hub has another content now, or sends all of it whatever is asked for.
    std::fs::remove_file(&to).unwrap();
    begun(&to);
    let other = Server::start(|asked, stream| good(asked, b"another model", stream));
    get(&other.hub(), &to).unwrap();
    assert_eq!(std::fs::read(&to).unwrap(), b"another model");
    std::fs::remove_file(&to).unwrap();
    begun(&to);
    let deaf = Server::start(|asked, stream| {
        good(&Asked { path: asked.path.clone(), from: 0, token: false }, &body(), stream)
    });
    get(&deaf.hub(), &to).unwrap();
    assert_eq!(std::fs::read(&to).unwrap(), body());

    // What is there was damaged meanwhile: it is not taken, and not kept.
    std::fs::remove_file(&to).unwrap();
    begun(&to);
    let mut damaged = std::fs::read(&to).unwrap();
    damaged[1_000] ^= 1;
    std::fs::write(&to, damaged).unwrap();
    let why = get(&whole.hub(), &to).unwrap_err();
    assert!(why.contains("what came is damaged"), "{why}");
    assert!(!to.exists());
    get(&whole.hub(), &to).unwrap();
    assert_eq!(std::fs::read(&to).unwrap(), body());
}

/// A hub that answers with this, whatever it is asked.
fn says(text: String) -> Server {
    Server::start(move |_, stream| stream.write_all(text.as_bytes()))
}

#[test]
fn a_hub_that_lies_is_not_believed() {
    let etag = "ab".repeat(32);
    let plain = |status: &str, more: &str| format!("HTTP/1.1 {status}\r\nConnection: close\r\n{more}\r\n");
    let cases: Vec<(&str, String)> = vec![
        ("is damaged", plain("200 OK", &format!("ETag: \"{etag}\"\r\nContent-Length: 5\r\n")) + "hello"),
        ("(404)", plain("404 Not Found", "Content-Length: 0\r\n")),
        ("answers 500", plain("500 Oh", "Content-Length: 0\r\n")),
        ("HF_TOKEN", plain("401 Who", "Content-Length: 0\r\n")),
        ("nothing to send", plain("416 No", "Content-Length: 0\r\n")),
        ("says not where", plain("302 Found", "Content-Length: 0\r\n")),
        ("no address", plain("302 Found", "Location: file:///etc/passwd\r\nContent-Length: 0\r\n")),
        ("no model has", plain("200 OK", "ETag: \"x\"\r\nContent-Length: 1125899906842624\r\n")),
        ("another part", plain("206 Part", "Content-Range: bytes 7-9/10\r\nContent-Length: 3\r\n") + "abc"),
        ("/some/model", "this is no HTTP\r\n\r\n".to_owned()),
        ("/some/model", String::new()),
        // A name that leads elsewhere names nothing here.
        (
            "it ended after 2 of 9",
            plain("206 Part", "ETag: \"../../../evil\"\r\nContent-Range: bytes 0-8/9\r\n") + "ab",
        ),
    ];
    for (why, answer) in cases {
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("a/b");
        std::fs::create_dir_all(&inner).unwrap();
        let hub = says(answer.clone());
        let error = get(&hub.hub(), &inner.join("model.onnx")).unwrap_err();
        assert!(error.contains(why), "{answer:?}: {error}");
        assert!(!error.contains('\n'), "{error:?}");
        assert_eq!(
            (left(dir.path()), left(&dir.path().join("a"))),
            (vec!["a".to_owned()], vec!["b".to_owned()])
        );
        assert!(left(&inner).iter().all(|name| name.starts_with("model.onnx")), "{:?}", left(&inner));
    }
}

#[test]
fn a_hub_that_never_ends_is_left() {
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("model.onnx");
    for location in ["/round/and/round", "round"] {
        let hub = says(format!(
            "HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        ));
        let error = get(&hub.hub(), &to).unwrap_err();
        assert!(error.contains("leads on and on"), "{error}");
        assert_eq!(hub.asked().len(), 11);
    }
    let endless = Server::start(|_, stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\nETag: \"x\"\r\nConnection: close\r\n\r\n")?;
        let piece = vec![7; 1 << 20];
        loop {
            stream.write_all(&piece)?;
        }
    });
    let error = get(&endless.hub(), &to).unwrap_err();
    assert!(error.contains("sends more than"), "{error}");
    assert!(!to.exists(), "it takes the disk");
    let headers = Server::start(|_, stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\n")?;
        loop {
            stream.write_all(b"X-More: more more more more more more more more\r\n")?;
        }
    });
    get(&headers.hub(), &to).unwrap_err();
    // Silent from the beginning, or in the midst of it.
    let silent = |begins: &'static str| {
        Server::start(move |_, stream| {
            stream.write_all(begins.as_bytes())?;
            std::thread::sleep(Duration::from_secs(600));
            Ok(())
        })
    };
    for begins in
        ["", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nETag: \"x\"\r\nContent-Length: 100\r\n\r\nabc"]
    {
        let hub = silent(begins);
        let error = get(&hub.hub(), &to).unwrap_err();
        assert!(error.contains("nothing came") || error.contains("timeout"), "{error}");
    }
    // Whoever stops does not wait for it.
    let began = Instant::now();
    let waits = silent("");
    let hub = Hub { patience: Duration::from_secs(600), ..waits.hub() };
    let mut asked = 0;
    let mut tells = |_, _| {
        asked += 1;
        asked < 3
    };
    let error = fetch(&hub, ("some/model", "x"), &to, &mut tells).unwrap_err();
    assert!(matches!(error, FetchError::Stopped) && began.elapsed() < Duration::from_secs(300));
}

fn models(sandbox: &Sandbox) -> PathBuf {
    sandbox.home().join(".local/share/runebook/models")
}

/// `model install` from a hub.
fn installing(sandbox: &Sandbox, hub: &Server, runtime: &Path) -> std::process::Command {
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_runebook"));
    command.env("HF_ENDPOINT", &hub.address).env("RUNEBOOK_HUB_PATIENCE", "2").env("ORT_DYLIB_PATH", runtime);
    command.args(["model", "install", "multilingual-e5-small"]);
    command
}

/// The name of the file of the model that is asked for.
fn file_of(asked: &Asked) -> &str {
    asked.path.rsplit('/').next().unwrap_or_default()
}

#[test]
fn a_model_is_installed_whole_or_not_at_all() {
    let Some((model, runtime)) = real_model() else { return };
    let sandbox = Sandbox::new();
    let none_is_there = |sandbox: &Sandbox| {
        let listed = sandbox.run(&["model", "list", "--json"]).fails(1).json();
        assert_eq!(listed["models"].as_array().map(Vec::len), Some(0), "{listed}");
    };
    // Without a file, and with half of the weights under a hash of their own: a hub that lies well.
    let served = model.clone();
    let lacks = Server::start(move |asked, stream| match file_of(asked) {
        "tokenizer.json" => {
            stream.write_all(b"HTTP/1.1 404 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        }
        name => good(asked, &std::fs::read(served.join(name))?, stream),
    });
    let output = installing(&sandbox, &lacks, &runtime).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(5), "{error}");
    assert!(
        error.contains("tokenizer.json: there is no such file (404)") && error.contains("hint: "),
        "{error}"
    );
    none_is_there(&sandbox);
    let served = model.clone();
    let lies = Server::start(move |asked, stream| {
        let mut bytes = std::fs::read(served.join(file_of(asked)))?;
        if file_of(asked) == "model.onnx" {
            bytes.truncate(bytes.len() / 2);
        }
        good(asked, &bytes, stream)
    });
    let output = installing(&sandbox, &lies, &runtime).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(5), "{error}");
    none_is_there(&sandbox);

    // Killed and stopped in the midst of the weights; the next one goes on where they were.
    let served = model.clone();
    let gate = Arc::new(AtomicBool::new(true));
    let slow = Arc::clone(&gate);
    let hub = Server::start(move |asked, stream| {
        let bytes = std::fs::read(served.join(file_of(asked)))?;
        if file_of(asked) != "model.onnx" || !slow.load(Ordering::SeqCst) {
            return good(asked, &bytes, stream);
        }
        let (etag, from) = (hash_of(&bytes).sha256, usize::try_from(asked.from).expect("a size"));
        let (total, last) = (bytes.len(), bytes.len() - 1);
        write!(
            stream,
            "HTTP/1.1 206 Part\r\nX-Linked-Etag: {etag}\r\nContent-Range: bytes {from}-{last}/{total}\r\nContent-Length: {}\r\n\r\n",
            total - from
        )?;
        for piece in bytes[from..].chunks(1 << 20) {
            stream.write_all(piece)?;
            std::thread::sleep(Duration::from_millis(300));
        }
        Ok(())
    });
    let part = models(&sandbox).join(".part-multilingual-e5-small/model.onnx");
    let mut before = 0;
    for signal in ["-KILL", "-INT"] {
        let child = installing(&sandbox, &hub, &runtime)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let began = Instant::now();
        while part.metadata().map_or(0, |data| data.len()) <= before + (1 << 20) {
            assert!(began.elapsed() < Duration::from_secs(180), "nothing comes");
            std::thread::sleep(Duration::from_millis(10));
        }
        let sent =
            std::process::Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        let output = child.wait_with_output().unwrap();
        assert!(!output.status.success());
        if signal == "-INT" {
            let error = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(5), "{error}");
            assert!(error.contains("stopped before it was done"), "{error}");
        }
        let now = part.metadata().unwrap().len();
        assert!(now > before);
        before = now;
        none_is_there(&sandbox);
    }
    gate.store(false, Ordering::SeqCst);
    let output = installing(&sandbox, &hub, &runtime).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let asked = hub.asked();
    let last = asked.iter().rfind(|(path, _, _)| path.ends_with("model.onnx")).expect("it asked");
    assert_eq!(last.1, before, "it began anew");
    assert_eq!(
        std::fs::read(models(&sandbox).join("multilingual-e5-small/model.onnx")).unwrap(),
        std::fs::read(model.join("model.onnx")).unwrap()
    );
    assert!(!part.exists());
    assert_eq!(left(&models(&sandbox)), [".lock", "multilingual-e5-small"]);
}
