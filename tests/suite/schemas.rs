//! The files in `schema/` say what the Rust types say.

use std::path::Path;

use runebook::flow::schema;

#[test]
fn files_equal_the_types() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema");
    let regenerate = std::env::var_os("RUNEBOOK_REGENERATE").is_some();
    if regenerate {
        std::fs::create_dir_all(&directory).expect("a directory");
    }
    let mut expected = Vec::new();
    let mut stale = Vec::new();
    for (name, value) in schema::all() {
        let text = format!("{}\n", serde_json::to_string_pretty(&value).expect("JSON"));
        let file = directory.join(format!("{name}.json"));
        expected.push(format!("{name}.json"));
        if std::fs::read_to_string(&file).ok().as_deref() != Some(text.as_str()) {
            stale.push(name);
            if regenerate {
                std::fs::write(&file, text).expect("a file");
            }
        }
    }
    let present =
        std::fs::read_dir(&directory).expect("schema/").map(|entry| entry.expect("an entry").file_name());
    for name in
        present.map(|name| name.to_string_lossy().into_owned()).filter(|name| !expected.contains(name))
    {
        if regenerate {
            std::fs::remove_file(directory.join(&name)).expect("removed");
        }
        stale.push("a file without a type");
    }
    let hint = "run this test once with RUNEBOOK_REGENERATE=1 and commit schema/";
    assert!(regenerate || stale.is_empty(), "schema/ differs in {stale:?}: {hint}");
}

#[test]
fn every_schema_is_valid_and_of_the_draft() {
    for (name, value) in schema::all() {
        assert_eq!(value["$schema"], "https://json-schema.org/draft/2020-12/schema", "{name}");
        jsonschema::meta::validate(&value).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn the_memory_schema_tells_good_from_bad() {
    let all = schema::all();
    let (_, memory) = all.iter().find(|(name, _)| *name == "memory").expect("memory");
    let validator = jsonschema::validator_for(memory).expect("a schema");
    let good = serde_json::json!({
        "id": "01JDM3Z8Q6W5T9V2R4K7X1B0CE", "type": "semantic", "title": "Prefers window seats",
        "created": "2026-11-29T10:00:00+08:00", "occurred": "2026-11-28", "source": "user_message",
        "confidence": 0.92, "importance": 0.7, "supersedes": "[[seats-2024]]", "conflicts_with": [],
        "tags": ["travel"], "value": {"seat": "window"}, "value_evidence": {"seat": "e1"}, "theirs": [1, 2],
    });
    assert!(
        validator.is_valid(&good),
        "{:?}",
        validator.iter_errors(&good).map(|e| e.to_string()).collect::<Vec<_>>()
    );
    for (key, bad) in [
        ("type", serde_json::json!("book")),
        ("confidence", serde_json::json!(1.5)),
        ("importance", serde_json::json!("high")),
        ("sensitivity", serde_json::json!("secret")),
        ("created", serde_json::json!("yesterday")),
        ("id", serde_json::json!("12")),
        ("status", serde_json::json!("done")),
    ] {
        let mut value = good.clone();
        value[key] = bad;
        assert!(!validator.is_valid(&value), "{key}");
    }
}
