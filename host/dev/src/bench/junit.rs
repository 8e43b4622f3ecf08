//! Measures JUnit: in the sandbox with all limits, native, in Go, and from the file to the result
//! tree on disk.

use plumbline_dev::Result;
use std::fs;

use crate::bench::child::{Measured, spawn};
use crate::bench::go::GoProgram;
use crate::bench::stats::median;
use crate::bench::{corpus, table};

pub(crate) fn measure(megabytes: u64, runs: usize, module: Option<&str>) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let results = dir.path().join("results/global");
    fs::create_dir_all(&results)?;
    let file = results.join("junit.xml");
    let cases = corpus::write(&file, megabytes * 1_000_000)?;
    let path = file.display().to_string();
    let below = dir.path().display().to_string();
    let go = GoProgram::build()?;

    // Interleave the measurements, so that other activity of the machine affects all of them.
    let (mut sandboxed, mut native, mut in_go, mut tree) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..runs.max(1) {
        let words = ["sandbox", &path].into_iter().chain(module);
        sandboxed.push(spawn(&words.collect::<Vec<_>>())?);
        native.push(spawn(&["quick-xml", &path])?);
        if let Ok(go) = &go {
            in_go.push(go.run(&file)?);
        }
        tree.push(spawn(&["tree", &below])?);
    }
    for measured in native.iter().chain(&in_go) {
        if measured.items != cases {
            return Err(format!("a baseline read {} of {cases} test cases", measured.items).into());
        }
    }
    // The file and the suite are items too.
    if let Some(odd) = sandboxed.iter().chain(&tree).find(|measured| measured.items != cases + 2) {
        return Err(format!("the module emitted {} items for {cases} test cases", odd.items).into());
    }

    let base = seconds(&sandboxed);
    let row = |what: &str, measured: &[Measured]| {
        let time = seconds(measured);
        [
            what.to_owned(),
            format!("{:.0} ms", time * 1e3),
            format!("{:.0} MB/s", megabytes as f64 / time),
            format!("{:.0} MiB", peak(measured) / 1024.0),
            format!("{:.2} ×", time / base),
        ]
    };
    let mut rows = vec![row("module in the sandbox, all limits on", &sandboxed), row("quick-xml, native", &native)];
    match &go {
        Ok(_) => rows.push(row("Go, `encoding/xml` into structs", &in_go)),
        Err(reason) => println!("skipped: the baseline in Go: {reason}"),
    }
    rows.push(row("file to result tree on disk", &tree));
    let title = format!("JUnit, {megabytes} MB, {cases} test cases (median of {runs})");
    table::print(&title, ["what", "time", "rate", "peak memory", "time / sandbox"], &rows);
    if go.is_ok() {
        println!(
            "\nsandbox against Go: {:.1} × as fast, {:.2} of the memory; against native quick-xml: {:.2} of its speed",
            seconds(&in_go) / base,
            peak(&sandboxed) / peak(&in_go),
            seconds(&native) / base
        );
    }
    Ok(())
}

fn seconds(measured: &[Measured]) -> f64 {
    median(&measured.iter().map(|measured| measured.seconds).collect::<Vec<_>>())
}

fn peak(measured: &[Measured]) -> f64 {
    median(&measured.iter().map(|measured| measured.peak_kib as f64).collect::<Vec<_>>())
}
