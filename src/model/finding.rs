//! What a check reports.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::path::VaultPath;

/// How bad a finding is, and so what it stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Shown when asked for; stops nothing.
    Info,
    /// Shown; stops nothing.
    Warning,
    /// Shown; a proposal with it needs a person.
    Person,
    /// A proposal with it cannot merge.
    Error,
}

impl Severity {
    /// The word in a policy and for people.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Person => "person",
            Severity::Error => "error",
        }
    }
}

/// One thing that a check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The check's name, and behind a dot the case within it: `link.broken`, `schema.type`, `secret.aws-key`.
    pub rule: String,
    /// How bad it is.
    pub severity: Severity,
    /// The file, relative to the vault; absent for a finding about the vault itself.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path: Option<VaultPath>,
    /// The line in the file, counted from 1, where one is to blame.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub line: Option<u32>,
    /// What is wrong, as a sentence without a full stop.
    pub message: String,
    /// How to fix it, where there is a way.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fix: Option<String>,
    /// Other files that message or fix name: whoever may not see one of them is not told.
    #[serde(skip)]
    pub names: Vec<VaultPath>,
}

impl Finding {
    /// A finding without place or fix.
    pub fn new(rule: &str, severity: Severity, message: impl Into<String>) -> Finding {
        Finding {
            rule: rule.to_owned(),
            severity,
            path: None,
            line: None,
            message: message.into(),
            fix: None,
            names: Vec::new(),
        }
    }

    /// The same finding in a file.
    #[must_use]
    pub fn in_file(mut self, path: &VaultPath) -> Finding {
        self.path = Some(path.clone());
        self
    }

    /// The same finding at a line, counted from 1.
    #[must_use]
    pub fn at_line(mut self, line: u32) -> Finding {
        self.line = Some(line);
        self
    }

    /// The same finding with a way out.
    #[must_use]
    pub fn with_fix(mut self, fix: impl Into<String>) -> Finding {
        self.fix = Some(fix.into());
        self
    }

    /// The check that it belongs to: the rule's part before the dot.
    #[must_use]
    pub fn check(&self) -> &str {
        self.rule.split('.').next().unwrap_or(&self.rule)
    }
}
