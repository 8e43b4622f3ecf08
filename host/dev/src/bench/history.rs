//! Measures `plumbline history` over many archives: making the index, and queries with it.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use plumbline_archive::pack::{PackOptions, pack_directory};
use plumbline_dev::Result;
use serde_json::json;

use crate::bench::tools::{median_of, plumbline, print_table};

const ARCHIVES: usize = 500;
/// The tests in each, about as many as the suite of Kubernetes has.
const TESTS: usize = 7_000;
/// In a run of the conformance tests, one of this many tests runs.
const CONFORMANCE: usize = 15;
/// One of this many outcomes is a failure.
const FAILED: usize = 997;
const INDEX: &str = ".plumbline-history";

pub(crate) fn measure(program: Option<&Path>, runs: usize) -> Result<()> {
    let Some(program) = plumbline("the history of runs", program)? else { return Ok(()) };
    let mut rows = Vec::new();
    for (what, ran) in [("one of 15 tests runs", CONFORMANCE), ("every test runs", 1)] {
        let dir = tempfile::tempdir()?;
        let (packed, unpacked) = generate(dir.path(), ran)?;
        // The first query makes the index.
        let made = seconds(&program, dir.path(), &[])?;
        let index = fs::metadata(dir.path().join(INDEX))?.len();
        let query = |args: &[&str]| median_of(runs, || seconds(&program, dir.path(), args));
        let rate = |bytes: u64| format!("{:.0} MB/s", bytes as f64 / made / 1e6);
        rows.push([
            what.to_owned(),
            format!("{made:.1} s"),
            format!("{:.0} archives/s", ARCHIVES as f64 / made),
            rate(packed),
            rate(unpacked),
            format!("{:.1} MB", index as f64 / 1e6),
            format!("{:.0} ms", query(&[])? * 1e3),
            format!("{:.0} ms", query(&["--test", "variant 4711$"])? * 1e3),
            format!("{:.0} ms", query(&["-o", "json"])? * 1e3),
        ]);
    }
    let header = ["archives", "index", "rate", "packed", "unpacked", "index file", "text", "one test", "all as JSON"];
    print_table(&format!("History of {ARCHIVES} archives of {TESTS} tests (median of {runs})"), header, &rows);
    Ok(())
}

fn seconds(program: &Path, dir: &Path, args: &[&str]) -> Result<f64> {
    let mut command = Command::new(program);
    command.args(["history", "--quiet"]).args(args).arg(dir).stdout(Stdio::null());
    let start = Instant::now();
    let status = command.status()?;
    let seconds = start.elapsed().as_secs_f64();
    if status.success() { Ok(seconds) } else { Err(format!("`plumbline history` exited with {status}").into()) }
}

/// Writes the archives, one a day. Returns their size, packed and unpacked.
fn generate(dir: &Path, ran: usize) -> Result<(u64, u64)> {
    let tree = tempfile::tempdir()?;
    let plugin = tree.path().join("plugins/e2e");
    fs::create_dir_all(&plugin)?;
    fs::create_dir_all(tree.path().join("meta"))?;
    fs::write(tree.path().join("meta/info.json"), r#"{"plugins": ["e2e"]}"#)?;
    fs::write(tree.path().join("serverversion.json"), r#"{"gitVersion": "v1.37.2"}"#)?;
    let (mut packed, mut unpacked) = (0, 0);
    for number in 0..ARCHIVES {
        let config = json!({
            "UUID": format!("run-{number}"), "Version": "v0.57.0", "PlumblineVersion": "0.1.0",
            "PlumblineStarted": jiff::Timestamp::from_second(1_700_000_000 + 86_400 * number as i64)?.to_string(),
        });
        fs::write(tree.path().join("meta/config.json"), config.to_string())?;
        let results = plugin.join("sonobuoy_results.yaml");
        write_tree(&results, number, ran)?;
        unpacked += fs::metadata(&results)?.len();
        let archive = dir.join(format!("run-{number:04}.tar.gz"));
        pack_directory(tree.path(), File::create(&archive)?, &PackOptions::default(), &mut || false)?;
        packed += fs::metadata(&archive)?.len();
    }
    Ok((packed, unpacked))
}

fn write_tree(path: &Path, run: usize, ran: usize) -> Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    writeln!(out, "name: e2e\nstatus: failed\nmeta:\n  type: summary\nitems:")?;
    writeln!(out, "- name: junit_01.xml\n  status: failed\n  meta:\n    type: file\n  items:")?;
    writeln!(out, "  - name: Kubernetes e2e suite\n    status: failed\n    items:")?;
    for test in 0..TESTS {
        let status = match (test % ran == 0, (test + run).is_multiple_of(FAILED)) {
            (false, _) => "skipped",
            (true, true) => "failed",
            (true, false) => "passed",
        };
        writeln!(
            out,
            "    - name: \"[It] [sig-network] Services should serve endpoints on same port and different protocols, variant {test}\"\n      status: {status}"
        )?;
        if status != "skipped" {
            let seconds = (test * 7919 + run * 104_729) % 60_000;
            writeln!(out, "      meta:\n        duration: \"{}.{:03}\"", seconds / 1000, seconds % 1000)?;
        }
    }
    out.flush()?;
    Ok(())
}
