//! Measures the start of the aggregator until it accepts results, including the load of the
//! built-in modules.

use std::sync::Arc;
use std::time::Instant;

use plumbline_aggregator::{Modules, Run, Settings, Source, WorkDir};
use plumbline_core::Definition;
use plumbline_dev::Result;
use plumbline_sandbox::{Sandbox, SandboxConfig};
use tokio::runtime::Runtime;

use crate::bench::child::spawn;
use crate::bench::nodes::Fleet;
use crate::bench::stats::median;
use crate::bench::table;

/// Returns the time in seconds until a new run accepts results. Call it once per process, because a
/// second start would use warm caches.
pub(crate) fn once() -> Result<f64> {
    let dir = tempfile::tempdir()?;
    let start = Instant::now();
    let sandbox = Sandbox::new(SandboxConfig::default())?;
    let modules = Modules::new(sandbox.clone(), plumbline_bundle::built_in::accept(&sandbox)?);
    let definition = Definition::parse("{sonobuoy-config: {plugin-name: bench, driver: Job}, spec: {}}")?.definition;
    let source = Source { definition: Arc::new(definition), bundle: None };
    let work = WorkDir::open(dir.path().join("run"))?;
    let runtime = Runtime::new()?;
    let begun =
        runtime.block_on(Run::begin(work, vec![source], Settings::default(), &modules, Arc::new(Fleet::new(1))));
    let seconds = start.elapsed().as_secs_f64();
    drop(begun?);
    Ok(seconds)
}

pub(crate) fn measure(runs: usize) -> Result<()> {
    let mut times = Vec::new();
    for _ in 0..runs.max(1) {
        times.push(spawn(&["start"])?.seconds);
    }
    let rows = [[
        "sandbox, ten built-in modules, authority, journal, server".to_owned(),
        format!("{:.0} ms", median(&times) * 1e3),
    ]];
    table::print(&format!("Start until results are accepted (median of {runs})"), ["what", "time"], &rows);
    Ok(())
}
