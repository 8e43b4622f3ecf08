//! The attempts of an attack, and the report of their outcomes.

use std::path::Path;
use std::{fs, io};

use plumbline_dev::Result;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use crate::plugin::common::{cannot, done, say, write_file};

const REPORT: &str = "attack.xml";

#[derive(Debug)]
pub(super) enum Attempt {
    /// It was refused.
    Refused,
    /// It was allowed, or it could not be made; with the reason.
    Failed(String),
}

#[derive(Default)]
pub(super) struct Attempts {
    list: Vec<(String, Attempt)>,
}

impl Attempts {
    pub(super) fn add(&mut self, name: impl Into<String>, attempt: Attempt) {
        let name = name.into();
        if let Attempt::Failed(why) = &attempt {
            say(format_args!("test-plugin: {name}: {why}"));
        }
        self.list.push((name, attempt));
    }

    pub(super) fn write(self, results_dir: &Path) -> Result<()> {
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
        write_file(&path, |out| report.serialize(out).map_err(io::Error::other))?;
        done(results_dir, &path)
    }
}
