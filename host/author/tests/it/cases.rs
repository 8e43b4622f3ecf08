//! The golden cases of projects that were built with the real tools.

use std::path::Path;

use plumbline_aggregator::LimitPolicy;
use plumbline_author::golden::{self, Project, Runner};

use crate::bed::modules;

/// Every template and example has cases, and all of them pass.
pub(crate) fn pass(directory: &Path, shown: &str) {
    let project = Project::open(directory).unwrap_or_else(|error| panic!("{shown}: {error}"));
    let cases = golden::find(&project, &[]).unwrap_or_else(|error| panic!("{shown}: {error}"));
    let (modules, limits) = (modules(), LimitPolicy::default());
    let report = golden::run(&project, &cases, &Runner { modules: &modules, limits: &limits, bless: false });
    let results: Vec<_> = report.cases.iter().map(|case| (&case.name, &case.result)).collect();
    assert!(report.is_good(), "{shown}: {results:#?}");
}
