//! Decides about a requirement, from tests, queries and statements.

use plumbline_sdk::{Item, Status};

use crate::artifacts::Outcome;
use crate::checklist::{Level, Requirement};
use crate::product::{PRODUCT, Stated, Statement};
use crate::queries::Seen;

/// The status of a requirement that only the vendor states.
pub(crate) const STATED: &str = "stated";
/// The status of a requirement that the vendor calls `N/A`, with a reason.
pub(crate) const NOT_APPLICABLE: &str = "not-applicable";

/// What is known about a requirement.
#[derive(Debug)]
pub(crate) struct Known<'a> {
    pub(crate) requirement: &'static Requirement,
    pub(crate) level: Level,
    pub(crate) seen: Seen,
    /// The outcome of the test, and the file that has it.
    pub(crate) test: Option<(Outcome, &'static str)>,
    pub(crate) statement: Option<&'a Statement>,
    /// Whether a statement without a test counts.
    pub(crate) statements_count: bool,
}

/// Where the evidence of a decision comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Test,
    Query,
    Statement,
    Nothing,
}

impl Source {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Test => "test",
            Self::Query => "query",
            Self::Statement => "statement",
            Self::Nothing => "none",
        }
    }
}

/// The result for a requirement.
#[derive(Debug)]
pub(crate) struct Decision {
    pub(crate) item: Item,
    /// How the statement of the vendor contradicts the results.
    pub(crate) contradiction: Option<String>,
}

/// What tests and queries say, without the vendor.
enum Result {
    Passed(Source, String),
    Failed(Source, String),
    Unread(String),
    /// Neither a test nor a query answers the question.
    Open(String),
}

impl Known<'_> {
    pub(crate) fn decide(&self) -> Decision {
        let stated = self.statement.map_or(Stated::Nothing, |statement| statement.stated);
        let id = self.requirement.id;
        match self.result() {
            Result::Failed(source, why) => {
                let against = matches!(stated, Stated::Implemented | Stated::PartiallyImplemented);
                Decision {
                    contradiction: against.then(|| format!("`{id}` is stated as `{stated}`, but {why}")),
                    item: self.item(Status::Failed, source).text("failure", why),
                }
            }
            Result::Passed(source, why) => {
                let against = matches!(stated, Stated::NotImplemented | Stated::NotApplicable);
                Decision {
                    contradiction: against.then(|| format!("`{id}` is stated as `{stated}`, but {why}")),
                    item: self.item(Status::Passed, source).text("evidence", why),
                }
            }
            Result::Unread(why) => self.open(Status::Unknown, &why),
            Result::Open(why) => self.by_statement(stated, &why),
        }
    }

    fn result(&self) -> Result {
        let test = self.requirement.test.unwrap_or_default();
        match (&self.test, &self.seen) {
            (Some((Outcome::Failed, file)), _) => {
                Result::Failed(Source::Test, format!("test `{test}` failed in `{file}`"))
            }
            (_, Seen::Missing(why)) => Result::Failed(Source::Query, why.clone()),
            (Some((Outcome::Passed, file)), _) => {
                Result::Passed(Source::Test, format!("test `{test}` passed in `{file}`"))
            }
            (_, Seen::Met(why)) => Result::Passed(Source::Query, why.clone()),
            (_, Seen::Unread(why)) => Result::Unread(format!("the cluster could not be read: {why}")),
            (tested, Seen::Present(seen) | Seen::Absent(seen)) => {
                let tested = match (tested, self.requirement.test) {
                    (Some((_, file)), _) => format!("test `{test}` was skipped in `{file}`"),
                    (None, Some(_)) => format!("no results of test `{test}`"),
                    (None, None) => "the programme has no test of it".to_owned(),
                };
                Result::Open(format!("{seen}; {tested}"))
            }
        }
    }

    /// Decides about what neither a test nor a query answers.
    fn by_statement(&self, stated: Stated, why: &str) -> Decision {
        let links = self.statement.map(|of| of.evidence.as_slice()).unwrap_or_default();
        let notes = self.statement.map(|of| of.notes.as_str()).unwrap_or_default();
        let must = self.level == Level::Must;
        match stated {
            Stated::PartiallyImplemented | Stated::NotImplemented if must => {
                let failure = format!("{PRODUCT} states `{stated}`");
                Decision {
                    item: self.item(Status::Failed, Source::Statement).text("failure", failure),
                    contradiction: None,
                }
            }
            Stated::NotApplicable if matches!(self.seen, Seen::Present(_)) && must => {
                let id = self.requirement.id;
                let failure = format!("`{id}` is stated as `{stated}`, but the cluster has {}", self.seen.text());
                Decision {
                    item: self.item(Status::Failed, Source::Query).text("failure", failure.clone()),
                    contradiction: Some(failure),
                }
            }
            _ if !self.statements_count => self.not_evaluated(&format!("{why}; statements do not count in this mode")),
            Stated::Implemented if !links.is_empty() => {
                let item = self
                    .item(Status::Custom(STATED.to_owned()), Source::Statement)
                    .text("statement", format!("{PRODUCT} states `{stated}`: {}", links.join(", ")))
                    .text("reason", format!("stated and not tested: {why}"));
                let item = if notes.is_empty() { item } else { item.text("notes", notes) };
                Decision { item, contradiction: None }
            }
            Stated::Implemented => self.not_evaluated(&format!("{why}; {PRODUCT} states `{stated}` without evidence")),
            Stated::NotApplicable => {
                let item = self
                    .item(Status::Custom(NOT_APPLICABLE.to_owned()), Source::Statement)
                    .text("statement", format!("{PRODUCT} states `{stated}`: {notes}"));
                Decision { item, contradiction: None }
            }
            Stated::PartiallyImplemented | Stated::NotImplemented => {
                self.not_evaluated(&format!("{why}; {PRODUCT} states `{stated}`"))
            }
            Stated::Nothing => self.not_evaluated(&format!("{why}; no valid statement in {PRODUCT}")),
        }
    }

    /// Nobody evaluated the requirement. A MUST is then `unknown`, so that the run is incomplete.
    fn not_evaluated(&self, why: &str) -> Decision {
        let status = if self.level == Level::Must { Status::Unknown } else { Status::Skipped };
        self.open(status, &format!("not evaluated: {why}"))
    }

    fn open(&self, status: Status, why: &str) -> Decision {
        let item = self.item(status.clone(), Source::Nothing);
        let item = if status == Status::Unknown { item.meta("error", why) } else { item.text("reason", why) };
        Decision { item, contradiction: None }
    }

    fn item(&self, status: Status, source: Source) -> Item {
        let item = Item::new(1, self.requirement.id)
            .status(status)
            .meta("level", self.level.to_string())
            .meta("subject", self.requirement.subject)
            .meta("evidence", source.as_str());
        match &self.seen {
            Seen::Present(seen) | Seen::Absent(seen) => item.text("cluster", seen),
            // These are the evidence, the failure, or the error.
            Seen::Met(_) | Seen::Missing(_) | Seen::Unread(_) => item,
        }
    }
}
