//! Measures the post-processing of a JUnit report next to Sonobuoy's library.

use std::fs;
use std::path::Path;
use std::process::Command;

use plumbline_dev::Result;

use crate::bench::child::{Measured, parse, spawn};
use crate::bench::stats::median;
use crate::bench::{corpus, table};

/// The plugin of the report.
const PLUGIN: &str = "bench";

/// Measures both alternately. `sonobuoy` is the program `host/e2e/cluster/sonobuoy/postprocess`.
pub(crate) fn measure(sonobuoy: Option<&Path>, megabytes: u64, runs: usize) -> Result<()> {
    let Some(sonobuoy) = sonobuoy else {
        println!("\nskipped: post-processing by Sonobuoy's library: it needs `--postprocess FILE`");
        return Ok(());
    };
    let dir = tempfile::tempdir()?;
    let (ours, theirs) = (dir.path().join("ours"), dir.path().join("theirs"));
    let mut cases = 0;
    for results in [ours.join("results/global"), theirs.join("plugins").join(PLUGIN).join("results/global")] {
        fs::create_dir_all(&results)?;
        cases = corpus::write(&results.join("junit.xml"), megabytes * 1_000_000)?;
    }
    let (mut plumbline, mut library) = (Vec::new(), Vec::new());
    for _ in 0..runs.max(1) {
        plumbline.push(spawn(&["tree", &ours.display().to_string()])?);
        library.push(parse(&Command::new(sonobuoy).arg(&theirs).arg(PLUGIN).output()?, "postprocess")?);
    }
    if let Some(odd) = library.iter().find(|measured| measured.items != cases) {
        return Err(format!("Sonobuoy's library read {} of {cases} test cases", odd.items).into());
    }
    // The file and the suite are items too.
    if let Some(odd) = plumbline.iter().find(|measured| measured.items != cases + 2) {
        return Err(format!("the tree has {} items for {cases} test cases", odd.items).into());
    }
    let of = |measured: &[Measured], part: fn(&Measured) -> f64| median(&measured.iter().map(part).collect::<Vec<_>>());
    let base = of(&plumbline, |measured| measured.seconds);
    let row = |what: &str, measured: &[Measured]| {
        let seconds = of(measured, |measured| measured.seconds);
        let kib = of(measured, |measured| measured.peak_kib as f64);
        [
            what.to_owned(),
            format!("{seconds:.2} s"),
            format!("{:.0} MiB", kib / 1024.0),
            format!("{:.1} ×", seconds / base),
        ]
    };
    let rows = [row("Sonobuoy", &library), row("Plumbline", &plumbline)];
    let title = format!("Post-processing of JUnit, {megabytes} MB, {cases} test cases (median of {runs})");
    table::print(&title, ["what", "time", "peak memory", "time / Plumbline"], &rows);
    Ok(())
}
