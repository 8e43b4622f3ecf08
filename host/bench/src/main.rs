//! The numbers of docs/benchmarks.md. Each is taken beside its baseline, in one run, and printed as a ratio.
//!
//! `cargo xtask bench` builds everything that this needs and runs all of it; `cargo xtask bench junit` only one part.
#![forbid(unsafe_code)]

mod child;
mod cluster;
mod corpus;
mod crowd;
mod go;
mod handshake;
mod instance;
mod junit;
mod languages;
mod native;
mod nodes;
mod real;
mod start;
mod stats;
mod table;
mod tls_front;
mod worker;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::{Parser, ValueEnum};
use plumbline_bench::Result;
use plumbline_bench::proc::status_kib;

/// Runs benchmarks and prints their tables.
#[derive(Debug, Parser)]
struct Args {
    /// What is measured; without it, everything
    #[arg(value_enum)]
    parts: Vec<Part>,
    /// Megabytes of the JUnit file
    #[arg(long, default_value_t = 50)]
    megabytes: u64,
    /// Runs of each measurement; the median counts
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Nodes of the cluster that is played (`cluster`)
    #[arg(long, default_value_t = 5_000)]
    nodes: usize,
    /// Where the cluster that is played leaves its files, the aggregator's log among them (`cluster`)
    #[arg(long, value_name = "DIR", hide = true)]
    keep: Option<PathBuf>,
    /// The cluster of `scale` and `sonobuoy`. It must have no nodes of its own, and is changed
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The program kwok, which plays that cluster's nodes
    #[arg(long, value_name = "FILE")]
    kwok: Option<PathBuf>,
    /// The certificate that the API server trusts as a kubelet's; its key lies beside it, as FILE.key
    #[arg(long, value_name = "FILE.crt")]
    kubelet_certificate: Option<PathBuf>,
    /// The program Sonobuoy, which is measured beside ours
    #[arg(long, value_name = "FILE")]
    sonobuoy: Option<PathBuf>,
    /// A component to measure in place of the built-in module `junit`
    #[arg(long, value_name = "FILE.wasm")]
    module: Option<String>,
    /// A program whose workers are measured in place of the one beside this, such as the static one of the image (`worker`)
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// One measurement in a process of its own (used by the benchmarks themselves)
    #[arg(long, hide = true, num_args = 1..)]
    child: Option<Vec<String>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// JUnit in the sandbox, native, and in Go
    Junit,
    /// The same JUnit reader in every language of modules
    Languages,
    /// 500 uploads at once, with and without a slow client
    Uploads,
    /// The aggregator until it accepts results
    Start,
    /// One call of a module
    Instance,
    /// Memory of a worker that waits
    Worker,
    /// What TLS handshakes cost the aggregator
    Handshakes,
    /// 5,000 nodes with two plugins, without an API server
    Nodes,
    /// 5,000 nodes with two plugins, in a cluster that is played
    Cluster,
    /// 5,000 nodes with two plugins, with a real API server
    Scale,
    /// Uploads into our aggregator and into Sonobuoy's, with a real API server
    Sonobuoy,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let done = match &args.child {
        Some(words) => run_child(words),
        None => all(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn all(args: &Args) -> Result<()> {
    let parts = if args.parts.is_empty() { Part::value_variants() } else { &args.parts };
    for part in parts {
        match part {
            Part::Junit => junit::measure(args.megabytes, args.runs, args.module.as_deref())?,
            Part::Languages => languages::measure(args.megabytes, args.runs)?,
            Part::Uploads => crowd::measure(args.runs)?,
            Part::Start => start::measure(args.runs)?,
            Part::Instance => instance::measure(args.runs)?,
            Part::Worker => worker::measure(args.program.as_deref())?,
            Part::Handshakes => handshake::measure(args.runs)?,
            Part::Nodes => nodes::measure()?,
            Part::Cluster => cluster::measure(args.nodes, args.keep.as_deref())?,
            Part::Scale => real::scale(args)?,
            Part::Sonobuoy => real::sonobuoy(args)?,
        }
    }
    Ok(())
}

/// The child's side.
fn run_child(words: &[String]) -> Result<()> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (seconds, items) = match words.as_slice() {
        ["sandbox", file] => child::sandbox(Path::new(file), None)?,
        ["sandbox", file, module] => child::sandbox(Path::new(file), Some(Path::new(module)))?,
        ["quick-xml", file] => {
            let start = Instant::now();
            let items = native::read(Path::new(file))?;
            (start.elapsed().as_secs_f64(), items)
        }
        ["tree", dir] => child::tree(Path::new(dir))?,
        ["start"] => (start::once()?, 0),
        other => return Err(format!("no such measurement: {other:?}").into()),
    };
    println!("{seconds} {items} {}", status_kib("self", "VmHWM")?);
    Ok(())
}
