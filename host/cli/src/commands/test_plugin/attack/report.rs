//! The attempts, and their results.

use std::fs::{self, File};
use std::path::Path;

use plumbline_app::AppError;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use crate::commands::test_plugin::deliver::{cannot, done};
use crate::ui::say;

/// The name of the report.
const REPORT: &str = "attack.xml";

/// What came of an attempt.
#[derive(Debug)]
pub(super) enum Attempt {
    /// It was refused.
    Refused,
    /// It was allowed, or could not be made and so shows nothing; with the reason.
    Failed(String),
}

/// All attempts, in order.
#[derive(Debug, Default)]
pub(super) struct Attempts(Vec<(String, Attempt)>);

impl Attempts {
    pub(super) fn add(&mut self, name: impl Into<String>, attempt: Attempt) {
        let name = name.into();
        if let Attempt::Failed(why) = &attempt {
            say(&format!("test-plugin: {name}: {why}"));
        }
        self.0.push((name, attempt));
    }

    /// Writes the report and the done file.
    pub(super) fn write(self, results_dir: &Path) -> Result<(), AppError> {
        let mut suite = TestSuite::new("attack");
        for (name, attempt) in self.0 {
            let status = match attempt {
                Attempt::Refused => TestCaseStatus::success(),
                Attempt::Failed(why) => {
                    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
                    status.set_message(why);
                    status
                }
            };
            suite.add_test_case(TestCase::new(name, status));
        }
        let mut report = Report::new("test-plugin");
        report.add_test_suite(suite);
        fs::create_dir_all(results_dir).map_err(cannot("create", results_dir))?;
        let path = results_dir.join(REPORT);
        let file = File::create(&path).map_err(cannot("write", &path))?;
        report
            .serialize(file)
            .map_err(|error| AppError::system(format!("could not write `{}`", path.display())).because(&error))?;
        done(results_dir, &path)
    }
}
