//! Collections as BEIR lays them out: `corpus.jsonl`, `queries.jsonl`, `qrels/test.tsv`.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use runebook::flow::eval::metrics::Relevant;
use serde_json::Value;

use crate::eval::{Collection, Memory, Question};
use crate::support::Result;

/// Reads a collection. A document is a memory with its title in the front matter. A grade below 0 takes the document out
/// of what is measured.
pub(crate) fn read(name: &str, dir: &Path) -> Result<Collection> {
    let mut memories = Vec::new();
    let mut paths = HashMap::new();
    for document in lines(&dir.join("corpus.jsonl"))? {
        let (id, title, text) =
            (field(&document, "_id"), field(&document, "title"), field(&document, "text"));
        // Names that tell nothing, some hundred in a directory.
        let number = memories.len();
        let path = format!("resources/{:02}/{number:05}.md", number / 100);
        let title: Vec<&str> = title.split_whitespace().collect();
        let head = if title.is_empty() {
            String::new()
        } else {
            format!("---\ntitle: {}\n---\n", Value::from(title.join(" ")))
        };
        memories.push(Memory { path: path.clone(), text: format!("{head}{text}\n") });
        paths.insert(id, path);
    }
    let mut relevant: HashMap<String, Relevant> = HashMap::new();
    let mut ignored: HashMap<String, HashSet<String>> = HashMap::new();
    let qrels = std::fs::read_to_string(dir.join("qrels/test.tsv"))?;
    for line in qrels.lines().skip(1) {
        let [question, document, grade] = line.split('\t').collect::<Vec<_>>()[..] else { continue };
        let Some(path) = paths.get(document).cloned() else { continue };
        let (question, grade) = (question.to_owned(), grade.trim());
        if let Ok(grade) = grade.parse() {
            relevant.entry(question).or_default().insert(path, grade);
        } else if grade.starts_with('-') {
            ignored.entry(question).or_default().insert(path);
        }
    }
    let mut questions = Vec::new();
    for question in lines(&dir.join("queries.jsonl"))? {
        let id = field(&question, "_id");
        let Some(relevant) = relevant.remove(&id) else { continue };
        let text = field(&question, "text");
        let ignored = ignored.remove(&id).unwrap_or_default();
        questions.push(Question { id, text, relevant, ignored, kind: None });
    }
    Ok(Collection { name: name.to_owned(), memories, questions })
}

/// Reads a collection whose questions tell their kind by the first two parts of their names: `en-zh-…`.
pub(crate) fn read_by_kind(name: &str, dir: &Path) -> Result<Collection> {
    let mut collection = read(name, dir)?;
    for question in &mut collection.questions {
        question.kind = Some(question.id.split('-').take(2).collect::<Vec<_>>().join("-"));
    }
    Ok(collection)
}

fn lines(path: &Path) -> Result<Vec<Value>> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(text.lines().map(serde_json::from_str).collect::<std::result::Result<_, _>>()?)
}

fn field(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_default().to_owned()
}
