//! The one estimate of tokens that is used everywhere.

/// How many tokens a text has, about: a character of Chinese, Japanese or Korean counts as one, four of any other
/// script as one, rounded up; white space counts nothing by itself beyond one a run.
///
/// Common tokenizers give a CJK character 0.7 to 1.0 tokens and an English one 0.22 to 0.25, so the estimate is on
/// the safe side for both.
#[must_use]
pub fn estimate(text: &str) -> u32 {
    let quarters = text.chars().fold(0u64, |sum, c| sum + u64::from(quarters(c)));
    u32::try_from(quarters.div_ceil(4)).unwrap_or(u32::MAX)
}

/// The weight of one character in quarters of a token.
#[must_use]
pub fn quarters(c: char) -> u32 {
    if is_cjk(c) { 4 } else { 1 }
}

/// Whether a character is Chinese, Japanese or Korean, their punctuation and full-width forms included.
#[must_use]
pub fn is_cjk(c: char) -> bool {
    matches!(c, '\u{1100}'..='\u{11FF}' | '\u{2E80}'..='\u{9FFF}' | '\u{A960}'..='\u{A97F}'
        | '\u{AC00}'..='\u{D7FF}' | '\u{F900}'..='\u{FAFF}' | '\u{FE30}'..='\u{FE4F}' | '\u{FF00}'..='\u{FFEF}'
        | '\u{20000}'..='\u{3FFFF}')
}
