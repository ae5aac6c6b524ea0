//! With the real model, where the machine has it: `RUNEBOOK_TEST_MODEL` names its directory, `RUNEBOOK_TEST_RUNTIME`
//! the library.

use std::path::{Path, PathBuf};

use super::*;
use crate::model::embedding::{Description, FILES, Prefixes};

/// The model as it is described for the tests; none, with a message, where the machine has it not.
fn real() -> Option<(ModelDir, Runtime)> {
    let named = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/models/e5-small-q4");
    let path = named("RUNEBOOK_TEST_MODEL").unwrap_or(shared);
    let library = named("RUNEBOOK_TEST_RUNTIME").filter(|path| path.is_file());
    let (Some(library), true) = (library, path.join("model.onnx").is_file()) else {
        eprintln!("skipped: no model and runtime (RUNEBOOK_TEST_MODEL, RUNEBOOK_TEST_RUNTIME)");
        return None;
    };
    let hash = |name: &&str| ((*name).to_owned(), hash_of(&std::fs::read(path.join(name)).expect("a file")));
    let description = Description {
        name: "e5-small".parse().expect("a name"),
        dimensions: 384,
        pooling: Pooling::Mean,
        prefixes: Prefixes { query: "query: ".to_owned(), passage: "passage: ".to_owned() },
        max_tokens: 512,
        languages: Vec::new(),
        source: String::new(),
        licence: String::new(),
        files: FILES.iter().map(hash).collect(),
    };
    Some((ModelDir { path, description }, Runtime { files: vec![library], names: Vec::new() }))
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[test]
fn texts_of_one_meaning_are_near_in_both_languages() {
    let Some((directory, runtime)) = real() else { return };
    let mut model = Embedder::open(&directory, &runtime, NonZeroUsize::MIN).expect("the model opens");
    let question = model.query("Where does the user like to sit on a plane?").expect("a vector");
    let texts =
        ["用户坐飞机时喜欢靠窗的座位。", "今年的税率提高了百分之二。", "Window seats on long flights."];
    let found = model.passages(&texts).expect("vectors");
    assert!(cosine(&question, &found[0]) > cosine(&question, &found[1]));
    assert!(cosine(&question, &found[2]) > cosine(&question, &found[1]));
}

#[test]
fn the_same_text_gives_the_same_bits_whatever_stood_beside_it() {
    let Some((directory, runtime)) = real() else { return };
    let mut model = Embedder::open(&directory, &runtime, NonZeroUsize::MIN).expect("the model opens");
    let alone = model.passages(&["Window seats 靠窗"]).expect("a vector");
    let long = "another text ".repeat(50);
    let beside = model.passages(&[&long, "Window seats 靠窗", ""]).expect("vectors");
    assert_eq!(alone[0], beside[1]);
    drop(model);
    let mut again = Embedder::open(&directory, &runtime, NonZeroUsize::MIN).expect("the model opens again");
    assert_eq!(again.passages(&["Window seats 靠窗"]).expect("a vector"), alone);
}

#[test]
fn odd_texts_have_vectors_of_length_one() {
    let Some((directory, runtime)) = real() else { return };
    let mut model = Embedder::open(&directory, &runtime, NonZeroUsize::MIN).expect("the model opens");
    let (latin, han) = ("word ".repeat(20_000), "汉字".repeat(20_000));
    let (spaces, one) = (" ".repeat(100_000), "a".repeat(100_000));
    let texts = ["", " \n\t", "👩‍💻🧑🏽‍🚀", "\u{0}\u{202e}", "മലയാളം", &latin, &han, &spaces, &one];
    for text in texts {
        let vector = model.query(text).expect("a vector");
        assert!((cosine(&vector, &vector) - 1.0).abs() < 1e-3, "{:?}", text.get(..20));
    }
    // What is cut away cannot tell.
    let longer = format!("{latin}and an end that is beyond the limit");
    assert_eq!(model.query(&latin).expect("a vector"), model.query(&longer).expect("a vector"));
}

#[test]
fn tokens_are_counted_up_to_the_limit() {
    let Some((directory, runtime)) = real() else { return };
    let model = Embedder::open(&directory, &runtime, NonZeroUsize::MIN).expect("the model opens");
    let count = |text: &str| model.count_tokens(text).expect("a number");
    // `passage`, `:`, the word, and the marks of beginning and end.
    let one = count("word");
    assert!((4..=6).contains(&one), "{one}");
    assert_eq!(count("word word"), one + 1);
    assert_eq!(count(&vec!["word"; 400].join(" ")), one + 399);
    assert!(count(&"word ".repeat(1000)) > 512);
    assert!(count("今天天气很好") <= one + 6);
}

#[test]
fn a_lazy_model_comes_and_goes() {
    let Some((directory, runtime)) = real() else { return };
    let mut lazy = Lazy::new(directory, runtime, NonZeroUsize::MIN);
    assert!(!lazy.is_loaded());
    let before = lazy.get().expect("the model opens").query("x").expect("a vector");
    assert!(lazy.is_loaded());
    assert!(!lazy.unload_if_idle(std::time::Duration::from_secs(3600)));
    assert!(lazy.unload_if_idle(std::time::Duration::ZERO));
    assert!(!lazy.is_loaded() && !lazy.unload_if_idle(std::time::Duration::ZERO));
    assert_eq!(lazy.get().expect("the model opens again").query("x").expect("a vector"), before);
}

#[test]
fn what_is_not_what_was_imported_is_an_error() {
    let Some((mut directory, runtime)) = real() else { return };
    let whole = directory.clone();
    let mut fails = |change: &dyn Fn(&mut ModelDir)| {
        directory = whole.clone();
        change(&mut directory);
        let opened = Embedder::open(&directory, &runtime, NonZeroUsize::MIN);
        match opened.and_then(|mut model| model.query("x")) {
            Ok(_) => panic!("it was taken"),
            Err(error) => error.to_string(),
        }
    };
    assert!(fails(&|d| drop(d.description.files.remove("model.onnx"))).contains("does not name it"));
    let file = |d: &mut ModelDir, change: fn(&mut crate::model::embedding::ModelFile)| {
        d.description.files.get_mut("model.onnx").into_iter().for_each(change);
    };
    assert!(fails(&|d| file(d, |f| f.sha256.replace_range(..1, "x"))).contains("SHA-256"));
    assert!(fails(&|d| file(d, |f| f.bytes += 1)).contains("bytes instead of"));
    assert!(fails(&|d| d.path = PathBuf::from("/nowhere")).contains("/nowhere"));
    assert!(
        fails(&|d| d.description.dimensions = 512).contains("384 dimensions, but its description says 512")
    );
}
