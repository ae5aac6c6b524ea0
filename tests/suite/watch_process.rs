//! The command `watch`: one at a time, in the background, ended, never trusted when dead.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{LIMIT, Sandbox};
use crate::sync::prepare;

/// Ends the watcher of a sandbox, so that a test that fails leaves none behind.
struct Ends<'a>(&'a Sandbox);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        if self.0.vault().exists() {
            let _ = self.0.run(&["watch", "--stop"]);
        }
    }
}

fn foreground(sandbox: &Sandbox, args: &[&str]) -> Child {
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_runebook"));
    command.arg("watch").args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
}

#[track_caller]
fn ready(sandbox: &Sandbox) -> serde_json::Value {
    let began = Instant::now();
    loop {
        let watcher = sandbox.run(&["status", "--json"]).ok().json()["watcher"].clone();
        if watcher["ready"] == true {
            return watcher;
        }
        assert!(began.elapsed() < LIMIT, "it is never ready");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn in_the_background_there_is_one_and_it_ends_when_asked() {
    let sandbox = prepare();
    sandbox.write("a.md", "# A\n\nzebra\n");
    assert_eq!(sandbox.run(&["watch", "--stop"]).fails(1).out, "");
    let run = sandbox.run(&["watch", "--detach", "--debounce", "50ms"]).ok();
    let _ends = Ends(&sandbox);
    assert!(run.out.starts_with("watching "), "{}", run.out);
    let again = sandbox.run(&["watch"]).fails(3);
    assert!(again.err.contains("runs here already") && again.err.contains("--stop"), "{}", again.err);
    sandbox.run(&["watch", "--detach"]).fails(3);
    let status = sandbox.run(&["status"]).ok().out;
    assert!(status.contains("watcher    process "), "{status}");
    sandbox.write("b.md", "# B\n\nlion\n");
    assert_eq!(sandbox.run(&["find", "lion", "--json"]).ok().json()["hits"][0]["path"], "b.md");
    let log = sandbox.read(".git/runebook/watch.log");
    assert!(log.lines().all(|line| line.starts_with('{')) && log.contains("\"event\":\"ready\""), "{log}");
    let doctor = sandbox.run(&["doctor", "--json"]).json();
    let facts = doctor["facts"].as_array().expect("facts");
    assert!(
        facts.iter().any(|f| f["name"] == "watcher" && f["value"].as_str().unwrap().starts_with("process"))
    );
    let stopped = sandbox.run(&["watch", "--stop"]).ok().out;
    assert!(stopped.contains(", since 2026-11-29 10:00 UTC)"), "{stopped}");
    assert!(stopped.contains("ended"), "{stopped}");
    assert!(sandbox.run(&["status", "--json"]).ok().json()["watcher"].is_null());
    sandbox.run(&["watch", "--stop"]).fails(1);
}

#[cfg(unix)]
#[test]
fn a_signal_ends_it_in_order() {
    let sandbox = prepare();
    for signal in ["-TERM", "-INT"] {
        let child = foreground(&sandbox, &["--json"]);
        ready(&sandbox);
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill");
        assert!(sent.success());
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(0), "{signal}: {}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).expect("text");
        let events: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
        assert_eq!(events.last().expect("lines")["event"], "stopped");
        assert!(events.iter().any(|event| event["event"] == "ready"));
        assert!(sandbox.run(&["status", "--json"]).ok().json()["watcher"].is_null());
    }
}

#[test]
fn a_dead_watcher_is_not_relied_upon() {
    let sandbox = prepare();
    let mut child = foreground(&sandbox, &[]);
    ready(&sandbox);
    child.kill().expect("a signal");
    child.wait().expect("it ends");
    assert!(sandbox.vault().join(".git/runebook/watch/record.json").exists());
    assert!(sandbox.run(&["status", "--json"]).ok().json()["watcher"].is_null());
    sandbox.write("a.md", "# A\n\nzebra\n");
    assert_eq!(sandbox.run(&["find", "zebra", "--json"]).ok().json()["hits"][0]["path"], "a.md");
    sandbox.run(&["watch", "--detach"]).ok();
    drop(Ends(&sandbox));
}

#[cfg(unix)]
#[test]
fn one_that_does_not_answer_is_not_waited_for() {
    let sandbox = prepare();
    let mut child = foreground(&sandbox, &[]);
    ready(&sandbox);
    let stop = Command::new("kill").args(["-STOP", &child.id().to_string()]).status().expect("kill");
    assert!(stop.success());
    sandbox.write("a.md", "# A\n\nzebra\n");
    assert_eq!(sandbox.run(&["find", "zebra", "--json"]).ok().json()["hits"][0]["path"], "a.md");
    child.kill().expect("a signal");
    child.wait().expect("it ends");
}

#[test]
fn polling_is_said_and_right() {
    let sandbox = prepare();
    sandbox.run(&["watch", "--detach", "--poll"]).ok();
    let _ends = Ends(&sandbox);
    let watcher = ready(&sandbox);
    assert_eq!((&watcher["hearing"], &watcher["trusted"]), (&"polling".into(), &false.into()));
    // Who asked for it is not told of a limit that was not reached.
    assert!(watcher["advice"].is_null(), "{watcher}");
    sandbox.write("a.md", "# A\n\nzebra\n");
    assert_eq!(sandbox.run(&["find", "zebra", "--json"]).ok().json()["hits"][0]["path"], "a.md");
    let doctor = sandbox.run(&["doctor"]).out;
    assert!(doctor.contains("again and again"), "{doctor}");
}

#[test]
fn files_of_services_name_the_program_and_the_vault() {
    let sandbox = prepare();
    let systemd = sandbox.run(&["watch", "--print", "systemd"]).ok().out;
    let vault = sandbox.vault().canonicalize().expect("a path");
    let line = systemd.lines().find(|line| line.starts_with("ExecStart=")).expect("a line");
    assert!(
        line.contains(env!("CARGO_BIN_EXE_runebook")) && line.contains(vault.to_str().unwrap()),
        "{line}"
    );
    let launchd = sandbox.run(&["watch", "--print", "launchd"]).ok().out;
    assert!(
        launchd.contains(&format!("<string>{}/</string>", vault.display()))
            || launchd.contains(vault.to_str().unwrap())
    );
    sandbox.run(&["watch", "--print", "cron"]).fails(2);
    sandbox.run(&["watch", "--debounce", "soon"]).fails(2);
}

#[test]
fn what_it_cannot_look_at_for_a_while_is_trouble_and_no_end() {
    let sandbox = prepare();
    sandbox.write("a.md", "# A\n\nzebra\n");
    sandbox.run(&["watch", "--detach", "--debounce", "50ms"]).ok();
    let _ends = Ends(&sandbox);
    // As on a mount that died: its own files cannot be reached, while the root seems to be there.
    let place = sandbox.vault().join(".git/runebook/watch");
    std::fs::rename(&place, sandbox.home().join("watch")).unwrap();
    std::fs::write(&place, "").unwrap();
    let log = || sandbox.read(".git/runebook/watch.log");
    let until = |what: &str, holds: &dyn Fn() -> bool| {
        super::support::until(what, Duration::from_millis(20), holds);
    };
    until("it tells the trouble", &|| log().contains("\"event\":\"trouble\""));
    std::fs::remove_file(&place).unwrap();
    until("it goes on", &|| log().contains("\"event\":\"recovered\""));
    assert_eq!(log().matches("\"event\":\"trouble\"").count(), 1, "{}", log());
    assert_eq!(log().matches("\"event\":\"recovered\"").count(), 1, "{}", log());
    sandbox.write("b.md", "# B\n\nlion\n");
    until("it takes in what is saved", &|| log().contains("b.md"));
    until("it can be relied upon again", &|| watcher_is_trusted(&sandbox));
}

fn watcher_is_trusted(sandbox: &Sandbox) -> bool {
    sandbox.run(&["status", "--json"]).ok().json()["watcher"]["trusted"] == true
}
