//! Collections as BEIR lays them out: `corpus.jsonl`, `queries.jsonl`, `qrels/test.tsv`.

use std::collections::HashMap;
use std::path::Path;

use serde_json::Value;

use crate::eval::{Collection, Memory, Question};
use crate::support::Result;

/// Reads a collection. A document is a memory with its title in the front matter.
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
    let mut relevant: HashMap<String, HashMap<String, u32>> = HashMap::new();
    let qrels = std::fs::read_to_string(dir.join("qrels/test.tsv"))?;
    for line in qrels.lines().skip(1) {
        let [question, document, grade] = line.split('\t').collect::<Vec<_>>()[..] else { continue };
        if let (Some(path), Ok(grade)) = (paths.get(document), grade.trim().parse()) {
            relevant.entry(question.to_owned()).or_default().insert(path.clone(), grade);
        }
    }
    let mut questions = Vec::new();
    for question in lines(&dir.join("queries.jsonl"))? {
        let id = field(&question, "_id");
        let Some(relevant) = relevant.remove(&id) else { continue };
        let text = field(&question, "text");
        questions.push(Question { id, text, relevant: relevant.into_iter().collect(), kind: None });
    }
    Ok(Collection { name: name.to_owned(), memories, questions })
}

fn lines(path: &Path) -> Result<Vec<Value>> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(text.lines().map(serde_json::from_str).collect::<std::result::Result<_, _>>()?)
}

fn field(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_default().to_owned()
}
