//! What gets in a watcher's way: the system's limits, a full disk, clocks that jump, vectors that are thrown away.

use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use crate::support::{self, Sandbox, real_model};

#[track_caller]
fn until(what: &str, holds: impl FnMut() -> bool) {
    support::until(what, Duration::from_millis(20), holds);
}

fn vault() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.run(&["init"]).ok();
    sandbox
}

/// Ends the watcher of a sandbox, so that a test that fails leaves none behind.
struct Ends<'a>(&'a Sandbox);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        let _ = self.0.run(&["watch", "--stop"]);
    }
}

fn found(sandbox: &Sandbox, word: &str) -> Vec<String> {
    let answer = sandbox.run(&["find", word, "--json"]).json();
    let hits = answer["hits"].as_array().expect("hits").iter();
    hits.map(|hit| hit["path"].as_str().expect("a path").to_owned()).collect()
}

/// Runs a script in name spaces of its own, where it may mount and set limits that hold for nobody else. None, with a
/// message, where the system lets nobody.
pub(crate) fn apart(sandbox: &Sandbox, script: &str) -> Option<Output> {
    let mut can = sandbox.command("unshare");
    let can = can.args([
        "-Urm",
        "sh",
        "-c",
        "echo 10 > /proc/sys/user/max_inotify_watches && mount -t tmpfs none /mnt",
    ]);
    if !can.output().is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: no name spaces for users (unshare -Urm)");
        return None;
    }
    let mut command = sandbox.command("unshare");
    command.env("RUNEBOOK", env!("CARGO_BIN_EXE_runebook")).env("RUNEBOOK_MODEL", "none");
    // What a step waits for comes, or the test fails far later.
    let wait = "wait_for() { i=0; until eval \"$1\"; do i=$((i + 1)); [ $i -lt 3600 ] || { echo \"in vain: $1\"; kill $watcher; exit 9; }; sleep 0.05; done; }";
    Some(command.args(["-Urm", "sh", "-c", &format!("{wait}\n{script}")]).output().expect("it runs"))
}

pub(crate) fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The events that a watcher told.
fn events(sandbox: &Sandbox) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(sandbox.home().join("events")).expect("events");
    text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

#[cfg(target_os = "linux")]
#[test]
fn at_the_systems_limit_it_looks_and_says_how_to_raise_it() {
    let sandbox = vault();
    for at in 0..40 {
        sandbox.write(&format!("resources/d{at}/a.md"), "# A\n\nzebra\n");
    }
    // Some directories, then none at all, each time with what is saved found, and with the limit raised in the end.
    let script = |limit: &str, raised: &str| {
        format!(
            "{limit}
             $RUNEBOOK watch --json --debounce 20ms > ../events 2> ../errors & watcher=$!
             wait_for 'grep -q ready ../events'
             $RUNEBOOK status; $RUNEBOOK doctor
             for d in 1 20 39; do echo 'giraffe' > resources/d$d/new.md; done
             echo FOUND $($RUNEBOOK find giraffe --json | grep -c '\"path\": \"resources/d')
             wait_for 'grep -q changed ../events'
             {raised}
             wait_for '$RUNEBOOK status --json | grep -q \"\\\"hearing\\\": \\\"events\\\"\"'
             $RUNEBOOK status --json | grep -c advice
             kill -INT $watcher; wait $watcher; echo ENDED $?"
        )
    };
    let (watches, instances) = ("/proc/sys/user/max_inotify_watches", "/proc/sys/user/max_inotify_instances");
    for (file, hearing, advice) in [
        (watches, "partly", "fs.inotify.max_user_watches"),
        (instances, "polling", "fs.inotify.max_user_instances"),
    ] {
        let low = if hearing == "partly" { 20 } else { 0 };
        let script = script(&format!("echo {low} > {file}"), &format!("echo 100000 > {file}"));
        let Some(output) = apart(&sandbox, &script) else { return };
        let text = text(&output);
        assert!(text.contains("FOUND 3") && text.contains("ENDED 0"), "{hearing}: {text}");
        let events = events(&sandbox);
        let ready = events.iter().find(|event| event["event"] == "ready").expect("it is ready");
        assert_eq!(
            (&ready["watching"]["hearing"], &ready["watching"]["trusted"]),
            (&hearing.into(), &false.into())
        );
        let said = ready["watching"]["advice"].as_str().expect("advice");
        assert!(said.contains(&format!("sudo sysctl {advice}=")), "{said}");
        assert!(text.contains(&format!("sudo sysctl {advice}=")), "doctor says nothing: {text}");
        assert!(text.contains("\n0\n"), "with the limit raised it still complains: {text}");
        for at in [1, 20, 39] {
            std::fs::remove_file(sandbox.vault().join(format!("resources/d{at}/new.md"))).unwrap();
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_said_harms_nothing_and_is_forgotten_when_there_is_room() {
    let sandbox = Sandbox::new();
    let script = "
        mount -t tmpfs -o size=6m none . && cd \"$HOME/vault\" && $RUNEBOOK init > /dev/null && mkdir -p resources || exit 8
        for n in $(seq 1 50); do printf '# Note %s\\n\\nzebra number %s\\n' $n $n > resources/n$n.md; done
        git add -A; git commit -qm notes; $RUNEBOOK reindex
        $RUNEBOOK watch --json --debounce 20ms > ../events 2> ../errors & watcher=$!
        wait_for 'grep -q ready ../events'
        head -c 100m /dev/zero > .git/fill 2> /dev/null
        # Room for the note, and for nothing else.
        truncate -s -4096 .git/fill
        printf '# New\\n\\ngiraffe\\n' > resources/new.md
        wait_for 'grep -q trouble ../events'
        echo FULL; $RUNEBOOK find zebra -n 1; echo FIND $?
        $RUNEBOOK reindex; echo REINDEX $?
        $RUNEBOOK reindex --full; echo WHOLE $?
        $RUNEBOOK status
        rm .git/fill
        wait_for 'grep -q recovered ../events'
        wait_for 'grep -q changed ../events'
        echo ROOM; $RUNEBOOK find giraffe; echo FIND $?
        kill -INT $watcher; wait $watcher; echo ENDED $?
        $RUNEBOOK find zebra --json -n 100 | grep -c '\"path\": \"resources/n'
        git status --short
        git fsck";
    let Some(output) = apart(&sandbox, script) else { return };
    let text = text(&output);
    let (full, room) = text.split_once("ROOM").unwrap_or_else(|| panic!("{text}"));
    assert!(full.contains("FIND 0") && full.contains("REINDEX 5") && full.contains("WHOLE 5"), "{text}");
    assert!(
        room.contains("resources/new.md:3") && room.contains("FIND 0") && room.contains("ENDED 0"),
        "{text}"
    );
    assert!(room.contains("\n50\n") && room.contains("?? resources/new.md"), "{text}");
    let errors: Vec<&str> = text.lines().filter(|line| line.starts_with("error: ")).collect();
    assert!(!errors.is_empty() && errors.iter().all(|line| line.contains("the disk is full")), "{text}");
    let troubles: Vec<serde_json::Value> =
        events(&sandbox).into_iter().filter(|event| event["event"] == "trouble").collect();
    for trouble in troubles {
        assert!(trouble["message"].as_str().unwrap().contains("the disk is full"), "{trouble}");
        assert!(trouble["hint"].as_str().unwrap().contains("make room"), "{trouble}");
    }
}

#[test]
fn whatever_the_times_of_a_file_say_its_content_is_what_counts() {
    let sandbox = vault();
    let at = sandbox.vault().join("resources/a.md");
    let dated = |seconds: i64| {
        let then = match u64::try_from(seconds) {
            Ok(after) => std::time::UNIX_EPOCH + Duration::from_secs(after),
            Err(_) => std::time::UNIX_EPOCH - Duration::from_secs(seconds.unsigned_abs()),
        };
        std::fs::File::options().append(true).open(&at).unwrap().set_modified(then).unwrap();
    };
    let all = |sandbox: &Sandbox, from: u32| {
        // Of one size and one time: long ago, before 1970, in the future, farther than most clocks go.
        for (round, seconds) in (from..).zip([
            978_307_200,
            978_307_200,
            -315_619_200,
            -315_619_200,
            4_070_908_800,
            4_070_908_800,
            40_000_000_000,
            0,
            0,
        ]) {
            sandbox.write("resources/a.md", format!("# A\n\nword{}\n", char::from_u32(97 + round).unwrap()));
            dated(seconds);
            let word = |round: u32| format!("word{}", char::from_u32(97 + round).unwrap());
            assert_eq!(found(sandbox, &word(round)), ["resources/a.md"], "{seconds}");
            if round > from {
                let before = sandbox.run(&["find", &word(round - 1), "--json"]).json();
                assert!(
                    before["hits"].as_array().unwrap().is_empty() || before["instead"].is_string(),
                    "{seconds}: {before}"
                );
            }
        }
    };
    all(&sandbox, 0);
    sandbox.run(&["watch", "--detach", "--debounce", "20ms"]).ok();
    let _ends = Ends(&sandbox);
    all(&sandbox, 10);
    // A clock that was set back while it watched.
    let mut status = sandbox.command(env!("CARGO_BIN_EXE_runebook"));
    let status = status.env("RUNEBOOK_NOW", "1980-01-01T00:00:00Z").arg("status").output().unwrap();
    assert!(status.status.success());
}

#[test]
fn a_watcher_embeds_with_a_model_that_comes_later_and_what_was_thrown_away() {
    let Some((model, runtime)) = real_model() else { return };
    let sandbox = vault();
    sandbox.write("resources/cat.md", "# Cats\n\nThe cat sleeps on the warm stone.\n");
    sandbox.run(&["watch", "--detach", "--debounce", "20ms"]).ok();
    let _ends = Ends(&sandbox);
    let text = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    sandbox.run(&["model", "import", &text(&model), "--runtime", &text(&runtime)]).ok();
    let settled = || {
        let status = sandbox.run(&["status", "--json"]).ok().json();
        status["meaning"]["embedded"].as_u64().is_some_and(|count| count > 0)
            && status["meaning"]["pending"] == 0
    };
    until("it embeds, though no file changed", settled);
    let vectors = sandbox.vault().join(".git/runebook/vectors");
    let store = std::fs::read_dir(&vectors).unwrap().next().expect("a store").unwrap().path();
    let rows = || {
        let files = std::fs::read_dir(&store).into_iter().flatten().flatten().map(|entry| entry.path());
        files.filter(|path| path.file_name().is_some_and(|name| name != "manifest")).collect::<Vec<_>>()
    };
    rows().iter().for_each(|file| std::fs::remove_file(file).unwrap());
    until("it embeds what a lost file held", || !rows().is_empty() && settled());
    std::fs::remove_dir_all(&vectors).unwrap();
    // Meanwhile words answer.
    assert_eq!(found(&sandbox, "cat"), ["resources/cat.md"]);
    until("it embeds all of it anew", settled);
    let answer = sandbox.run(&["find", "kitty asleep", "--json"]).ok().json();
    assert_eq!((&answer["mode"], &answer["hits"][0]["path"]), (&"hybrid".into(), &"resources/cat.md".into()));
}

#[test]
fn commands_that_are_no_watcher_do_not_keep_one_out() {
    // Many who look whether one lives, while one starts.
    let sandbox = vault();
    let over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !over.load(std::sync::atomic::Ordering::SeqCst) {
                    sandbox.run(&["status", "--json"]).ok();
                }
            });
        }
        for _ in 0..5 {
            let mut command: Command = sandbox.command(env!("CARGO_BIN_EXE_runebook"));
            let output = command.args(["watch", "--detach"]).output().expect("it runs");
            let stopped = sandbox.run(&["watch", "--stop"]);
            if !output.status.success() || stopped.status != 0 {
                over.store(true, std::sync::atomic::Ordering::SeqCst);
                panic!("{}{}", String::from_utf8_lossy(&output.stderr), stopped.err);
            }
        }
        over.store(true, std::sync::atomic::Ordering::SeqCst);
    });
}
