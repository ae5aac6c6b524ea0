//! `secret`: keys, tokens and passwords in well-known forms.
//!
//! Two passes, both linear: one over the bytes for the short marks that every form has (one automaton for all),
//! then the full expression only for forms whose mark was seen. A finding never shows more of a secret than the
//! public prefix that names its kind.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::bytes::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};

use super::runner::{Sink, Subject};
use super::{Case, Check};
use crate::model::finding::Severity;

const fn case(name: &'static str, severity: Severity, about: &'static str) -> Case {
    Case { name, severity, standing: severity, about }
}

pub(super) static CHECK: Check = Check {
    name: "secret",
    about: "keys, tokens and passwords in well-known forms",
    cases: &[
        case("aws-key", Severity::Error, "an access key of Amazon Web Services"),
        case("azure-key", Severity::Error, "an account key of Azure"),
        case("github-token", Severity::Error, "a token of GitHub"),
        case("gitlab-token", Severity::Error, "a token of GitLab"),
        case("slack-token", Severity::Error, "a token or webhook of Slack"),
        case("stripe-key", Severity::Error, "a live key of Stripe"),
        case("google-key", Severity::Error, "a key of Google's APIs"),
        case("openai-key", Severity::Error, "a key of OpenAI or of a service that uses its form"),
        case("anthropic-key", Severity::Error, "a key of Anthropic"),
        case("registry-token", Severity::Error, "a token of npm, PyPI, Docker, Hugging Face or crates.io"),
        case("telegram-token", Severity::Error, "the token of a Telegram bot"),
        case("mail-key", Severity::Error, "a key of SendGrid"),
        case("private-key", Severity::Error, "a private key"),
        case("url-password", Severity::Error, "a password in an address"),
        case("jwt", Severity::Person, "a signed web token"),
        case("password", Severity::Person, "something that looks like a password beside that word"),
    ],
    of_blobs: true,
    run,
};

/// One form of secret.
struct Form {
    case: &'static str,
    /// What it is, with its article.
    what: &'static str,
    /// What every secret of the form has in it; short, so that all marks fit one small automaton.
    mark: &'static str,
    /// The form. Group 1, where there is one, is the secret itself. No expression ends in an unbounded repetition
    /// with a condition behind it, so that looking for all matches stays linear.
    form: &'static str,
    /// How many of its first characters are a public prefix.
    public: usize,
}

const fn form(
    case: &'static str,
    what: &'static str,
    mark: &'static str,
    form: &'static str,
    public: usize,
) -> Form {
    Form { case, what, mark, form, public }
}

static FORMS: &[Form] = &[
    form(
        "aws-key",
        "an AWS access key id",
        "(?:AKIA|ASIA|ABIA|ACCA)",
        r"\b((?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16})\b",
        4,
    ),
    form(
        "aws-key",
        "an AWS secret access key",
        "(?i:secret_?access_?key|aws_?secret)",
        r#"(?i:secret_?access_?key|aws_?secret(?:_?key)?)["']?[ \t]{0,8}[:=][ \t]{0,8}["']?([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|\z)"#,
        0,
    ),
    form("azure-key", "an Azure account key", "Account[Kk]ey=", r"Account[Kk]ey=([A-Za-z0-9+/]{86}==)", 0),
    form("azure-key", "an Azure access key", "SharedAccessKey=", r"SharedAccessKey=([A-Za-z0-9+/]{43}=)", 0),
    form("github-token", "a GitHub token", "gh[pousr]_", r"\b(gh[pousr]_[A-Za-z0-9]{36,})", 4),
    form("github-token", "a GitHub token", "github_pat_", r"\b(github_pat_[A-Za-z0-9_]{36,})", 11),
    form(
        "gitlab-token",
        "a GitLab token",
        "gl(?:pat|dt|rt|ptt|soat|cbt)-",
        r"\b(gl(?:pat|dt|rt|ptt|soat|cbt)-[A-Za-z0-9_-]{20,})",
        4,
    ),
    form("slack-token", "a Slack token", "xox[a-z]-", r"\b(xox[abceoprs]-[A-Za-z0-9-]{10,})", 5),
    form("slack-token", "a Slack token", "xapp-", r"\b(xapp-[0-9]-[A-Za-z0-9-]{20,})", 5),
    form(
        "slack-token",
        "a Slack webhook",
        r"hooks\.slack\.com",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9+/]{30,})",
        0,
    ),
    form("stripe-key", "a Stripe live key", "[sr]k_live_", r"\b([sr]k_live_[A-Za-z0-9]{16,})", 8),
    form("stripe-key", "a Stripe webhook secret", "whsec_", r"\b(whsec_[A-Za-z0-9+/]{24,})", 6),
    form("google-key", "a Google API key", "AIza", r"\b(AIza[A-Za-z0-9_-]{35})", 4),
    form("google-key", "a Google client secret", "GOCSPX-", r"\b(GOCSPX-[A-Za-z0-9_-]{28})", 7),
    form(
        "openai-key",
        "an API key",
        "sk-[A-Za-z0-9]",
        r"\b(sk-(?:proj-|svcacct-|admin-|or-v1-)[A-Za-z0-9_-]{20,})",
        3,
    ),
    form("openai-key", "an API key", "sk-[A-Za-z0-9]", r"\b(sk-[A-Za-z0-9]{32,})", 3),
    form("anthropic-key", "an Anthropic API key", "sk-ant-", r"\b(sk-ant-[A-Za-z0-9_-]{20,})", 7),
    form("registry-token", "an npm token", "npm_", r"\b(npm_[A-Za-z0-9]{36,})", 4),
    form("registry-token", "a PyPI token", "pypi-", r"\b(pypi-[A-Za-z0-9_-]{50,})", 5),
    form("registry-token", "a Docker token", "dckr_[po]at_", r"\b(dckr_[po]at_[A-Za-z0-9_-]{20,})", 9),
    form("registry-token", "a Hugging Face token", "hf_", r"\b(hf_[A-Za-z0-9]{34,})", 3),
    form("registry-token", "a crates.io token", "cio", r"\b(cio[A-Za-z0-9]{32})\b", 3),
    form("telegram-token", "a Telegram bot token", ":AA", r"\b([0-9]{8,10}:AA[A-Za-z0-9_-]{33})", 0),
    form("mail-key", "a SendGrid key", r"SG\.", r"\b(SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43})", 3),
    form(
        "private-key",
        "a private key",
        "PRIVATE KEY",
        r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----(?:[^-]{0,400}?)([A-Za-z0-9+/]{40})",
        0,
    ),
    form("private-key", "an age private key", "AGE-SECRET-KEY-", r"\b(AGE-SECRET-KEY-1[0-9A-Z]{58})", 15),
    form(
        "url-password",
        "a password in an address",
        "://",
        r#"://[^\s:@/"'<>()\[\]{}`]{1,80}:([^\s:@/"'<>()\[\]`]{3,120})@[A-Za-z0-9\[]"#,
        0,
    ),
    form(
        "jwt",
        "a signed web token",
        r"eyJ",
        r"\b(eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{20,})",
        3,
    ),
    form(
        "password",
        "what looks like a password",
        "(?i:passw|pwd|secret|token|api.?key)|密码|口令|密钥",
        r#"(?:\b(?i:password|passwd|passphrase|pwd|secret|client_secret|access_token|auth_token|api[_-]?key)|密码|口令|密钥)["']?[ \t]{0,8}(?:[:=]|：)[ \t]{0,8}["'`]?([!-~]{8,80})"#,
        0,
    ),
];

struct Compiled {
    marks: RegexSet,
    forms: Vec<Option<Regex>>,
}

/// All expressions are constants that a test compiles; should one fail all the same, its form is left out.
static COMPILED: LazyLock<Compiled> = LazyLock::new(|| Compiled {
    marks: RegexSetBuilder::new(FORMS.iter().map(|form| form.mark))
        .unicode(false)
        .build()
        .unwrap_or_else(|_| RegexSet::empty()),
    forms: FORMS.iter().map(|form| RegexBuilder::new(form.form).unicode(false).build().ok()).collect(),
});

/// The most findings of one form in one file; who has seen these knows that the file must go.
const MOST: usize = 20;

/// A secret that was found.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    case: &'static str,
    line: u32,
    message: String,
}

fn run(subject: &Subject<'_>, sink: &mut Sink<'_>) {
    let place = subject.item.place.as_bytes();
    let fix =
        "take it out, and have the key replaced if it ever left this machine: git keeps what was committed";
    for found in scan(place).into_iter().map(|found| Found { line: 0, ..found }) {
        sink.add(found.case, None, format!("the file's name holds {}", found.message), Some(fix.to_owned()));
    }
    let Some(bytes) = &subject.item.after else { return };
    for found in scan(&as_ascii(bytes)) {
        sink.add(found.case, Some(found.line), found.message, Some(fix.to_owned()));
    }
}

/// Text in UTF-16 as bytes in which ASCII can be found; everything else as it is.
fn as_ascii(bytes: &[u8]) -> Cow<'_, [u8]> {
    match bytes {
        [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] => {
            Cow::Owned(bytes.iter().copied().filter(|b| *b != 0).collect())
        }
        _ => Cow::Borrowed(bytes),
    }
}

fn scan(bytes: &[u8]) -> Vec<Found> {
    let mut found = Vec::new();
    for index in COMPILED.marks.matches(bytes) {
        let (Some(form), Some(Some(regex))) = (FORMS.get(index), COMPILED.forms.get(index)) else { continue };
        let mut line = 1;
        let mut counted = 0;
        let mut of_form = 0;
        for captures in regex.captures_iter(bytes) {
            let (Some(whole), Some(secret)) = (captures.get(0), captures.get(1)) else { continue };
            if is_placeholder(form, secret.as_bytes()) {
                continue;
            }
            let passed = bytes.get(counted..whole.start()).unwrap_or_default();
            line += u32::try_from(passed.iter().filter(|b| **b == b'\n').count()).unwrap_or(u32::MAX / 2);
            counted = whole.start();
            found.push(Found { case: form.case, line, message: describe(form, secret.as_bytes()) });
            of_form += 1;
            if of_form == MOST {
                break;
            }
        }
    }
    found
}

/// What was found, without giving it away.
fn describe(form: &Form, secret: &[u8]) -> String {
    let public: String = secret.iter().take(form.public).map(|b| char::from(*b)).collect();
    format!("{} ({public}…, {} characters)", form.what, secret.len())
}

/// Whether something of a secret's form plainly is none: an example, a row of `x`, a variable.
fn is_placeholder(form: &Form, secret: &[u8]) -> bool {
    let lower = secret.to_ascii_lowercase();
    let has = |word: &str| lower.windows(word.len()).any(|window| window == word.as_bytes());
    let words = ["example", "xxxx", "placeholder", "redacted", "your", "dummy", "changeme", "....", "****"];
    if words.iter().any(|word| has(word)) {
        return true;
    }
    let distinct = |bytes: &[u8]| bytes.iter().collect::<std::collections::HashSet<_>>().len();
    let random = secret.get(form.public..).unwrap_or_default();
    match form.case {
        "password" => !is_like_a_password(secret),
        "url-password" => {
            matches!(
                lower.as_slice(),
                b"password" | b"pass" | b"passwd" | b"pwd" | b"secret" | b"token" | b"user"
            ) || lower.starts_with(b"$")
                || lower.starts_with(b"{")
                || lower.starts_with(b"%")
                || distinct(&lower) < 3
        }
        _ => distinct(random) < 8,
    }
}

/// Beside the word alone nothing says that a value is secret, so it has to look random: letters and digits mixed,
/// no call, no variable, no path, no address.
fn is_like_a_password(value: &[u8]) -> bool {
    let value = match value.iter().position(|b| matches!(b, b'"' | b'\'' | b'`' | b',' | b';')) {
        Some(end) => value.get(..end).unwrap_or_default(),
        None => value,
    };
    let odd = |b: &u8| matches!(b, b'(' | b')' | b'<' | b'>' | b'{' | b'}' | b'[' | b']' | b'/' | b'\\');
    let digits = value.iter().filter(|b| b.is_ascii_digit()).count();
    let letters = value.iter().filter(|b| b.is_ascii_alphabetic()).count();
    let distinct = value.iter().collect::<std::collections::HashSet<_>>().len();
    value.len() >= 8
        && !value.iter().any(odd)
        && !value.starts_with(b"$")
        && !value.starts_with(b"%")
        && digits >= 2
        && letters >= 2
        && distinct >= 6
        && !value.iter().all(|b| b.is_ascii_digit() || matches!(b, b'-' | b':' | b'T' | b'Z' | b'+' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A key made at run time, so that no file of the project holds a string in a key's form.
    fn made(prefix: &[&str], length: usize, alphabet: &str) -> String {
        let letters: Vec<char> = alphabet.chars().collect();
        let random = (0..length).map(|i| letters[(i * 7 + 3) % letters.len()]);
        prefix.concat().chars().chain(random).collect()
    }

    const WORD: &str = "abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";
    const UPPER: &str = "QWERTYUIOPASDFGHJKLZXCVBNM234567";

    fn samples() -> Vec<(&'static str, String)> {
        let pem = |kind: &str| {
            format!("-----BEGIN {kind}PRIVATE {}-----\n{}\n", ["K", "EY"].concat(), made(&[], 64, WORD))
        };
        vec![
            ("aws-key", made(&["AK", "IA"], 16, UPPER)),
            ("aws-key", format!("aws_secret_access_key = {}", made(&[], 40, WORD))),
            ("azure-key", format!("Account{}={}==", "Key", made(&[], 86, WORD))),
            ("github-token", made(&["gh", "p_"], 36, WORD)),
            ("github-token", made(&["gh", "o_"], 36, WORD)),
            ("github-token", made(&["github", "_pat_"], 82, WORD)),
            ("gitlab-token", made(&["gl", "pat-"], 20, WORD)),
            ("slack-token", made(&["xo", "xb-"], 40, WORD)),
            ("stripe-key", made(&["sk_", "live_"], 24, WORD)),
            ("google-key", made(&["AI", "za"], 35, WORD)),
            ("openai-key", made(&["sk", "-"], 48, WORD)),
            ("openai-key", made(&["sk", "-proj-"], 48, WORD)),
            ("anthropic-key", made(&["sk", "-ant-", "api03-"], 40, WORD)),
            ("registry-token", made(&["np", "m_"], 36, WORD)),
            ("registry-token", made(&["py", "pi-"], 60, WORD)),
            ("telegram-token", made(&["123456", "789:A", "A"], 33, WORD)),
            ("private-key", pem("RSA ")),
            ("private-key", pem("OPENSSH ")),
            ("private-key", pem("")),
            ("url-password", format!("postgres://app:{}@db.internal/x", made(&[], 12, WORD))),
            (
                "jwt",
                format!(
                    "{}.{}.{}",
                    made(&["ey", "J"], 30, WORD),
                    made(&["ey", "J"], 40, WORD),
                    made(&[], 43, WORD)
                ),
            ),
            ("password", format!("password: {}", made(&["k7"], 10, WORD))),
            ("password", format!("密码：{}", made(&["k7"], 10, WORD))),
        ]
    }

    #[test]
    fn every_form_is_found_at_its_line_and_never_shown() {
        assert_eq!(COMPILED.marks.len(), FORMS.len());
        assert!(COMPILED.forms.iter().all(Option::is_some));
        for (case, secret) in samples() {
            let text = format!("# Notes\n\nthis stands in a line: {secret} and goes on\n");
            let found = scan(text.as_bytes());
            assert!(found.iter().any(|f| f.case == case && f.line == 3), "{case}: {found:?}");
            let tail = &secret[secret.len() - 8..];
            assert!(found.iter().all(|f| !f.message.contains(tail)), "{found:?}");
        }
    }

    #[test]
    fn every_case_has_a_form_and_every_form_a_case() {
        for case in CHECK.cases {
            assert!(FORMS.iter().any(|form| form.case == case.name), "{}", case.name);
        }
        assert!(FORMS.iter().all(|form| CHECK.cases.iter().any(|case| case.name == form.case)));
    }

    #[test]
    fn what_is_plainly_no_secret_is_left_alone() {
        let example = format!("{}IOSFODNN7EXAMPLE", ["AK", "IA"].concat());
        let row = format!("{}{}", ["gh", "p_"].concat(), "x".repeat(36));
        for text in [
            example.as_str(),
            row.as_str(),
            "password: correct horse battery",
            "password: ${DB_PASSWORD}",
            "password = os.environ['DB_PASSWORD_2']",
            "token: string, the value that login() gave",
            "api_key: <your key here>",
            "see https://example.org:8080/a@b and viking://user/memories/seats.md#L10",
            "postgres://user:password@localhost/db",
            "ssh://git@host:22/repo, the secret: 2026-11-29T10:00:00",
            "A PEM file begins with -----BEGIN PRIVATE KEY----- and ends likewise.",
            "密码：请联系管理员",
            "desk-organisation-for-a-very-long-list-of-words-in-a-slug",
        ] {
            assert_eq!(scan(text.as_bytes()), [], "{text}");
        }
    }

    #[test]
    fn utf_16_does_not_hide_it() {
        let key = made(&["gh", "p_"], 36, WORD);
        let wide: Vec<u8> = [0xFF, 0xFE].into_iter().chain(key.bytes().flat_map(|b| [b, 0])).collect();
        assert!(scan(&as_ascii(&wide)).iter().any(|f| f.case == "github-token"));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..4096)) {
            let _ = scan(&as_ascii(&bytes));
        }

        #[test]
        fn a_key_is_found_in_any_noise(before in "[ -~\n]{0,200}", after in "[ -~\n]{0,200}") {
            let text = format!("{before}\n{}\n{after}", made(&["gh", "p_"], 36, WORD));
            prop_assert!(scan(text.as_bytes()).iter().any(|f| f.case == "github-token"));
        }
    }
}
