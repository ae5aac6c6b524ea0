//! Vectors: what `dense` may find, what `similar` does with and without a model, and how texts get their vectors. With
//! the real model where the machine has it (see `models.rs`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use runebook::flow::find::{FindRequest, Finder, Status};
use runebook::flow::meaning::Dense;
use runebook::flow::progress::Silent;
use runebook::flow::vault::Vault;
use runebook::flow::{reader, sync};
use runebook::index::vectors::{Change, Form, NewRow, Script, Vectors};
use runebook::markdown::{self, chunk, passage};
use runebook::model::clock::{Cancel, Clock, Entropy, Env};
use runebook::model::id::TextKey;
use runebook::model::path::VaultPath;

use crate::support::{Run, Sandbox, real_model};

const NUMBERS: usize = 16;

fn env(sandbox: &Sandbox) -> Env {
    let home = sandbox.home().to_str().unwrap().to_owned();
    Env {
        vars: BTreeMap::from([("HOME".to_owned(), home), ("RUNEBOOK_MODEL".to_owned(), "none".to_owned())]),
        clock: Clock::fixed("2026-11-29T10:00:00Z".parse().unwrap()),
        entropy: Entropy::seeded(1),
        current_dir: sandbox.vault(),
        cancel: Cancel::default(),
        program: None,
    }
}

fn form() -> Form {
    Form::of("made up", NUMBERS)
}

/// A vector that a text gives, the same every time.
fn vector(text: &str) -> Vec<f32> {
    let raw: Vec<f32> = TextKey::of(text).0.iter().map(|byte| f32::from(*byte) - 127.5).collect();
    let length = raw.iter().map(|value| value * value).sum::<f32>().sqrt();
    raw.iter().map(|value| value / length).collect()
}

/// Gives every text of these files the vector that it itself gives.
fn embed_by_hand(sandbox: &Sandbox, vault: &Vault<'_>, files: &[&str]) {
    let dir = vault.derived_dir().join("vectors").join(form().name());
    let mut store = Vectors::open(&dir, &form()).unwrap();
    let mut add = Vec::new();
    for file in files {
        let path = VaultPath::parse(file).unwrap();
        let bytes = std::fs::read(sandbox.vault().join(file)).unwrap();
        let memory = markdown::read(&path, &bytes, &vault.config);
        let chunks = chunk::chunks(&memory, vault.config.index.chunk_tokens);
        for text in passage::passages(&memory, &chunks) {
            let script = Script::of(&text);
            add.push(NewRow { key: TextKey::of(&text), script, vector: vector(&text) });
        }
    }
    store.change(&Change { add, ..Change::default() }, &|_| {}).unwrap();
}

const FILES: [&str; 8] = [
    "resources/deploy.md",
    "resources/archived.md",
    "resources/many.md",
    "user/seats.md",
    "user/secret.md",
    "user/diary.md",
    "agent/twin.md",
    "user/座位.md",
];

pub(super) const ACTORS: &str = "actors:
  - {id: mei, kind: person, email: mei@example.org, roles: [propose, review, merge, admin]}
  - {id: claude, kind: agent, family: claude, email: claude@agents.example.org, roles: [propose]}
  - {id: narrow, kind: agent, family: claude, email: n@agents.example.org, roles: [propose], reads: ['user/s*']}
";

pub(super) fn filled() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.run(&["init"]).ok();
    let write = |path: &str, front: &str, body: &str| {
        sandbox.write(path, format!("---\n{front}\n---\n# {path}\n\n{body} window\n"));
    };
    write(
        "resources/deploy.md",
        "type: procedural\ntags: [ops, ops/night]\ncreated: 2026-01-05",
        "How to deploy.",
    );
    write("resources/archived.md", "type: semantic\nstatus: archived", "Put away.");
    let sections: String =
        (0..40).map(|n| format!("\n## Part {n}\n\nSomething about {n}, a window.\n")).collect();
    write("resources/many.md", "type: resource", &sections);
    write(
        "user/seats.md",
        "type: semantic\ntags: [travel]\ncreated: 2026-11-20",
        "The word \"exactly so\" stands here.",
    );
    write("user/secret.md", "type: semantic\nsensitivity: restricted", "Nobody but me.");
    write("user/diary.md", "type: episodic\noccurred: 2026-11-28", "A day at the window.");
    write("user/座位.md", "type: semantic", "喜欢靠窗的座位，两小时以上的航班。");
    // The same text as another memory's, and with it the same row.
    sandbox.write("agent/twin.md", sandbox.read("user/seats.md"));
    sandbox.write(".runebook/actors.yaml", ACTORS);
    sandbox.git(&["add", "-A", ":!user/diary.md"]);
    sandbox.git(&["commit", "-qm", "Memories; the diary is on no branch"]);
    sandbox
}

fn requests() -> Vec<FindRequest> {
    let base = || FindRequest { limit: 500, statuses: vec![Status::All], ..FindRequest::default() };
    let words = |query: &str| FindRequest { query: query.to_owned(), ..base() };
    vec![
        base(),
        FindRequest { statuses: Vec::new(), ..base() },
        FindRequest { main: true, ..base() },
        FindRequest { types: vec!["semantic".to_owned()], ..base() },
        FindRequest { tags: vec!["ops".to_owned()], ..base() },
        FindRequest { paths: vec!["user/".to_owned()], ..base() },
        FindRequest { paths: vec!["**/s*.md".to_owned()], ..base() },
        FindRequest { since: Some("2026-11-01".to_owned()), ..base() },
        FindRequest { until: Some("2026-11-25".to_owned()), ..base() },
        words("\"exactly so\""),
        words("-deploy"),
        words("-tag:travel"),
        words("type:episodic"),
        words("path:resources/ -type:resource"),
    ]
}

#[test]
fn what_may_be_found_by_meaning_is_what_may_be_found_by_words() {
    let sandbox = filled();
    let env = env(&sandbox);
    let vault = Vault::open(&env, &sandbox.vault()).unwrap();
    sync::reindex(&vault, false, &Silent).unwrap();
    embed_by_hand(&sandbox, &vault, &FILES);
    let finder = Finder::with_meaning(&vault, &form(), "test").unwrap();
    assert!(finder.meaning().unwrap().embedded() > 45);
    let question = vector("a question");
    let mut seen = BTreeSet::new();
    for actor in [None, Some("claude"), Some("narrow")] {
        let access = reader::access(&vault, actor, None).unwrap();
        for request in requests() {
            let words = FindRequest { query: format!("window {}", request.query), ..request.clone() };
            let mut wanted: Vec<String> = finder
                .find(&vault, &access, &words)
                .unwrap()
                .hits
                .iter()
                .map(|hit| hit.path.to_string())
                .filter(|path| FILES.contains(&path.as_str()))
                .collect();
            wanted.sort();
            let dense = Dense { vector: &question, scores: None, only: None, offsets: [0.0; 2], count: 500 };
            let hits = finder.dense(&vault, &access, &request, &dense).unwrap();
            assert!(hits.windows(2).all(|pair| pair[0].score >= pair[1].score));
            let catalog = sync::open(&vault).unwrap();
            let path = |doc| catalog.doc(doc).unwrap().unwrap().path.to_string();
            let mut found: Vec<String> = hits.iter().map(|hit| path(hit.doc)).collect();
            found.sort();
            assert_eq!(found, wanted, "{actor:?} {request:?}");
            seen.insert(found);
            // The few best are those of the many.
            let few = Dense { count: 2, ..dense.clone() };
            let few = finder.dense(&vault, &access, &request, &few).unwrap();
            assert_eq!(few, hits[..few.len()]);
            // By script: together they are all.
            let by = |script| {
                let only = Dense { only: Some(script), ..dense.clone() };
                finder.dense(&vault, &access, &request, &only).unwrap()
            };
            let (latin, cjk) = (by(Script::Latin), by(Script::Cjk));
            assert!(latin.iter().all(|hit| hit.script == Script::Latin));
            assert_eq!(latin.len() + cjk.len(), hits.len());
        }
    }
    assert!(seen.len() > 8, "the requests are told apart: {seen:?}");
}

#[test]
fn the_chunk_that_matched_is_named() {
    let sandbox = filled();
    let env = env(&sandbox);
    let vault = Vault::open(&env, &sandbox.vault()).unwrap();
    sync::reindex(&vault, false, &Silent).unwrap();
    embed_by_hand(&sandbox, &vault, &FILES);
    let path = VaultPath::parse("resources/many.md").unwrap();
    let memory = markdown::read(&path, sandbox.read("resources/many.md").as_bytes(), &vault.config);
    let texts = passage::passages(&memory, &chunk::chunks(&memory, 400));
    let finder = Finder::with_meaning(&vault, &form(), "test").unwrap();
    let access = reader::access(&vault, None, None).unwrap();
    for ord in [0, 7, texts.len() - 1] {
        let question = vector(&texts[ord]);
        let dense = Dense { vector: &question, scores: None, only: None, offsets: [0.0; 2], count: 3 };
        let request = FindRequest { limit: 3, ..FindRequest::default() };
        let best = finder.dense(&vault, &access, &request, &dense).unwrap()[0];
        assert_eq!((best.ord, best.score > 0.999), (ord as u64, true));
    }
}

#[test]
fn without_a_model_similar_goes_by_words_and_says_so() {
    let sandbox = filled();
    let run = sandbox.run(&["similar", "user/seats.md"]).ok();
    assert!(run.err.contains("by its words alone: no model"), "{}", run.err);
    assert!(run.out.contains("agent/twin.md"), "{}", run.out);
    assert!(!run.out.lines().any(|line| line.starts_with("user/seats.md:")), "not itself: {}", run.out);
    let json = sandbox.run(&["similar", "user/seats.md", "--json", "-n", "1"]).ok().json();
    assert_eq!((json["mode"].as_str(), json["hits"].as_array().unwrap().len()), (Some("words"), 1));
    // What an agent may not read is neither found nor asked about.
    let told = sandbox.run_as("claude", &["similar", "user/seats.md", "-n", "100"]).ok();
    assert!(!told.out.contains("secret") && !told.out.contains("diary"), "{}", told.out);
    let refused = sandbox.run_as("claude", &["similar", "user/secret.md"]);
    assert!(refused.status != 0 && !refused.out.contains("Nobody but me"), "{refused:?}");
    sandbox.run(&["similar", "user"]).fails(2);
    let none = sandbox.run(&["status"]).ok();
    assert!(none.out.contains("by words alone: no model"), "{}", none.out);
}

/// A memory of two sections, and one memory beside it for each.
fn of_two_parts() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.run(&["init"]).ok();
    sandbox.write(
        "user/both.md",
        "# Habits\n\n## Trains\n\nBooks the quiet carriage of the night train. ^trains\n\n\
         ## Tea\n\nDrinks green tea without sugar. ^tea\n",
    );
    sandbox.write("user/rail.md", "# Rail\n\nThe night train has a quiet carriage.\n");
    sandbox.write("user/cup.md", "# Cup\n\nGreen tea is taken without sugar.\n");
    sandbox
}

const PARTS: [(&str, &str); 5] = [
    ("user/both.md#Trains", "user/rail.md"),
    ("user/both.md#Tea", "user/cup.md"),
    ("user/both.md#^trains", "user/rail.md"),
    ("user/both.md#^tea", "user/cup.md"),
    ("user/both.md#L9-L9", "user/cup.md"),
];

#[test]
fn similar_is_asked_of_a_part() {
    let sandbox = of_two_parts();
    for (at, first) in PARTS {
        let answer = sandbox.run(&["similar", at, "--json"]).ok().json();
        assert_eq!((&answer["mode"], &answer["hits"][0]["path"]), (&"words".into(), &first.into()), "{at}");
        assert!(answer["uri"].as_str().unwrap().contains('#'), "{answer}");
    }
    let generation = sandbox.run(&["status", "--json"]).ok().json()["index"].clone();
    for (at, says) in [("user/both.md#nix", "it has #Habits"), ("user/both.md#^abc", "it has #^trains")] {
        let run = sandbox.run(&["similar", at]).fails(1);
        assert!(
            run.out.is_empty() && run.err.contains("has no part") && run.err.contains(says),
            "{}",
            run.err
        );
    }
    sandbox.run(&["similar", "user/both.md#L90"]).fails(1);
    assert_eq!(sandbox.run(&["status", "--json"]).ok().json()["index"], generation, "it was built anew");
}

#[test]
fn similar_is_asked_of_a_part_by_meaning() {
    let Some(embedding) = Embedding::over(of_two_parts) else { return };
    embedding.run(&["reindex"]).ok();
    for (at, first) in PARTS {
        let answer = embedding.run(&["similar", at, "--json"]).ok().json();
        assert_eq!((&answer["mode"], &answer["hits"][0]["path"]), (&"meaning".into(), &first.into()), "{at}");
    }
}

/// A vault with a model in use.
pub(super) struct Embedding {
    pub(super) sandbox: Sandbox,
    runtime: PathBuf,
}

impl Embedding {
    fn new() -> Option<Embedding> {
        Embedding::over(filled)
    }

    pub(super) fn over(sandbox: impl FnOnce() -> Sandbox) -> Option<Embedding> {
        let (model, runtime) = real_model()?;
        let sandbox = sandbox();
        let embedding = Embedding { sandbox, runtime };
        embedding.install(&model, "small", "passage: ");
        Some(embedding)
    }

    pub(super) fn runtime(&self) -> &Path {
        &self.runtime
    }

    fn install(&self, model: &Path, name: &str, prefix: &str) {
        let to = self.sandbox.home().join(".local/share/runebook/models").join(name);
        std::fs::create_dir_all(&to).unwrap();
        let mut files = serde_json::Map::new();
        for file in [
            "model.onnx",
            "tokenizer.json",
            "config.json",
            "special_tokens_map.json",
            "tokenizer_config.json",
        ] {
            let bytes = std::fs::read(model.join(file)).unwrap();
            let hash = runebook::index::embed::hash_of(&bytes);
            files.insert(file.to_owned(), serde_json::to_value(hash).unwrap());
            std::fs::write(to.join(file), bytes).unwrap();
        }
        let description = serde_json::json!({
            "name": name, "dimensions": 384, "max_tokens": 512, "files": files,
            "prefixes": {"query": "query: ", "passage": prefix},
        });
        std::fs::write(to.join("model.yaml"), description.to_string()).unwrap();
    }

    pub(super) fn run_with(&self, vars: &[(&str, &str)], args: &[&str]) -> Run {
        let mut command = self.sandbox.command(env!("CARGO_BIN_EXE_runebook"));
        command.env("RUNEBOOK_MODEL", "small").env("ORT_DYLIB_PATH", &self.runtime);
        command.envs(vars.iter().copied());
        let output = command.args(args).output().expect("it runs");
        Run {
            status: output.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    pub(super) fn run(&self, args: &[&str]) -> Run {
        self.run_with(&[], args)
    }

    /// How many texts are embedded, and how many wait.
    fn state(&self) -> (u64, u64) {
        let meaning = self.run(&["status", "--json"]).ok().json()["meaning"].clone();
        (meaning["embedded"].as_u64().unwrap(), meaning["pending"].as_u64().unwrap())
    }

    /// How many texts a `reindex` embeds.
    fn embeds(&self) -> u64 {
        let answer = self.run(&["reindex", "--json"]).ok().json();
        assert_eq!(answer["meaning"]["pending"], 0, "{answer}");
        answer["meaning"]["done"].as_u64().unwrap()
    }

    fn store(&self) -> PathBuf {
        let stores = self.sandbox.vault().join(".git/runebook/vectors");
        let mut found = std::fs::read_dir(stores).unwrap();
        found.next().unwrap().unwrap().path()
    }
}

#[test]
fn only_what_is_new_is_embedded() {
    let Some(vault) = Embedding::new() else { return };
    let first = vault.embeds();
    // Two memories have the same text.
    assert!(first > 45, "{first}");
    assert_eq!(vault.state(), (first, 0));
    assert_eq!(vault.embeds(), 0);
    // A rename costs nothing: neither title nor text changed.
    vault.sandbox.git(&["mv", "user/seats.md", "user/places.md"]);
    assert_eq!(vault.embeds(), 0);
    let old = vault.sandbox.read("user/座位.md");
    vault.sandbox.write("user/座位.md", format!("{old}\nOne more sentence.\n"));
    // By words alone: a search by meaning would embed it at once.
    vault.run(&["find", "sentence", "--lexical"]).ok();
    assert_eq!(vault.state().1, 1);
    assert_eq!(vault.embeds(), 1);
    // The text that was there before lives on in main; when the edit is taken back, nothing is embedded.
    vault.sandbox.write("user/座位.md", &old);
    assert_eq!(vault.embeds(), 0);
    assert_eq!(vault.state(), (first, 0));
    // The whole index anew, and every vector is still there.
    assert_eq!(vault.run(&["reindex", "--full", "--json"]).ok().json()["meaning"]["done"], 0);
    let similar = vault.run(&["similar", "user/places.md", "--json"]).ok().json();
    assert_eq!(similar["mode"], "meaning");
    assert_eq!(similar["hits"][0]["path"], "agent/twin.md");
    assert!(similar["hits"][0]["score"].as_f64().unwrap() > 0.999);
}

#[test]
fn killed_at_any_step_it_goes_on_where_it_was() {
    let Some(vault) = Embedding::new() else { return };
    vault.run(&["reindex", "--no-embed"]).ok();
    let (_, all) = vault.state();
    let mut left = all;
    for step in runebook::index::vectors::STEPS {
        let run = vault.run_with(&[("RUNEBOOK_CRASH_AT", step)], &["reindex"]);
        assert_eq!(run.status, -1, "{step} is never reached: {run:?}");
        let (embedded, pending) = vault.state();
        assert_eq!(embedded + pending, all, "{step}");
        assert!(pending <= left, "{step}");
        left = pending;
    }
    assert!(left < all, "what was listed is kept");
    assert_eq!(vault.embeds(), left);
    assert_eq!(vault.state(), (all, 0));
}

#[test]
fn damage_and_another_model_are_mended_by_themselves() {
    let Some(vault) = Embedding::new() else { return };
    let all = vault.embeds();
    for entry in std::fs::read_dir(vault.store()).unwrap() {
        let at = entry.unwrap().path();
        let bytes = std::fs::read(&at).unwrap();
        std::fs::write(&at, &bytes[..bytes.len() / 2]).unwrap();
        let similar = vault.run(&["similar", "user/diary.md"]);
        assert!(matches!(similar.status, 0 | 1), "{similar:?}");
        vault.embeds();
        assert_eq!(vault.state(), (all, 0), "{}", at.display());
    }
    let (model, _) = real_model().unwrap();
    vault.install(&model, "other", "text: ");
    let other = [("RUNEBOOK_MODEL", "other")];
    let similar = vault.run_with(&other, &["similar", "user/diary.md", "--json"]).json();
    assert_eq!(
        (similar["mode"].as_str(), similar["freshness"]["unembedded"].as_u64()),
        (Some("words"), Some(all))
    );
    let run = vault.run_with(&other, &["reindex"]).ok();
    assert!(run.err.contains("the model is another one than before"), "{}", run.err);
    assert_eq!(std::fs::read_dir(vault.sandbox.vault().join(".git/runebook/vectors")).unwrap().count(), 1);
    // No runtime: an error with the next step, after the index was brought up to date.
    vault.sandbox.write("user/new.md", "# New\n\nA text that is new.\n");
    let broken = vault.run_with(&[("ORT_DYLIB_PATH", "/nowhere/libonnxruntime.so")], &["reindex"]).fails(5);
    assert!(broken.err.contains("hint:") && broken.out.contains("memories"), "{broken:?}");
    vault.run(&["find", "text new"]).ok();
}

#[test]
#[cfg(unix)]
fn a_full_disk_and_a_directory_that_cannot_be_written_stop_embedding_and_nothing_else() {
    let Some(vault) = Embedding::new() else { return };
    vault.run(&["reindex", "--no-embed"]).ok();
    let script = "trap '' XFSZ; ulimit -f 12; exec \"$0\" reindex";
    let mut command = vault.sandbox.command("sh");
    command.env("RUNEBOOK_MODEL", "small").env("ORT_DYLIB_PATH", &vault.runtime);
    let output = command.args(["-c", script, env!("CARGO_BIN_EXE_runebook")]).output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{err}");
    assert!(err.contains("the disk is full"), "{err}");
    let (embedded, pending) = vault.state();
    assert!(pending > 0 && embedded + pending > 40);
    vault.run(&["find", "window"]).ok();
    vault.embeds();
    // Read-only: what there is answers.
    use std::os::unix::fs::PermissionsExt as _;
    let mode = |mode| std::fs::set_permissions(vault.store(), std::fs::Permissions::from_mode(mode)).unwrap();
    mode(0o500);
    let similar = vault.run(&["similar", "user/diary.md", "--json"]).ok().json();
    mode(0o700);
    assert_eq!(similar["mode"], "meaning");
}
