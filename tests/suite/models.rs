//! Models: brought, chosen, removed, and what is said where one is missing or broken. With the real model where the
//! machine has it: `RUNEBOOK_TEST_MODEL` names its directory and `RUNEBOOK_TEST_RUNTIME` the library.

use std::path::{Path, PathBuf};

use crate::support::{Run, Sandbox, real_model};

fn models(sandbox: &Sandbox) -> PathBuf {
    sandbox.home().join(".local/share/runebook/models")
}

/// A copy of a model's directory that a test may damage.
fn copy_of(model: &Path, sandbox: &Sandbox) -> PathBuf {
    let to = sandbox.home().join("e5-copy");
    std::fs::create_dir(&to).expect("a directory");
    for name in
        ["model.onnx", "tokenizer.json", "config.json", "special_tokens_map.json", "tokenizer_config.json"]
    {
        std::fs::copy(model.join(name), to.join(name)).expect("a copy");
    }
    to
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// A model's directory that looks like one, with these bytes as the model.
fn hollow(sandbox: &Sandbox, onnx: &[u8]) -> PathBuf {
    let to = sandbox.home().join("hollow");
    std::fs::create_dir(&to).expect("a directory");
    let write = |name: &str, bytes: &[u8]| std::fs::write(to.join(name), bytes).expect("a file");
    write("model.onnx", onnx);
    write("config.json", br#"{"hidden_size": 4, "max_position_embeddings": 64, "pad_token_id": 0}"#);
    write("tokenizer_config.json", br#"{"model_max_length": 64, "pad_token": "[PAD]"}"#);
    write("special_tokens_map.json", b"{}");
    write("tokenizer.json", b"{}");
    to
}

fn nothing_is_left(sandbox: &Sandbox) {
    let left = std::fs::read_dir(models(sandbox)).map(|found| {
        found.map(|entry| entry.expect("an entry").file_name()).filter(|name| name != ".lock").count()
    });
    assert_eq!(left.unwrap_or(0), 0, "half an import is left");
}

#[test]
fn without_anything_the_list_says_what_to_do() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["model", "list"]).fails(1);
    assert!(run.out.contains("search is by words alone: no model (none is installed)"), "{}", run.out);
    assert!(run.err.contains("scripts/fetch-model") && run.err.contains("model import"), "{}", run.err);
    let listed = sandbox.run(&["model", "list", "--json"]).fails(1).json();
    assert_eq!(listed["models"].as_array().map(Vec::len), Some(0));
    assert!(listed["used"].is_null());
}

#[test]
fn what_is_no_library_is_refused_and_changes_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write("text.so", "not a library");
    let run = sandbox.run(&["model", "runtime", "text.so"]).fails(5);
    assert!(run.err.contains("text.so is no model runtime (ONNX Runtime)"), "{}", run.err);
    assert!(run.err.contains("hint: "), "{}", run.err);
    sandbox.run(&["model", "runtime", "nowhere.so"]).fails(2);
    sandbox.run(&["model", "runtime", "."]).fails(2);
    assert!(!sandbox.home().join(".local/share/runebook/runtime").exists());
}

#[test]
fn a_directory_that_holds_no_model_is_refused() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["model", "import", "."]).fails(2);
    assert!(run.err.contains("model.onnx is missing"), "{}", run.err);
    let hollow = hollow(&sandbox, b"no model");
    let run = sandbox.run(&["model", "import", text(&hollow)]);
    assert_eq!(run.status, 5, "{}{}", run.out, run.err);
    nothing_is_left(&sandbox);
}

#[test]
fn a_name_is_a_name() {
    let sandbox = Sandbox::new();
    for name in ["../x", "/etc", "A", "", "x/y"] {
        let run = sandbox.run(&["model", "use", name, "--global"]).fails(2);
        assert!(run.err.contains("is no name of a model"), "{name}: {}", run.err);
    }
    sandbox.run(&["model", "remove", "nope"]).fails(2);
    sandbox.run(&["model", "use", "nope", "--global"]).fails(2);
    let run = sandbox.run(&["model", "install", "nope"]).fails(2);
    assert!(run.err.contains("multilingual-e5-small"), "{}", run.err);
}

#[test]
fn a_vault_can_only_say_a_name_and_nothing_is_loaded_for_it() {
    let sandbox = Sandbox::new();
    sandbox.run(&["init"]).ok();
    let outside = hollow(&sandbox, b"no model");
    std::fs::write(outside.join("model.yaml"), "name: x\ndimensions: 4\nmax_tokens: 64\n").expect("a file");
    let config = sandbox.read(".runebook/config.yaml");
    for said in ["../../hollow", text(&outside), "https://example.org/model", "hollow"] {
        sandbox.write(".runebook/config.yaml", format!("{config}\nmodel: {said:?}\n"));
        let run = sandbox.run(&["model", "list"]).fails(1);
        assert!(run.out.contains("search is by words alone: no model ("), "{said}: {}", run.out);
        assert!(run.out.contains(".runebook/config.yaml"), "{said}: {}", run.out);
        sandbox.run(&["find", "anything"]).fails(1);
    }
    assert!(!models(&sandbox).exists());
}

#[test]
fn the_choice_of_a_vault_is_an_edit_of_one_line_by_a_person() {
    let sandbox = Sandbox::new();
    sandbox.run(&["init"]).ok();
    let before = sandbox.read(".runebook/config.yaml");
    let run = sandbox.run(&["model", "use", "e5-small"]).ok();
    assert!(run.err.contains("not installed on this machine"), "{}", run.err);
    assert_eq!(sandbox.read(".runebook/config.yaml"), format!("{before}model: e5-small\n"));
    sandbox.run(&["model", "use", "none"]).ok();
    assert_eq!(sandbox.read(".runebook/config.yaml"), format!("{before}model: none\n"));
    let run = sandbox.run(&["model", "list"]).fails(1);
    assert!(run.out.contains("switched off by .runebook/config.yaml"), "{}", run.out);
    sandbox.run(&["actor", "add", "bot", "--kind", "agent", "--family", "claude"]).ok();
    sandbox.run_as("bot", &["model", "use", "e5-small"]).fails(4);
    assert_eq!(sandbox.read(".runebook/config.yaml"), format!("{before}model: none\n"));
}

/// The sandbox with the model and the runtime in it.
fn brought(model: &Path, runtime: &Path) -> (Sandbox, Run) {
    let sandbox = Sandbox::new();
    let args = ["model", "import", text(model), "--name", "e5-small", "--runtime", text(runtime), "--json"];
    let run = sandbox.run(&args).ok();
    (sandbox, run)
}

#[test]
fn a_model_is_brought_listed_chosen_and_removed() {
    let Some((model, runtime)) = real_model() else { return };
    let (sandbox, run) = brought(&model, &runtime);
    let imported = run.json();
    assert_eq!(imported["dimensions"], 384);
    assert_eq!(imported["languages"], serde_json::json!(["en", "zh"]));
    assert_eq!(imported["is_default"], true);
    assert_eq!(imported["unchanged"], false);
    let listed = sandbox.run(&["model", "list", "--json"]).ok().json();
    assert_eq!(listed["used"], "e5-small");
    assert_eq!(listed["chosen_by"], "person");
    assert!(
        listed["runtime"]["version"].as_str().is_some_and(|version| version.starts_with("1.")),
        "{listed}"
    );
    assert_eq!(listed["models"][0]["fingerprint"], imported["fingerprint"]);
    // A second time nothing changes; under another name it is the same model; a third one is in the way.
    let again = sandbox.run(&["model", "import", text(&model), "--name", "e5-small", "--json"]).ok().json();
    assert_eq!(again["unchanged"], true);
    let twin = sandbox.run(&["model", "import", text(&model), "--name", "e5-twin", "--json"]).ok().json();
    assert_eq!(twin["fingerprint"], imported["fingerprint"]);
    assert_eq!(twin["is_default"], false);
    let other = ["model", "import", text(&model), "--name", "e5-small", "--query-prefix", "q: "];
    sandbox.run(&other).fails(3);
    let changed = sandbox.run(&[&other[..], &["--replace", "--json"]].concat()).ok().json();
    assert_ne!(changed["fingerprint"], imported["fingerprint"]);
    let removed = sandbox.run(&["model", "remove", "e5-small", "--json"]).ok().json();
    assert_eq!(removed["was_default"], true);
    let run = sandbox.run(&["model", "list"]).ok();
    assert!(run.out.contains("none is chosen"), "{}", run.out);
    sandbox.run(&["model", "use", "e5-twin", "--global"]).ok();
    assert_eq!(sandbox.run(&["model", "list", "--json"]).ok().json()["used"], "e5-twin");
}

#[test]
fn a_damaged_model_is_refused_at_import_and_noticed_afterwards() {
    let Some((model, runtime)) = real_model() else { return };
    let (sandbox, _) = brought(&model, &runtime);
    let copy = copy_of(&model, &sandbox);
    let import = ["model", "import", text(&copy), "--name", "other"];
    // Half of it came down.
    let whole = std::fs::read(model.join("model.onnx")).expect("the model");
    std::fs::write(copy.join("model.onnx"), &whole[..whole.len() / 2]).expect("half a file");
    let run = sandbox.run(&import).fails(5);
    assert!(run.err.contains(text(&copy)) && !run.err.contains(".new-"), "{}", run.err);
    // It is described, and is not what is described.
    std::fs::write(copy.join("model.onnx"), &whole).expect("a file");
    let described =
        std::fs::read_to_string(models(&sandbox).join("e5-small/model.yaml")).expect("a description");
    std::fs::write(copy.join("model.yaml"), &described).expect("a file");
    std::fs::write(copy.join("config.json"), b"{}").expect("a file");
    let run = sandbox.run(&import).fails(5);
    assert!(run.err.contains("config.json is not the file that model.yaml describes"), "{}", run.err);
    // Other dimensions than it says.
    let copied = copy.join("config.json");
    std::fs::copy(model.join("config.json"), copied).expect("a copy");
    std::fs::write(copy.join("model.yaml"), described.replace("dimensions: 384", "dimensions: 512"))
        .expect("a file");
    let run = sandbox.run(&import).fails(5);
    assert!(run.err.contains("vectors of 384 dimensions, but its description says 512"), "{}", run.err);
    assert!(run.err.contains("mend `dimensions`") && !run.err.contains("--replace"), "{}", run.err);
    assert!(!models(&sandbox).join("other").exists());
    // Damaged where it stands: cut short is seen by its size.
    std::fs::write(models(&sandbox).join("e5-small/model.onnx"), &whole[..1000]).expect("a file");
    let run = sandbox.run(&["model", "list"]).ok();
    assert!(run.out.contains("it has 1000 bytes instead of"), "{}", run.out);
}
