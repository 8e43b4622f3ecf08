//! Measures calls of modules in the sandbox with all limits: one that does nothing, and the one that
//! groups failures by cause.

use std::time::Instant;

use plumbline_aggregator::{CauseFinder, Modules, failed_leaf};
use plumbline_core::{Meta, ModuleLimits, Status};
use plumbline_dev::Result;
use plumbline_sandbox::{Entry, Expect, NoLog, PluginInfo, Sandbox, SandboxConfig};
use serde_json::{Map, Value};

use crate::bench::tools::{median_of, print_table};

const CALLS: u32 = 2_000;

/// Measures one call of a module that does nothing: instance, store, limits and return.
pub(crate) fn one_call(runs: usize) -> Result<()> {
    let sandbox = Sandbox::new(SandboxConfig::default())?;
    let built_in = plumbline_bundle::built_in::load(&sandbox)?;
    let module = built_in.iter().find(|module| module.name() == "job").ok_or("no module `job`")?;
    let (plugin, limits) = (plugin(), ModuleLimits::default());
    let time = median_of(runs, || {
        let start = Instant::now();
        for _ in 0..CALLS {
            module.expect(Expect { plugin: &plugin, pod_spec: None, nodes: &[], limits: &limits }, &mut NoLog)?;
        }
        Ok(start.elapsed().as_secs_f64() / f64::from(CALLS))
    })?;
    let rows = [["a call of module `job`, fresh store and instance".to_owned(), format!("{:.1} µs", time * 1e6)]];
    print_table(&format!("One call (median of {runs} × {CALLS})"), ["what", "time"], &rows);
    Ok(())
}

fn plugin() -> PluginInfo {
    PluginInfo { name: "bench".into(), driver: "Job".into(), ..PluginInfo::default() }
}

const FAILURES: usize = 10_000;
const CAUSES: usize = 200;

/// Measures how long it takes to group failures by cause.
pub(crate) fn causes(runs: usize) -> Result<()> {
    let sandbox = Sandbox::new(SandboxConfig::default())?;
    let modules = Modules::new(sandbox.clone(), plumbline_bundle::built_in::accept(&sandbox)?);
    let finder = CauseFinder::new(&modules, None, &ModuleLimits::default())?.ok_or("no module `causes`")?;
    let plugin = plugin();
    let time = median_of(runs, || {
        let failures: Vec<_> = (0..FAILURES).map(|at| Ok(failure(at))).collect();
        let start = Instant::now();
        let groups = finder.find(&plugin, failures.into_iter())?;
        let seconds = start.elapsed().as_secs_f64();
        let grouped: usize = groups.iter().map(|group| group.failures.len()).sum();
        if (groups.len(), grouped) != (CAUSES, FAILURES) {
            return Err(format!("{grouped} failures have {} causes", groups.len()).into());
        }
        Ok(seconds)
    })?;
    let megabytes = (0..FAILURES).map(|at| text(at).len()).sum::<usize>() as f64 / 1e6;
    let rows = [[
        format!("{FAILURES} failures, {megabytes:.0} MB of text, {CAUSES} causes"),
        format!("{:.0} ms", time * 1e3),
        format!("{:.0} MB/s", megabytes / time),
    ]];
    print_table(&format!("Causes of failures (median of {runs})"), ["what", "time", "rate"], &rows);
    Ok(())
}

fn failure(at: usize) -> Entry {
    let details = Map::from_iter([("failure".to_owned(), Value::from(text(at)))]);
    let name = format!("[It] [sig-apps] Deployment should run case {at}");
    failed_leaf("global", &name, &Status::Failed, &Meta::new(), &details)
}

/// A failure as Ginkgo reports it, with a log.
fn text(at: usize) -> String {
    let mut word = String::new();
    let mut left = at % CAUSES + 1;
    while left > 0 {
        word.extend(char::from_digit(u32::try_from(left % 10).unwrap_or_default() + 10, 36));
        left /= 10;
    }
    let log: String =
        (0..20).map(|line| format!("STEP: wait for pod web-{at}-{line} to be ready @ 11/25/26\n")).collect();
    format!(
        "[FAILED] Unexpected error:\n    <*url.Error | 0xc{at:07x}>: \n    Get \"https://10.96.0.1:443/api/v1/namespaces/e2e-{at}/pods\": \
         the {word} controller of pod web-{at} refused the connection\n    {{\n        Op: \"Get\",\n        Err: <*net.OpError | 0xc0003f5c20>{{\n            \
         Op: \"dial\",\n        }},\n    }}\noccurred\nIn [It] at: /go/src/test/e2e/apps/deployment.go:90 @ 11/25/26 10:11:12.345\n{log}"
    )
}
