//! Measures one call of a module that does nothing: instance, store, limits and return.

use std::time::Instant;

use plumbline_core::ModuleLimits;
use plumbline_dev::Result;
use plumbline_sandbox::{Expect, NoLog, PluginInfo, Sandbox, SandboxConfig};

use crate::bench::stats::median;
use crate::bench::table;

/// Number of calls in one measurement.
const CALLS: u32 = 2_000;

pub(crate) fn measure(runs: usize) -> Result<()> {
    let sandbox = Sandbox::new(SandboxConfig::default())?;
    let built_in = plumbline_bundle::built_in::load(&sandbox)?;
    let module = built_in.iter().find(|module| module.name() == "job").ok_or("no module `job`")?;
    let plugin = PluginInfo { name: "bench".into(), driver: "Job".into(), ..PluginInfo::default() };
    let limits = ModuleLimits::default();
    let mut times = Vec::new();
    for _ in 0..runs.max(1) {
        let start = Instant::now();
        for _ in 0..CALLS {
            module.expect(Expect { plugin: &plugin, pod_spec: None, nodes: &[], limits: &limits }, &mut NoLog)?;
        }
        times.push(start.elapsed().as_secs_f64() / f64::from(CALLS));
    }
    let rows =
        [["a call of module `job`, fresh store and instance".to_owned(), format!("{:.1} µs", median(&times) * 1e6)]];
    table::print(&format!("One call (median of {runs} × {CALLS})"), ["what", "time"], &rows);
    Ok(())
}
