//! The benchmarks of docs/benchmarks.md. Each is measured together with its baseline in one run,
//! and printed as a ratio.
//!
//! `cargo xtask bench` builds everything that they need and runs all of them. `cargo xtask bench
//! junit` runs only one part.

mod check;
mod cluster;
mod corpus;
mod crowd;
mod downloads;
mod handshake;
mod history;
mod junit;
mod languages;
mod modules;
mod nodes;
mod receiver;
mod tools;
mod worker;

use std::path::Path;

use clap::ValueEnum;
use plumbline_dev::Result;
use plumbline_dev::proc::status_kib;

/// Measure Plumbline, and print the results as tables
#[derive(Debug, clap::Args)]
pub(crate) struct BenchOptions {
    /// Parts to measure (default: all)
    #[arg(value_enum)]
    parts: Vec<Part>,
    /// Size of the JUnit file in megabytes
    #[arg(long, default_value_t = 50)]
    megabytes: u64,
    /// Number of runs of each measurement; the median is reported
    #[arg(long, default_value_t = 5)]
    runs: usize,
    #[command(flatten)]
    cluster: cluster::ClusterOptions,
    /// Component to measure instead of the built-in module `junit`
    #[arg(long, value_name = "FILE.wasm")]
    module: Option<String>,
    /// Run one measurement in this process (used by the benchmarks themselves)
    #[arg(long, hide = true, num_args = 1..)]
    child: Option<Vec<String>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// JUnit in the sandbox, native, and in Go
    Junit,
    /// The same JUnit module in all languages
    Languages,
    /// 500 concurrent uploads, with and without a slow client
    Uploads,
    /// Start of the aggregator until it accepts results
    Start,
    /// One call of a module
    Instance,
    /// Causes of 10,000 failures
    Causes,
    /// Memory of a waiting worker
    Worker,
    /// Cost of TLS handshakes for the aggregator
    Handshakes,
    /// Index and queries of a history of 500 archives
    History,
    /// 5,000 nodes with two plugins, without an API server
    Nodes,
    /// 5,000 nodes with two plugins, in a simulated cluster
    Cluster,
    /// 5,000 nodes with two plugins, with a real API server
    Scale,
    /// Compiling a check, its start from the cache, and its process with and without compiled code
    Check,
    /// Uploads to Plumbline's aggregator and to Sonobuoy's with a real API server, waiting workers
    /// and post-processing of both
    Sonobuoy,
    /// Download of 2 GB from a real node, by Plumbline and by Sonobuoy
    Downloads,
}

/// Runs the benchmarks, or one measurement of them.
pub(crate) fn run(args: &BenchOptions) -> Result<()> {
    if let Some(words) = &args.child {
        return run_child(words);
    }
    let parts = if args.parts.is_empty() { Part::value_variants() } else { &args.parts };
    for part in parts {
        match part {
            Part::Junit => junit::measure(args.megabytes, args.runs, args.module.as_deref())?,
            Part::Languages => languages::measure(args.megabytes, args.runs)?,
            Part::Uploads => crowd::measure(args.runs)?,
            Part::Start => nodes::start(args.runs)?,
            Part::Causes => modules::causes(args.runs)?,
            Part::Instance => modules::one_call(args.runs)?,
            Part::Worker => worker::measure(args.cluster.program.as_deref(), args.cluster.sonobuoy.as_deref())?,
            Part::Handshakes => handshake::measure(args.runs)?,
            Part::History => history::measure(args.cluster.program.as_deref(), args.runs)?,
            Part::Check => check::measure(args.cluster.program.as_deref(), args.runs)?,
            Part::Nodes => nodes::measure()?,
            Part::Cluster => cluster::simulated(&args.cluster)?,
            Part::Scale => cluster::scale(&args.cluster)?,
            Part::Sonobuoy => sonobuoy(args)?,
            Part::Downloads => downloads::measure(&args.cluster, args.runs)?,
        }
    }
    Ok(())
}

/// Measures everything next to Sonobuoy that needs no real node.
fn sonobuoy(args: &BenchOptions) -> Result<()> {
    let cluster = &args.cluster;
    cluster::sonobuoy(cluster)?;
    // Without Sonobuoy, the part for workers is enough.
    if cluster.sonobuoy.is_some() {
        worker::measure(cluster.program.as_deref(), cluster.sonobuoy.as_deref())?;
    }
    junit::next_to_sonobuoy(cluster.postprocess.as_deref(), args.megabytes, args.runs)
}

fn run_child(words: &[String]) -> Result<()> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (seconds, items) = match words.as_slice() {
        ["sandbox", file] => junit::sandbox(Path::new(file), None)?,
        ["sandbox", file, module] => junit::sandbox(Path::new(file), Some(Path::new(module)))?,
        ["quick-xml", file] => junit::native(Path::new(file))?,
        ["check-compile", wasm, code] => return check::compile(Path::new(wasm), Path::new(code)),
        ["check-start", wasm, cache] => return check::start(Path::new(wasm), Path::new(cache)),
        ["tree", dir] => junit::tree(Path::new(dir))?,
        ["start"] => (nodes::start_once()?, 0),
        other => return Err(format!("no such measurement: {other:?}").into()),
    };
    println!("{seconds} {items} {}", status_kib("self", "VmHWM")?);
    Ok(())
}
