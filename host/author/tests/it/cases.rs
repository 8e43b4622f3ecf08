//! Runs the golden cases of projects that were built with the real tools.

use std::path::Path;

use plumbline_aggregator::LimitPolicy;
use plumbline_author::golden::{self, Project, Runner};

use crate::bed::modules;

/// Checks that a template or example has cases and that all of them pass. Returns what is wrong.
pub(crate) fn wrong(directory: &Path) -> Option<String> {
    let opened = Project::open(directory).map_err(|error| error.to_string());
    let found = opened.and_then(|project| {
        let cases = golden::find(&project, &[]).map_err(|error| error.to_string())?;
        Ok((project, cases))
    });
    let (project, cases) = match found {
        Ok(found) => found,
        Err(error) => return Some(error),
    };
    let (modules, limits) = (modules(), LimitPolicy::default());
    let report = golden::run(&project, &cases, &Runner::new(&modules, &limits));
    let results: Vec<_> = report.cases.iter().map(|case| (&case.name, &case.result)).collect();
    (!report.is_good()).then(|| format!("{results:#?}"))
}
