//! A plugin that attacks the run and the cluster. Each attempt is a test that passes if it is
//! refused.

mod api;
mod credentials;
mod phone;

use std::fs::{self, File};
use std::path::Path;

use super::AttackOptions;
use super::results::{cannot, done};
use crate::context::{Context, Reporter};
use crate::error::AppError;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

/// The name of the report.
const REPORT: &str = "attack.xml";

/// The outcome of an attempt.
#[derive(Debug)]
enum Attempt {
    /// It was refused.
    Refused,
    /// It was allowed, or it could not be made; with the reason.
    Failed(String),
}

/// The attempts, in order.
struct Attempts<'a> {
    reporter: &'a dyn Reporter,
    list: Vec<(String, Attempt)>,
}

impl Attempts<'_> {
    fn add(&mut self, name: impl Into<String>, attempt: Attempt) {
        let name = name.into();
        if let Attempt::Failed(why) = &attempt {
            self.reporter.progress(&format!("test-plugin: {name}: {why}"));
        }
        self.list.push((name, attempt));
    }

    /// Writes the report and the done file.
    fn write(self, results_dir: &Path) -> Result<(), AppError> {
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

/// The path of the DNS configuration of a pod.
const RESOLV_CONF: &str = "/etc/resolv.conf";

/// Makes every attempt, and writes the report and the done file.
pub(super) async fn attack(context: &Context, options: &AttackOptions) -> Result<(), AppError> {
    // Fails if a provider is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let namespace = match &options.namespace {
        Some(namespace) => namespace.clone(),
        None => own_namespace()?,
    };
    let mut attempts = Attempts { reporter: context.reporter.as_ref(), list: Vec::new() };
    let loot = credentials::search(options, &mut attempts).await;
    api::attack(&namespace, &loot.tokens, &mut attempts).await;
    phone::attack(options, &namespace, &loot.certificates, &mut attempts).await;
    attempts.write(&options.results_dir)
}

/// The first search domain of a pod is `NAMESPACE.svc.DOMAIN`.
fn own_namespace() -> Result<String, AppError> {
    let text = fs::read_to_string(RESOLV_CONF).unwrap_or_default();
    let domain = text.lines().find_map(|line| line.strip_prefix("search ")?.split_whitespace().next());
    let namespace = domain.and_then(|domain| domain.split_once(".svc.")).map(|(namespace, _)| namespace.to_owned());
    namespace.ok_or_else(|| AppError::usage("the namespace of the run is not known").hint("name it with `--namespace`"))
}
