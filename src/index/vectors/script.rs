//! In which script a text is written, roughly: a model of several languages puts texts of one language near each
//! other, whatever they say, so candidates are compared within a script.

use crate::markdown::tokens::is_cjk;

/// The main script of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Script {
    /// Latin, and whatever else is written with spaces between words.
    Latin,
    /// Chinese, Japanese, Korean.
    Cjk,
}

impl Script {
    /// All scripts, in the order of their numbers.
    pub const ALL: [Script; 2] = [Script::Latin, Script::Cjk];

    /// The script of a text: a CJK character says about as much as three letters do.
    #[must_use]
    pub fn of(text: &str) -> Script {
        let (mut cjk, mut letters) = (0u64, 0u64);
        for c in text.chars() {
            if is_cjk(c) {
                cjk += u64::from(c.is_alphanumeric());
            } else {
                letters += u64::from(c.is_alphabetic());
            }
        }
        if cjk > 0 && cjk * 3 >= letters { Script::Cjk } else { Script::Latin }
    }

    /// Its number, by which lists of something by script are indexed.
    #[must_use]
    pub fn index(self) -> usize {
        self as usize
    }

    pub(super) fn from_code(code: u8) -> Script {
        if code == 1 { Script::Cjk } else { Script::Latin }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_main_script_of_a_text() {
        assert_eq!(Script::of("Prefers window seats"), Script::Latin);
        assert_eq!(Script::of("喜欢靠窗的座位"), Script::Cjk);
        assert_eq!(Script::of("用 kubectl apply 部署到集群，再看日志"), Script::Cjk);
        assert_eq!(Script::of("The Chinese for window seat is 靠窗, as in many notes here"), Script::Latin);
        assert_eq!(Script::of("，。！"), Script::Latin);
        assert_eq!(Script::of(""), Script::Latin);
    }
}
