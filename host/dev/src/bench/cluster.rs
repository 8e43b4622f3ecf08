//! Measures 5,000 nodes with two plugins in a simulated cluster: see
//! [`plumbline_dev::simulation`].

use plumbline_dev::Result;
use plumbline_dev::simulation::{Outcome, Simulation};
use std::path::Path;
use std::time::Duration;
use tokio::runtime::Runtime;

use crate::bench::program::plumbline;
use crate::bench::table;

/// Number of concurrent workers.
const AT_ONCE: usize = 200;
/// Timeout: many times the expected duration.
const PATIENCE: Duration = Duration::from_secs(1800);

pub(crate) fn measure(nodes: usize, keep: Option<&Path>) -> Result<()> {
    let Some(program) = plumbline("a simulated cluster", None)? else { return Ok(()) };
    let dir = tempfile::tempdir()?;
    let simulation = Simulation { program, nodes, at_once: AT_ONCE, patience: PATIENCE, chaos: None };
    let outcome = Runtime::new()?.block_on(simulation.run(keep.unwrap_or(dir.path())))?;
    print(nodes, &outcome);
    if outcome.passed != outcome.expected {
        return Err(format!("{} of {} results are in and passed", outcome.passed, outcome.expected).into());
    }
    if outcome.left > 0 {
        return Err(format!("{} objects of plugins were left behind", outcome.left).into());
    }
    Ok(())
}

fn print(nodes: usize, outcome: &Outcome) {
    let traffic = &outcome.traffic;
    let row = |what: &str, value: String| [what.to_owned(), value];
    let kib = |bytes: usize| format!("{} KiB", bytes.div_ceil(1024));
    let rows = [
        row("results that arrived and passed", format!("{} of {}", outcome.passed, outcome.expected)),
        row("from the start of the process to `complete`", format!("{:.1} s", outcome.seconds)),
        row("processor time of the aggregator", format!("{:.1} s", outcome.cpu_seconds)),
        row("processor time of everybody else", format!("{:.1} s", outcome.crowd_cpu_seconds)),
        row("peak memory of the aggregator", format!("{:.0} MiB", outcome.peak_kib as f64 / 1024.0)),
        row("signs of life that were sent again", outcome.repeated.to_string()),
        row("largest status, under each of two keys", kib(traffic.status_bytes)),
        row("all annotations of the aggregator's pod, at most", kib(traffic.annotation_bytes)),
        row("writes of the status", traffic.status_writes.to_string()),
        row("status in full, in its ConfigMap", kib(traffic.full_bytes)),
        row("archive", kib(usize::try_from(outcome.archive_bytes).unwrap_or(usize::MAX))),
        row("requests to the API server", traffic.total().to_string()),
        row("requests that were answered with an error", traffic.refused.to_string()),
    ];
    table::print(&format!("{nodes} nodes × 2 plugins, against an API server that is played"), ["what", "value"], &rows);
    let rows: Vec<_> = traffic.requests.iter().map(|(request, count)| [request.clone(), count.to_string()]).collect();
    table::print("Requests to the API server", ["request", "how often"], &rows);
}
