//! Further facts that matter on a cluster node, under a key of their own.

mod certificates;
mod configuration;
mod kernel;
mod kubelet;
mod resources;
mod runtime;
mod time;

use crate::collector::Collector;
use crate::program::{self, Bounds};

/// Limits for `--version`, which normally answers in a tenth of a second.
const VERSION_BOUNDS: Bounds = Bounds { patience: std::time::Duration::from_secs(10), bytes: 16 << 10 };

pub(crate) fn gather(collector: &mut Collector<'_>) {
    let names = ["kubelet", "containerd", "crio", "cri-dockerd", "dockerd"];
    let processes = configuration::processes(collector.source, &names);
    kernel::control_groups(collector);
    kubelet::gather(collector, &processes);
    runtime::gather(collector, &processes);
    kernel::modules_and_parameters(collector);
    resources::limits(collector);
    resources::swap(collector);
    time::gather(collector);
    certificates::gather(collector);
    resources::disks(collector);
    resources::pressure(collector);
}

/// Runs a program below the root and returns its output, or the reason why the facts that no file
/// has are unknown.
fn ask(collector: &Collector<'_>, name: &str, arguments: &[&str], bounds: Bounds) -> Result<String, String> {
    let program = program::find(collector.source, name);
    let program = program.ok_or_else(|| format!("no program `{name}` in the usual directories"))?;
    if !collector.options.run_programs {
        return Err(format!("no file has it, and {program} was not run: `--run-programs` was not given"));
    }
    program::run(collector.options, &program, arguments, &[], bounds)
}

/// Returns the version that a program prints, or records why it is unknown.
fn version(collector: &mut Collector<'_>, fact: &str, name: &str, parse: fn(&str) -> String) -> Option<String> {
    let answer = ask(collector, name, &["--version"], VERSION_BOUNDS);
    answer
        .map_err(|reason| collector.miss(&format!("plumbline_facts.{fact}.version"), reason))
        .ok()
        .map(|it| parse(&it))
}
