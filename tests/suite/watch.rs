//! A watched vault: whatever happens to the files, the index is the one built anew.

use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use proptest::prelude::*;
use runebook::flow::progress::Silent;
use runebook::flow::sync;
use runebook::flow::vault::Vault;
use runebook::flow::watched::{self, Hearing, Told};
use runebook::model::clock::{Cancel, Env};
use runebook::model::fault::Fault;
use runebook::watch::{self, Background, Company, Left, Options};

use crate::follow::{Act, acts, perform};
use crate::support::{self, LIMIT, Sandbox};
use crate::sync::{env, picture, prepare};

#[track_caller]
fn until(what: &str, holds: impl FnMut() -> bool) {
    support::until(what, Duration::from_millis(10), holds);
}

/// A watcher in a thread of this process.
struct Running {
    cancel: Cancel,
    told: Arc<Mutex<Vec<Told>>>,
    thread: Option<JoinHandle<Result<(), String>>>,
}

impl Running {
    fn start(sandbox: &Sandbox, options: Options) -> Running {
        Running::start_with(sandbox, sandbox.vault(), options, None)
    }

    fn start_with(
        sandbox: &Sandbox,
        at: PathBuf,
        options: Options,
        mut background: Option<Box<dyn Background + Send>>,
    ) -> Running {
        let told = Arc::new(Mutex::new(Vec::new()));
        let env = env(sandbox);
        let cancel = env.cancel.clone();
        let list = Arc::clone(&told);
        let thread = std::thread::spawn(move || {
            let mut tell = |one: &Told| list.lock().expect("the list").push(one.clone());
            let background = background.as_mut().map(|work| &mut **work as &mut dyn Background);
            let mut company = Company { tell: &mut tell, progress: &Silent, background };
            watch::watch(&env, &at, &options, &mut company).map_err(|fault| fault.to_string())
        });
        let mut running = Running { cancel, told, thread: Some(thread) };
        until("it is ready", || {
            if running.is_over() {
                let ended = running.thread.take().map(JoinHandle::join);
                panic!("it ended: {ended:?}");
            }
            running.told().iter().any(|told| matches!(told, Told::Ready { .. }))
        });
        running
    }

    fn told(&self) -> Vec<Told> {
        self.told.lock().expect("the list").clone()
    }

    fn batches(&self) -> Vec<u64> {
        let told = self.told();
        told.iter()
            .filter_map(|one| if let Told::Changed { batch, .. } = one { Some(batch.files) } else { None })
            .collect()
    }

    fn is_over(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    fn end(mut self) -> Result<(), String> {
        self.cancel.cancel();
        self.thread.take().expect("a thread").join().expect("no panic")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.cancel.cancel();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn catch_up(env: &Env, sandbox: &Sandbox) {
    let vault = Vault::open(env, &sandbox.vault()).expect("a vault");
    assert!(watched::catch_up(&vault, LIMIT), "{:?}", watched::living(&vault));
}

/// The index is the one built anew, and a look at everything finds nothing that the watcher missed.
fn is_as_anew(env: &Env, sandbox: &Sandbox) -> Result<(), TestCaseError> {
    let vault = Vault::open(env, &sandbox.vault()).expect("a vault");
    let generation = || sync::open(&vault).expect("a catalog").state().expect("a state").generation;
    let before = generation();
    sync::follow(&vault, None, &Silent).expect("a look");
    prop_assert_eq!(before, generation(), "something was missed");
    let grown = picture(&vault);
    sync::reindex(&vault, true, &Silent).expect("an index");
    prop_assert_eq!(grown, picture(&vault));
    Ok(())
}

fn quick() -> Options {
    Options { debounce: Some(Duration::from_millis(20)), ..Options::default() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, max_shrink_iters: 40, ..ProptestConfig::default() })]
    #[test]
    fn whatever_happens_the_index_is_the_one_built_anew(acts in acts()) {
        let sandbox = prepare();
        let env = env(&sandbox);
        let running = Running::start(&sandbox, quick());
        for act in acts.iter().chain([&Act::Sync]) {
            perform(&sandbox, act);
            if matches!(act, Act::Sync) {
                catch_up(&env, &sandbox);
            }
        }
        is_as_anew(&env, &sandbox)?;
        prop_assert_eq!(running.end(), Ok(()));
    }

    #[test]
    fn killed_at_any_point_it_leaves_an_index_that_is_mended(
        acts in acts(),
        step in proptest::option::of(0..sync::STEPS.len()),
        after in 0usize..16,
    ) {
        let sandbox = prepare();
        let env = env(&sandbox);
        let mut process = Process::start(&sandbox, step.map(|step| sync::STEPS[step]));
        for (at, act) in acts.iter().enumerate() {
            perform(&sandbox, act);
            if at == after {
                process.kill();
            }
        }
        process.kill();
        let running = Running::start(&sandbox, quick());
        catch_up(&env, &sandbox);
        is_as_anew(&env, &sandbox)?;
        prop_assert_eq!(running.end(), Ok(()));
    }
}

/// A watcher in a process of its own.
struct Process(Child);

impl Process {
    fn start(sandbox: &Sandbox, crash_at: Option<&str>) -> Process {
        let mut command = sandbox.command(env!("CARGO_BIN_EXE_runebook"));
        command.args(["watch", "--debounce", "20ms"]).stdout(Stdio::null()).stderr(Stdio::null());
        if let Some(step) = crash_at {
            command.env("RUNEBOOK_CRASH_AT", step);
        }
        let mut process = Process(command.spawn().expect("it starts"));
        let env = env(sandbox);
        until("it is ready", || {
            assert!(process.0.try_wait().expect("a state").is_none(), "it died");
            let vault = Vault::open(&env, &sandbox.vault()).expect("a vault");
            watched::living(&vault).is_some_and(|living| living.ready)
        });
        process
    }

    fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

#[test]
fn a_large_change_is_one_commit_of_the_index() {
    let sandbox = prepare();
    let env = env(&sandbox);
    let note = |at: usize, word: &str| {
        (format!("notes/{}/{at}.md", at % 7), format!("# Note {at}\n\n{word} {at}\n"))
    };
    for at in 0..400 {
        let (path, text) = note(at, "window");
        sandbox.write(&path, text);
    }
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "one"]);
    sandbox.git(&["checkout", "-q", "-b", "other"]);
    for at in 0..400 {
        let (path, text) = note(at, "door");
        sandbox.write(&path, text);
    }
    sandbox.git(&["commit", "-q", "-am", "two"]);
    let running = Running::start(
        &sandbox,
        Options { debounce: Some(Duration::from_millis(1500)), ..Options::default() },
    );
    let before = running.batches().len();
    sandbox.git(&["checkout", "-q", "main"]);
    until("the checkout is taken in", || running.batches().len() > before);
    assert_eq!(running.batches()[before..], [400]);
    // A burst by something else than git.
    for at in 400..800 {
        let (path, text) = note(at, "roof");
        sandbox.write(&path, text);
    }
    until("the burst is taken in", || running.batches().len() > before + 1);
    assert_eq!(running.batches()[before..], [400, 400]);
    is_as_anew(&env, &sandbox).unwrap();
}

#[test]
fn git_at_work_is_followed() {
    let sandbox = prepare();
    let env = env(&sandbox);
    sandbox.write("a.md", "# A\n\none\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "a"]);
    sandbox.git(&["clone", "-q", ".", "../upstream"]);
    sandbox.git(&["remote", "add", "origin", "../upstream"]);
    let running = Running::start(&sandbox, quick());
    // Pull: main moves by what others did.
    std::fs::write(sandbox.home().join("upstream/b.md"), "# B\n\ntwo\n").unwrap();
    sandbox.git(&["-C", "../upstream", "add", "-A"]);
    sandbox.git(&["-C", "../upstream", "commit", "-q", "-m", "b"]);
    sandbox.git(&["pull", "-q", "origin", "main"]);
    catch_up(&env, &sandbox);
    // Rebase: the files come and go.
    sandbox.git(&["checkout", "-q", "-b", "side", "HEAD~1"]);
    sandbox.write("c.md", "# C\n\nthree\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "c"]);
    sandbox.git(&["rebase", "-q", "main"]);
    catch_up(&env, &sandbox);
    // A reference alone: no file changes, and what was own work is approved now.
    sandbox.git(&["update-ref", "refs/heads/main", "side"]);
    sandbox.git(&["pack-refs", "--all"]);
    catch_up(&env, &sandbox);
    let hits = sandbox.run(&["find", "three", "--json"]).ok().json();
    assert_eq!(hits["hits"][0]["approved"], true);
    is_as_anew(&env, &sandbox).unwrap();
    drop(running);
}

#[test]
fn ignored_directories_are_not_listened_to_until_they_count() {
    let sandbox = prepare();
    let env = env(&sandbox);
    sandbox.write(".gitignore", "node_modules/\n");
    for at in 0..20 {
        sandbox.write(&format!("node_modules/p{at}/readme.md"), "# Package\n\nzebra\n");
    }
    sandbox.write("notes/a.md", "# A\n\nzebra\n");
    let running = Running::start(&sandbox, quick());
    let directories = || {
        let vault = Vault::open(&env, &sandbox.vault()).expect("a vault");
        watched::living(&vault).expect("a watcher").directories
    };
    assert_eq!(directories(), 2);
    let batches = running.batches().len();
    sandbox.write("node_modules/p1/more.md", "# More\n\nzebra\n");
    catch_up(&env, &sandbox);
    assert_eq!(running.batches().len(), batches, "{:?}", running.told());
    assert_eq!(sandbox.run(&["find", "zebra", "--json"]).ok().json()["hits"].as_array().unwrap().len(), 1);
    sandbox.write(".gitignore", "");
    catch_up(&env, &sandbox);
    assert_eq!(directories(), 23);
    sandbox.write("node_modules/p1/more.md", "# More\n\ngiraffe\n");
    catch_up(&env, &sandbox);
    is_as_anew(&env, &sandbox).unwrap();
    sandbox.write(".runebook/config.yaml", "version: 1\nmain_branch: main\nignore: [\"node_modules/**\"]\n");
    catch_up(&env, &sandbox);
    let vault = Vault::open(&env, &sandbox.vault()).expect("a vault");
    assert_eq!(runebook::flow::find::Finder::open(&vault).map(drop).map_err(|e| e.to_string()), Ok(()));
    is_as_anew(&env, &sandbox).unwrap();
}

#[test]
fn a_root_that_is_away_for_a_while_is_not_empty() {
    let sandbox = prepare();
    let env = env(&sandbox);
    sandbox.write("a.md", "# A\n\nzebra\n");
    let running = Running::start(&sandbox, quick());
    let away = sandbox.home().join("away");
    std::fs::rename(sandbox.vault(), &away).unwrap();
    until("it says so", || running.told().iter().any(|told| matches!(told, Told::Trouble { .. })));
    std::fs::write(away.join("b.md"), "# B\n\ngiraffe\n").unwrap();
    std::fs::rename(&away, sandbox.vault()).unwrap();
    until("it goes on", || running.told().iter().any(|told| matches!(told, Told::Recovered { .. })));
    sandbox.write("c.md", "# C\n\nlion\n");
    catch_up(&env, &sandbox);
    for told in running.told() {
        assert!(!matches!(told, Told::Changed { batch, .. } if batch.removed > 0), "taken for empty");
    }
    is_as_anew(&env, &sandbox).unwrap();
}

#[test]
fn a_vault_that_is_gone_for_good_ends_it() {
    let sandbox = prepare();
    let running = Running::start(&sandbox, Options { grace: Duration::from_millis(100), ..quick() });
    std::fs::remove_dir_all(sandbox.vault()).unwrap();
    until("it ends", || running.is_over());
    let error = running.end().unwrap_err();
    assert!(error.contains("is gone"), "{error}");
}

#[test]
fn its_own_files_may_be_thrown_away() {
    let sandbox = prepare();
    let env = env(&sandbox);
    sandbox.write("a.md", "# A\n\nzebra\n");
    let running = Running::start(&sandbox, quick());
    until("they are gone", || std::fs::remove_dir_all(sandbox.vault().join(".git/runebook")).is_ok());
    let vault = Vault::open(&env, &sandbox.vault()).expect("a vault");
    until("it is there again", || watched::catch_up(&vault, Duration::from_millis(100)));
    sandbox.write("a.md", "# A\n\ngiraffe\n");
    catch_up(&env, &sandbox);
    is_as_anew(&env, &sandbox).unwrap();
    drop(running);
}

#[test]
fn beyond_the_limit_it_looks_and_says_so() {
    let sandbox = prepare();
    for at in 0..5 {
        sandbox.write(&format!("d{at}/a.md"), "# A\n\nzebra\n");
    }
    let env = env(&sandbox);
    let vault = Vault::open(&env, &sandbox.vault()).expect("a vault");
    for (most, hearing) in [(3, Hearing::Partly), (0, Hearing::Polling)] {
        let options = Options { most_directories: most, poll_every: Duration::from_millis(50), ..quick() };
        let running = Running::start(&sandbox, options);
        let living = watched::living(&vault).expect("a watcher");
        assert_eq!((living.hearing, living.trusted), (hearing, false));
        for at in 0..5 {
            sandbox.write(&format!("d{at}/a.md"), format!("# A\n\nlion {most}\n"));
            sandbox.write(&format!("d{at}/new{most}/b.md"), "# B\n\nlion\n");
        }
        // Nobody relies on it.
        assert!(!watched::catch_up(&vault, LIMIT));
        let batches = || running.batches().iter().sum::<u64>();
        until("all is seen", || batches() >= 10);
        is_as_anew(&env, &sandbox).unwrap();
    }
}

#[test]
fn each_work_tree_has_its_own_watcher() {
    let sandbox = prepare();
    let env = env(&sandbox);
    sandbox.write("a.md", "# A\n\nzebra\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "a"]);
    sandbox.git(&["worktree", "add", "-q", "-b", "side", "../side"]);
    let side = sandbox.home().join("side");
    let _here = Running::start(&sandbox, quick());
    let _there = Running::start_with(&sandbox, side.clone(), quick(), None);
    for round in 0..3 {
        std::fs::write(side.join("b.md"), format!("# B\n\nlion{round}\n")).unwrap();
        sandbox.write("a.md", format!("# A\n\ngiraffe{round}\n"));
        let there = Vault::open(&env, &side).expect("a vault");
        assert!(watched::catch_up(&there, LIMIT));
        catch_up(&env, &sandbox);
        let found = |dir: &str, word: &str| sandbox.run(&["-C", dir, "find", word]).status;
        let words = [format!("lion{round}"), format!("giraffe{round}")];
        let found: Vec<i32> =
            words.iter().flat_map(|word| [found(".", word), found("../side", word)]).collect();
        assert_eq!(found, [1, 0, 0, 1], "{round}");
    }
    is_as_anew(&env, &sandbox).unwrap();
}

/// Work that never ends by itself. Counts the slices that were begun and those that were ended.
#[derive(Clone, Default)]
struct Slices(Arc<[AtomicUsize; 2]>);

impl Slices {
    fn counts(&self) -> (usize, usize) {
        // Ended first: one that ends in between must not look like one that is under way.
        let ended = self.0[1].load(Ordering::SeqCst);
        (self.0[0].load(Ordering::SeqCst), ended)
    }
}

impl Background for Slices {
    fn slice(&mut self, _vault: &Vault<'_>, enough: &dyn Fn() -> bool) -> Result<Left, Fault> {
        self.0[0].fetch_add(1, Ordering::SeqCst);
        while !enough() {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.0[1].fetch_add(1, Ordering::SeqCst);
        Ok(Left::More)
    }
}

#[test]
fn what_can_wait_gives_way() {
    let sandbox = prepare();
    let env = env(&sandbox);
    let slices = Slices::default();
    let work: Box<dyn Background + Send> = Box::new(slices.clone());
    let running = Running::start_with(&sandbox, sandbox.vault(), quick(), Some(work));
    for round in 1..4 {
        let mut begun = 0;
        until("it works at what can wait", || {
            let (now, ended) = slices.counts();
            begun = now;
            now > ended
        });
        sandbox.write("a.md", format!("# A\n\nlion{round}\n"));
        // The slice would go on forever if nobody told it that somebody waits.
        catch_up(&env, &sandbox);
        assert!(slices.counts().1 >= begun, "answered in the midst of a slice");
    }
    assert_eq!(running.end(), Ok(()));
}

/// Work that fails so often, and then has nothing to do until somebody wants it.
struct Fails {
    left: Arc<AtomicUsize>,
    done: Arc<AtomicUsize>,
    wanted: Arc<AtomicUsize>,
}

impl Background for Fails {
    fn slice(&mut self, _vault: &Vault<'_>, _enough: &dyn Fn() -> bool) -> Result<Left, Fault> {
        if self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok() {
            return Err(watch::WatchError::Died(" for now".to_owned()).into());
        }
        self.done.fetch_add(1, Ordering::SeqCst);
        Ok(Left::Nothing)
    }

    fn wants(&self) -> bool {
        self.wanted.load(Ordering::SeqCst) > self.done.load(Ordering::SeqCst)
    }
}

#[test]
fn what_can_wait_is_tried_again_and_told_once() {
    let sandbox = prepare();
    let (left, done, wanted) = <(Arc<AtomicUsize>, Arc<AtomicUsize>, Arc<AtomicUsize>)>::default();
    left.store(2, Ordering::SeqCst);
    let work = Fails { left, done: Arc::clone(&done), wanted: Arc::clone(&wanted) };
    let options = Options { retry: Duration::from_millis(10), ..quick() };
    let running = Running::start_with(&sandbox, sandbox.vault(), options, Some(Box::new(work)));
    until("it succeeds though nothing changed", || done.load(Ordering::SeqCst) == 1);
    let troubles = running.told().iter().filter(|told| matches!(told, Told::Trouble { .. })).count();
    assert_eq!(troubles, 1, "{:?}", running.told());
    wanted.store(2, Ordering::SeqCst);
    until("it works when that is wanted", || done.load(Ordering::SeqCst) == 2);
    assert_eq!(running.end(), Ok(()));
}
