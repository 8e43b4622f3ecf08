//! The attempts of the attack, and their report.

use std::fs::{self, File};
use std::path::Path;

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::super::results::{cannot, done};
use crate::context::Reporter;
use crate::error::AppError;

/// The name of the report.
const REPORT: &str = "attack.xml";

/// The outcome of an attempt.
#[derive(Debug)]
pub(super) enum Attempt {
    /// It was refused.
    Refused,
    /// It was allowed, or it could not be made; with the reason.
    Failed(String),
}

/// The attempts, in order.
pub(super) struct Attempts<'a> {
    reporter: &'a dyn Reporter,
    list: Vec<(String, Attempt)>,
}

impl<'a> Attempts<'a> {
    pub(super) fn new(reporter: &'a dyn Reporter) -> Self {
        Self { reporter, list: Vec::new() }
    }

    pub(super) fn add(&mut self, name: impl Into<String>, attempt: Attempt) {
        let name = name.into();
        if let Attempt::Failed(why) = &attempt {
            self.reporter.progress(&format!("test-plugin: {name}: {why}"));
        }
        self.list.push((name, attempt));
    }

    /// Writes the report and the done file.
    pub(super) fn write(self, results_dir: &Path) -> Result<(), AppError> {
        let mut suite = TestSuite::new("attack");
        for (name, attempt) in self.list {
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
