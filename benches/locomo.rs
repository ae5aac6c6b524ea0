//! LoCoMo (Maharana and others, "Evaluating Very Long-Term Conversational Memory of LLM Agents", 2024): conversations
//! of many sessions, and questions whose evidence are turns. A conversation is a vault, a session a directory, a turn
//! an episodic memory. Asked are the categories 1 to 4; in the fifth nothing is to be found.

use std::collections::HashSet;
use std::path::Path;

use serde_json::Value;

use crate::eval::{Collection, Memory, Question};
use crate::support::Result;

const KINDS: [&str; 4] = ["1 multi", "2 time", "3 open", "4 one"];

/// Reads all conversations.
pub(crate) fn read(file: &Path) -> Result<Vec<Collection>> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let all: Vec<Value> = serde_json::from_str(&text)?;
    all.iter().map(conversation).collect()
}

fn path(session: u32, turn: u32) -> String {
    format!("user/memories/events/session-{session:02}/turn-{turn:03}.md")
}

fn conversation(sample: &Value) -> Result<Collection> {
    let id = sample["sample_id"].as_str().unwrap_or_default();
    let talk = &sample["conversation"];
    let mut memories = Vec::new();
    for session in 1.. {
        let Some(turns) = talk[format!("session_{session}")].as_array() else { break };
        let day = day(talk[format!("session_{session}_date_time")].as_str().unwrap_or_default());
        for (at, turn) in turns.iter().enumerate() {
            let field = |name: &str| turn[name].as_str().unwrap_or_default().trim().to_owned();
            let (speaker, mut said) = (field("speaker"), field("text"));
            let seen = field("blip_caption");
            if !seen.is_empty() {
                said.push_str(&format!("\n\n[shares a photo: {seen}]"));
            }
            let (_, number) = turn_id(&field("dia_id")).unwrap_or((session, at as u32 + 1));
            let date = day.as_ref().map(|day| format!("occurred: {day}\n")).unwrap_or_default();
            let text = format!("---\ntype: episodic\n{date}---\n{speaker}: {said}\n");
            memories.push(Memory { path: path(session, number), text });
        }
    }
    let mut questions = Vec::new();
    for (at, asked) in sample["qa"].as_array().into_iter().flatten().enumerate() {
        let category = asked["category"].as_u64().unwrap_or(0);
        let Some(kind) = category.checked_sub(1).and_then(|at| KINDS.get(at as usize)) else { continue };
        let listed = asked["evidence"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let turns =
            listed.flat_map(|text| text.split([';', ' ', ',']).filter_map(turn_id).collect::<Vec<_>>());
        let relevant: runebook::flow::eval::metrics::Relevant =
            turns.map(|(session, turn)| (path(session, turn), 1)).collect();
        if !relevant.is_empty() {
            let text = asked["question"].as_str().unwrap_or_default().to_owned();
            questions.push(Question {
                id: format!("{id}-{at}"),
                text,
                relevant,
                ignored: HashSet::new(),
                kind: Some((*kind).to_owned()),
            });
        }
    }
    Ok(Collection { name: format!("locomo-{id}"), memories, questions })
}

/// `D12:3` as session and turn.
fn turn_id(text: &str) -> Option<(u32, u32)> {
    let (session, turn) = text.trim().trim_start_matches('D').trim_start_matches(':').split_once(':')?;
    Some((session.parse().ok()?, turn.parse().ok()?))
}

/// `1:56 pm on 8 May, 2023` as `2023-05-08`.
fn day(text: &str) -> Option<String> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (_, date) = text.split_once(" on ")?;
    let mut parts = date.split([' ', ',']).filter(|part| !part.is_empty());
    let day: u32 = parts.next()?.parse().ok()?;
    let name = parts.next()?;
    let month = MONTHS.iter().position(|month| name.starts_with(month))? + 1;
    let year: u32 = parts.next()?.parse().ok()?;
    Some(format!("{year}-{month:02}-{day:02}"))
}
