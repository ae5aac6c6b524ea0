//! Models and libraries that are half there, damaged, of another kind or noisy; and being stopped in the midst of things.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{self, LIMIT, Run, Sandbox, real_model};

const FILES: [&str; 5] =
    ["model.onnx", "tokenizer.json", "config.json", "special_tokens_map.json", "tokenizer_config.json"];

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

fn data(sandbox: &Sandbox) -> PathBuf {
    sandbox.home().join(".local/share/runebook")
}

/// A vault whose memory is found by meaning.
fn brought(model: &Path, runtime: &Path) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.run(&["init"]).ok();
    sandbox.write("resources/cat.md", "# Cats\n\nThe cat sleeps on the warm stone.\n");
    sandbox.write("resources/tax.md", "# Taxes\n\nOur tax office raised the rate.\n");
    sandbox.run(&["model", "import", text(model), "--runtime", text(runtime)]).ok();
    sandbox.run(&["reindex"]).ok();
    assert_eq!(mode(&sandbox), ("hybrid".to_owned(), String::new()));
    sandbox
}

/// How a search that words answer went, and what was said on one line of why it was not by meaning.
#[track_caller]
fn mode(sandbox: &Sandbox) -> (String, String) {
    let run = sandbox.run(&["find", "cat"]).ok();
    assert!(run.out.contains("resources/cat.md"), "{}", run.out);
    let lines: Vec<&str> = run.err.lines().filter(|line| line.contains("lexical only")).collect();
    assert!(lines.len() <= 1, "{}", run.err);
    let answer = sandbox.run(&["find", "cat", "--json"]).ok().json();
    assert_eq!(answer["hits"][0]["path"], "resources/cat.md");
    (
        answer["mode"].as_str().expect("a mode").to_owned(),
        lines.first().copied().unwrap_or_default().to_owned(),
    )
}

#[test]
fn a_library_that_was_replaced_is_tried_before_it_is_loaded() {
    let Some((model, runtime)) = real_model() else { return };
    let sandbox = brought(&model, &runtime);
    let library = data(&sandbox).join("runtime").join(if cfg!(target_os = "macos") {
        "libonnxruntime.dylib"
    } else {
        "libonnxruntime.so"
    });
    let good = std::fs::read(&library).unwrap();
    // Half of it, as a copy that broke off leaves it: loading that ends the process.
    for bad in [&good[..good.len() / 2], &good[..1_000_000], b"not a library", b""] {
        std::fs::write(&library, bad).unwrap();
        for _ in 0..2 {
            let (mode, said) = mode(&sandbox);
            assert_eq!(mode, "lexical");
            assert!(said.contains("libonnxruntime") && said.contains("model runtime PATH"), "{said}");
        }
        let run = sandbox.run(&["reindex"]).ok();
        assert!(run.err.contains("by words alone"), "{}", run.err);
        sandbox.run(&["status"]).ok();
        let list = sandbox.run(&["model", "list"]);
        assert!(list.status <= 1, "{}", list.err);
    }
    std::fs::write(&library, &good).unwrap();
    assert_eq!(mode(&sandbox).0, "hybrid", "it is as it was, and taken again");
}

/// A library made of these lines of C; none where there is no compiler.
fn compiled(sandbox: &Sandbox, name: &str, source: &str) -> Option<PathBuf> {
    let (from, to) = (sandbox.home().join(format!("{name}.c")), sandbox.home().join(format!("{name}.so")));
    std::fs::write(&from, source).unwrap();
    let made = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&to).arg(&from).status();
    if !made.is_ok_and(|status| status.success()) {
        eprintln!("skipped: no C compiler");
        return None;
    }
    Some(to)
}

#[cfg(target_os = "linux")]
#[test]
fn a_library_that_crashes_or_talks_is_not_taken() {
    let Some((model, runtime)) = real_model() else { return };
    let sandbox = brought(&model, &runtime);
    let library = data(&sandbox).join("runtime/libonnxruntime.so");
    // Talks, and then is the true library: what it says would stand in every answer.
    let talks = format!(
        "#include <stdio.h>\n#include <dlfcn.h>\n\
         __attribute__((constructor)) static void begin(void) {{\n\
         for (int i = 0; i < 100000; i++) printf(\"noise {{\\n{{\\\"runtime\\\": \\\"1\\\"}}\\n\"); fflush(stdout); }}\n\
         const void *OrtGetApiBase(void) {{ void *l = dlopen(\"{}\", 2);\n\
         return ((const void *(*)(void))dlsym(l, \"OrtGetApiBase\"))(); }}\n",
        library.with_file_name("true.so").display()
    );
    std::fs::copy(&library, library.with_file_name("true.so")).unwrap();
    let crashes = "__attribute__((constructor)) static void begin(void) { *(volatile int *)0 = 1; }\n";
    for (name, source, why) in [
        ("talks", talks.as_str(), "it prints while it is loaded"),
        ("crashes", crashes, "it ended the process"),
    ] {
        let Some(bad) = compiled(&sandbox, name, source) else { return };
        let run = sandbox.run(&["model", "runtime", text(&bad)]).fails(5);
        assert!(run.err.contains(why) && run.err.lines().count() <= 2, "{name}: {}", run.err);
        assert_eq!(mode(&sandbox).0, "hybrid", "what was registered before is as it was");
        // Put where the registered one is.
        let good = std::fs::read(&library).unwrap();
        std::fs::copy(&bad, &library).unwrap();
        let (mode, said) = mode(&sandbox);
        assert!(mode == "lexical" && said.contains(why), "{name}: {said}");
        std::fs::write(&library, good).unwrap();
    }
}

#[test]
fn a_model_of_another_kind_is_refused_with_the_reason() {
    let Some((model, runtime)) = real_model() else { return };
    let sandbox = brought(&model, &runtime);
    let copy = sandbox.home().join("copy");
    let replaced = |name: &str, from: &[u8], to: &[u8]| {
        let _ = std::fs::remove_dir_all(&copy);
        std::fs::create_dir(&copy).unwrap();
        for file in FILES {
            std::fs::copy(model.join(file), copy.join(file)).unwrap();
        }
        let mut bytes = std::fs::read(copy.join(name)).unwrap();
        let places: Vec<usize> = bytes
            .windows(from.len())
            .enumerate()
            .filter(|(_, part)| *part == from)
            .map(|(at, _)| at)
            .collect();
        assert!(!places.is_empty(), "{name} has no {from:?}");
        places.iter().for_each(|at| bytes[*at..at + from.len()].copy_from_slice(to));
        std::fs::write(copy.join(name), bytes).unwrap();
    };
    let refused = |why: &str| {
        let run = sandbox.run(&["model", "import", text(&copy), "--name", "other"]);
        assert!(matches!(run.status, 2 | 5), "{}{}", run.out, run.err);
        assert!(run.err.contains(why) && run.err.contains("hint: "), "{why}: {}", run.err);
        assert!(!data(&sandbox).join("models/other").exists());
    };
    replaced("model.onnx", b"input_ids", b"input_idz");
    refused("Invalid input name");
    replaced("model.onnx", b"attention_mask", b"attention_musk");
    refused("Invalid input name");
    replaced("config.json", b"384", b"512");
    refused("gives vectors of 384 dimensions");
    replaced("tokenizer.json", b"}", b"]");
    refused("its tokenizer");
    // Half of the weights, or of the tokenizer.
    for (name, why) in [("model.onnx", "opening the model"), ("tokenizer.json", "its tokenizer")] {
        replaced("config.json", b"384", b"384");
        let bytes = std::fs::read(copy.join(name)).unwrap();
        std::fs::write(copy.join(name), &bytes[..bytes.len() / 2]).unwrap();
        refused(why);
    }
    for (name, bytes) in
        [("config.json", &b""[..]), ("config.json", b"{}"), ("tokenizer_config.json", b"\xff\xfe")]
    {
        replaced("config.json", b"384", b"384");
        std::fs::write(copy.join(name), bytes).unwrap();
        refused(name);
    }
    assert_eq!(mode(&sandbox).0, "hybrid", "what was there is as it was");
}

#[test]
fn a_file_that_was_changed_after_it_was_verified_is_noticed() {
    let Some((model, runtime)) = real_model() else { return };
    let sandbox = brought(&model, &runtime);
    let weights = data(&sandbox).join("models/e5-small/model.onnx");
    let record = weights.with_file_name("model.onnx.verified");
    // A record counts once the file has not been touched for a while.
    let began = Instant::now();
    while !record.exists() {
        assert!(began.elapsed() < LIMIT, "no record is written");
        std::thread::sleep(Duration::from_millis(500));
        assert_eq!(mode(&sandbox).0, "hybrid");
    }
    std::thread::sleep(Duration::from_millis(2_500));
    assert_eq!(mode(&sandbox).0, "hybrid");
    // One bit, and the time put back to what it was.
    let (good, times) = (std::fs::read(&weights).unwrap(), weights.metadata().unwrap().modified().unwrap());
    let mut bytes = good.clone();
    bytes[20_000_000] ^= 1;
    std::fs::write(&weights, &bytes).unwrap();
    std::fs::File::options().append(true).open(&weights).unwrap().set_modified(times).unwrap();
    let (changed, said) = mode(&sandbox);
    assert!(changed == "lexical" && said.contains("its SHA-256 is not the one that was imported"), "{said}");
    // A record of another model's, or what is none, proves nothing.
    for forged in ["", "good\n", &std::fs::read_to_string(&record).unwrap_or_default()] {
        std::fs::write(&record, forged).unwrap();
        assert_eq!(mode(&sandbox).0, "lexical");
    }
    std::fs::write(&weights, &good).unwrap();
    assert_eq!(mode(&sandbox).0, "hybrid");
}

#[track_caller]
fn until(what: &str, holds: impl FnMut() -> bool) {
    support::until(what, Duration::from_millis(2), holds);
}

fn started(sandbox: &Sandbox, args: &[&str]) -> Child {
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_runebook"));
    command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
}

/// Sends a signal, and gives how it ended and what it said.
#[track_caller]
fn signalled(child: Child, signal: &str) -> Run {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill");
    assert!(sent.success());
    let output = child.wait_with_output().expect("it ends");
    Run {
        status: output.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

fn dots(models: &Path) -> Vec<String> {
    let found = std::fs::read_dir(models).into_iter().flatten().flatten();
    found
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with('.') && name != ".lock")
        .collect()
}

#[cfg(unix)]
#[test]
fn an_import_that_is_stopped_or_killed_leaves_nothing_that_is_used() {
    let sandbox = Sandbox::new();
    let from = sandbox.home().join("large");
    std::fs::create_dir(&from).unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(from.join(name), bytes).unwrap();
    write("config.json", br#"{"hidden_size": 4, "max_position_embeddings": 64, "pad_token_id": 0}"#);
    write("tokenizer_config.json", br#"{"model_max_length": 64, "pad_token": "[PAD]"}"#);
    write("special_tokens_map.json", b"{}");
    write("tokenizer.json", b"{}");
    // So much that nobody copies it before the signal comes; it takes no room here.
    std::fs::File::create(from.join("model.onnx")).unwrap().set_len(2 << 30).unwrap();
    let models = data(&sandbox).join("models");
    let copying = || {
        let name = dots(&models).into_iter().next().unwrap_or_default();
        models.join(name).join("model.onnx").metadata().is_ok_and(|data| data.len() > 0)
    };
    let import = ["model", "import", text(&from), "--name", "large"];
    let child = started(&sandbox, &import);
    until("it copies", copying);
    let run = signalled(child, "-INT");
    assert_eq!(run.status, 5, "{}{}", run.out, run.err);
    assert!(run.err.contains("stopped before it was done"), "{}", run.err);
    assert!(dots(&models).is_empty() && !models.join("large").exists(), "half a model is left");

    let child = started(&sandbox, &import);
    until("it copies", copying);
    signalled(child, "-KILL");
    let listed = sandbox.run(&["model", "list", "--json"]).fails(1).json();
    assert_eq!(listed["models"].as_array().map(Vec::len), Some(0), "{listed}");
    assert_eq!(dots(&models).len(), 1);
    // The next one takes it away.
    std::fs::write(from.join("model.onnx"), "no model").unwrap();
    sandbox.run(&import).fails(5);
    assert!(dots(&models).is_empty(), "{:?}", dots(&models));
}

#[cfg(unix)]
#[test]
fn embedding_that_is_stopped_or_killed_goes_on_where_it_was() {
    let Some((model, runtime)) = real_model() else { return };
    let sandbox = brought(&model, &runtime);
    for at in 0..150 {
        let words = format!("Something else about the number {at}. ").repeat(20);
        sandbox.write(&format!("resources/n{at}.md"), format!("# Number {at}\n\n{words}\n"));
    }
    let embedded = || {
        let status = sandbox.run(&["status", "--json"]).ok().json();
        status["meaning"]["embedded"].as_u64().unwrap_or_else(|| panic!("{status}"))
    };
    let mut before = embedded();
    let store = || {
        let vectors = sandbox.vault().join(".git/runebook/vectors");
        let stores = std::fs::read_dir(vectors).into_iter().flatten().flatten();
        let manifests = stores.filter_map(|store| std::fs::read(store.path().join("manifest")).ok());
        manifests.collect::<Vec<_>>()
    };
    for signal in ["-INT", "-KILL"] {
        let stood = store();
        let child = started(&sandbox, &["reindex"]);
        until("some are written", || store() != stood);
        let run = signalled(child, signal);
        if signal == "-INT" && run.status != 0 {
            assert!(run.status == 5 && run.err.contains("stopped before it was done"), "{}", run.err);
        }
        let now = embedded();
        assert!(now >= before, "{now} of {before}");
        before = now;
        assert_eq!(mode(&sandbox).0, "hybrid");
    }
    sandbox.run(&["reindex"]).ok();
    let status = sandbox.run(&["status", "--json"]).ok().json();
    assert_eq!(
        (&status["meaning"]["embedded"], &status["meaning"]["pending"]),
        (&152.into(), &0.into()),
        "{status}"
    );
}

#[test]
fn status_and_doctor_see_what_find_cannot_use() {
    let Some((model, runtime)) = real_model() else { return };
    let sandbox = brought(&model, &runtime);
    let unusable = |doctor: &serde_json::Value| {
        let mut findings = doctor["findings"].as_array().expect("findings").iter();
        findings.any(|finding| finding["rule"] == "model.unusable")
    };
    let told = |why: &str, next: &str| {
        for verb in ["status", "doctor"] {
            let run = sandbox.run(&[verb]);
            for said in ["search is by words alone", why, next] {
                assert!(run.out.contains(said), "{verb}: {said}: {}{}", run.out, run.err);
            }
        }
        let status = sandbox.run(&["status", "--json"]).ok().json();
        assert!(status["meaning"]["model"].is_null(), "{status}");
        let doctor = sandbox.run(&["doctor", "--json"]).fails(1).json();
        assert!(unusable(&doctor), "{doctor}");
    };
    let whole = || {
        let doctor = sandbox.run(&["doctor", "--json"]).ok().json();
        assert!(!unusable(&doctor), "{doctor}");
        assert!(sandbox.run(&["status"]).ok().out.contains("texts embedded"));
    };
    sandbox.run(&["commit", "-m", "Cats and taxes"]).ok();
    whole();
    for name in ["model.onnx", "tokenizer.json"] {
        let at = data(&sandbox).join("models/e5-small").join(name);
        let good = std::fs::read(&at).unwrap();
        std::fs::write(&at, &good[..good.len() / 2]).unwrap();
        told(name, "--replace");
        std::fs::remove_file(&at).unwrap();
        told(name, "--replace");
        std::fs::write(&at, good).unwrap();
        whole();
    }
    // The library that a person names for one run, and that is none or not there.
    let text_file = sandbox.home().join("no-library.so");
    std::fs::write(&text_file, "text").unwrap();
    for library in [text_file, sandbox.home().join("missing.so")] {
        for verb in ["status", "doctor"] {
            let mut command = sandbox.command(env!("CARGO_BIN_EXE_runebook"));
            let output = command.env("ORT_DYLIB_PATH", &library).arg(verb).output().expect("it runs");
            let run = Run::of(output);
            for said in ["search is by words alone", text(&library), "runebook model runtime PATH"] {
                assert!(run.out.contains(said), "{verb}: {said}: {}{}", run.out, run.err);
            }
        }
    }
}
