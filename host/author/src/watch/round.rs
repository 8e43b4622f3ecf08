//! What is done in a round: build, then the golden cases.

use std::path::Path;
use std::time::{Duration, Instant};

use plumbline_aggregator::{LimitPolicy, Modules};

use crate::golden::{self, GoldenError, Project, Report, Runner};

/// What a build came to: what it says of the module, or why there is none.
pub type Built = Result<String, String>;

/// What a round came to.
#[derive(Debug)]
pub struct RoundReport {
    /// The build.
    pub built: Built,
    /// The cases; `None` if there was nothing to try them with.
    pub cases: Option<Result<Report, GoldenError>>,
    /// What it took, from the first to the last.
    pub wall: Duration,
}

/// Builds the project in `dir` and runs its golden cases. `modules` is new for every round: what was read of the last build is not to be used
/// again.
pub fn try_out(
    dir: &Path,
    build: &mut dyn FnMut(&Path) -> Built,
    modules: &Modules,
    limits: &LimitPolicy,
) -> RoundReport {
    let start = Instant::now();
    let built = build(dir);
    let cases = built.is_ok().then(|| {
        let project = Project::open(dir)?;
        let cases = golden::find(&project, &[])?;
        Ok(golden::run(&project, &cases, &Runner::new(modules, limits)))
    });
    RoundReport { built, cases, wall: start.elapsed() }
}
