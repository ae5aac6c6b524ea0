//! The L1 of a file: its outline with the lead of each section.

use super::OVERVIEW_TOKENS;
use super::extract::{budget, cost};
use super::leaf::{file_abstract, head};
use super::sentences::sentences;
use crate::markdown::prose::{Part, one_line};
use crate::markdown::tokens::is_cjk;
use crate::model::memory::Memory;

/// The most tokens of the lead of one section.
const LEAD: u32 = 60;

/// The most characters of a title.
const TITLE: usize = 200;

struct Section {
    level: u8,
    title: String,
    lead: String,
}

/// The outline of a memory as Markdown: the title, the abstract, the headings as a list, each with the first sentences
/// of its section.
#[must_use]
pub fn outline(memory: &Memory) -> String {
    let l0 = file_abstract(memory);
    let title: String = one_line(&memory.title).chars().take(TITLE).collect();
    let mut out = format!("# {title}\n");
    if !l0.is_empty() {
        out.push_str(&format!("\n{}\n", l0));
    }
    let sections = sections(memory, &l0);
    if sections.is_empty() {
        return out;
    }
    out.push('\n');
    let chinese = l0.chars().chain(memory.title.chars()).any(is_cjk);
    // The last line, which says how many are not shown, always fits.
    let room = budget(OVERVIEW_TOKENS).saturating_sub(cost(&out) + budget(16));
    let top = sections.iter().map(|section| section.level).min().unwrap_or(1);
    let rows: Vec<(String, &str)> = sections
        .iter()
        .map(|s| (format!("{}- {}", "  ".repeat(usize::from(s.level - top)), s.title), s.lead.as_str()))
        .collect();
    let fitted = super::rows::fit(&rows, ": ", room);
    for row in &fitted {
        out.push_str(row);
        out.push('\n');
    }
    if fitted.len() < rows.len() {
        let more = rows.len() - fitted.len();
        out.push_str(&if chinese {
            format!("- … 另有 {more} 节\n")
        } else {
            format!("- … and {more} more\n")
        });
    }
    out
}

/// The sections behind the title, each with its lead: what the abstract has said already is not said again.
fn sections(memory: &Memory, said: &str) -> Vec<Section> {
    let (found, _) = head(memory);
    let mut out: Vec<Section> = Vec::new();
    for passage in found {
        match passage.part {
            Part::Heading(1) if passage.text == one_line(&memory.title) && out.is_empty() => {}
            Part::Heading(level) => {
                let title: String = passage.text.chars().take(120).collect();
                out.push(Section { level, title, lead: String::new() });
            }
            _ => {
                let Some(section) = out.last_mut().filter(|section| section.lead.is_empty()) else {
                    continue;
                };
                section.lead = lead(&passage.text, said);
            }
        }
    }
    out
}

/// The first sentences of a passage that fit.
fn lead(text: &str, said: &str) -> String {
    let mut left = budget(LEAD);
    let mut kept = Vec::new();
    // What only leads to a list says nothing without it.
    for sentence in sentences(text).into_iter().take(2).filter(|text| !text.ends_with([':', '：'])) {
        match left.checked_sub(cost(sentence) + 4) {
            Some(less) if !said.contains(sentence) => left = less,
            Some(_) => continue,
            None => break,
        }
        kept.push(sentence);
    }
    super::extract::join(kept)
}
