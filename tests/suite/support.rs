//! A hermetic vault and the program as a user runs it: own home, own git configuration, fixed clock.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// A temporary directory that is a home and holds a work tree.
pub(crate) struct Sandbox {
    dir: tempfile::TempDir,
}

/// What a run of the program gave.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) status: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Run {
    /// The run, which must have ended with status 0.
    #[track_caller]
    pub(crate) fn ok(self) -> Run {
        assert_eq!(self.status, 0, "stdout:\n{}\nstderr:\n{}", self.out, self.err);
        self
    }

    /// The run, which must have ended with this status.
    #[track_caller]
    pub(crate) fn fails(self, status: i32) -> Run {
        assert_eq!(self.status, status, "stdout:\n{}\nstderr:\n{}", self.out, self.err);
        self
    }

    /// Its output as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}\n{}\n{}", self.out, self.err))
    }

    pub(crate) fn of(output: Output) -> Run {
        Run {
            status: output.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Sandbox {
    /// An empty one: a home with a git identity (Mei) and an empty directory `vault` in it.
    pub(crate) fn new() -> Sandbox {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let sandbox = Sandbox { dir };
        std::fs::create_dir(sandbox.vault()).expect("a directory");
        std::fs::write(
            sandbox.dir.path().join(".gitconfig"),
            "[user]\n\tname = Mei\n\temail = mei@example.org\n[init]\n\tdefaultBranch = main\n[commit]\n\tgpgsign = false\n",
        )
        .expect("git's configuration");
        sandbox
    }

    /// The directory of the vault.
    pub(crate) fn vault(&self) -> PathBuf {
        self.dir.path().join("vault")
    }

    /// The home around it.
    pub(crate) fn home(&self) -> &Path {
        self.dir.path()
    }

    /// A program with the sandbox's environment, standing in the vault.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.vault())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.dir.path())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("LC_ALL", "C.UTF-8")
            .env("TZ", "UTC")
            .env("RUNEBOOK_NOW", "2026-11-29T10:00:00Z")
            .env("GIT_AUTHOR_DATE", "2026-11-29T10:00:00Z")
            .env("GIT_COMMITTER_DATE", "2026-11-29T10:00:00Z");
        command
    }

    /// Runs `runebook` with these arguments in the vault.
    pub(crate) fn run(&self, args: &[&str]) -> Run {
        Run::of(self.command(env!("CARGO_BIN_EXE_runebook")).args(args).output().expect("the program runs"))
    }

    /// Runs `runebook` as an actor.
    pub(crate) fn run_as(&self, actor: &str, args: &[&str]) -> Run {
        let mut command = self.command(env!("CARGO_BIN_EXE_runebook"));
        Run::of(command.env("RUNEBOOK_ACTOR", actor).args(args).output().expect("the program runs"))
    }

    /// Runs git in the vault, which must succeed, and returns what it prints, trimmed at its end.
    #[track_caller]
    pub(crate) fn git(&self, args: &[&str]) -> String {
        let run = Run::of(self.command("git").args(args).output().expect("git runs"));
        assert_eq!(run.status, 0, "git {args:?}\n{}{}", run.out, run.err);
        run.out.trim_end().to_owned()
    }

    /// The number of whoever runs the tests.
    #[cfg(unix)]
    pub(crate) fn user(&self) -> u32 {
        std::os::unix::fs::MetadataExt::uid(&self.home().metadata().expect("a home"))
    }

    /// Writes a file of the vault.
    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.vault().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        std::fs::write(path, content).expect("a file");
    }

    /// The text of a file of the vault.
    #[track_caller]
    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.vault().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
    }
}

/// Far longer than anything takes: a test that waits so long has failed.
pub(crate) const LIMIT: Duration = Duration::from_secs(180);

/// Waits until something holds, and looks again after each pause.
#[track_caller]
pub(crate) fn until(what: &str, pause: Duration, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < LIMIT, "waited in vain: {what}");
        std::thread::sleep(pause);
    }
}

/// The directory of the model and the library of the runtime that `RUNEBOOK_TEST_MODEL` and `RUNEBOOK_TEST_RUNTIME`
/// name; none, with a message, where the machine has them not.
pub(crate) fn real_model() -> Option<(PathBuf, PathBuf)> {
    let named = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/models/e5-small-q4");
    let model = named("RUNEBOOK_TEST_MODEL").unwrap_or(shared);
    match named("RUNEBOOK_TEST_RUNTIME") {
        Some(runtime) if model.join("model.onnx").is_file() && runtime.is_file() => Some((model, runtime)),
        _ => {
            eprintln!("skipped: no model and runtime (RUNEBOOK_TEST_MODEL, RUNEBOOK_TEST_RUNTIME)");
            None
        }
    }
}
