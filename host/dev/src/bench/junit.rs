//! Measures JUnit: in the sandbox with all limits, native, in Go, from the file to the result tree on
//! disk, and next to Sonobuoy's library.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use plumbline_aggregator::{LimitPolicy, Modules, Source, post_process, prepare};
use plumbline_core::{Definition, ModuleLimits};
use plumbline_dev::Result;
use plumbline_sandbox::{InputFile, Sandbox, SandboxConfig};
use quick_xml::Reader;
use quick_xml::escape::{resolve_predefined_entity, unescape};
use quick_xml::events::{BytesStart, Event};
use tempfile::TempDir;

use crate::bench::corpus;
use crate::bench::tools::{call, in_child, median_by, mib, numbers, print_table};

/// What a process measured: the time of the work in seconds, the number of items, which shows that
/// the work was done, and the peak of resident memory in KiB.
type Measured = [f64; 3];

fn seconds(measured: &[Measured]) -> f64 {
    median_by(measured, |[seconds, ..]| *seconds)
}

fn peak_kib(measured: &[Measured]) -> f64 {
    median_by(measured, |[_, _, kib]| *kib)
}

/// Returns an error if a measurement has another number of items.
fn check(whose: &str, measured: &[Measured], expected: u64) -> Result<()> {
    match measured.iter().find(|[_, items, _]| *items != expected as f64) {
        None => Ok(()),
        Some([_, items, _]) => Err(format!("{whose} read {items} instead of {expected} items").into()),
    }
}

pub(crate) fn measure(megabytes: u64, runs: usize, module: Option<&str>) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let results = dir.path().join("results/global");
    fs::create_dir_all(&results)?;
    let file = results.join("junit.xml");
    let cases = corpus::write(&file, megabytes * 1_000_000)?;
    let go = GoProgram::build()?;

    // Interleave the measurements, so that other activity of the machine affects all of them.
    let (mut sandboxed, mut native, mut in_go, mut tree) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let words: Vec<&OsStr> = [file.as_os_str()].into_iter().chain(module.map(OsStr::new)).collect();
    for _ in 0..runs.max(1) {
        sandboxed.push(in_child("sandbox", &words)?);
        native.push(in_child("quick-xml", &[file.as_os_str()])?);
        if let Ok(go) = &go {
            in_go.push(numbers(Command::new(&go.binary).arg(&file))?);
        }
        tree.push(in_child("tree", &[dir.path().as_os_str()])?);
    }
    check("quick-xml", &native, cases)?;
    check("the program in Go", &in_go, cases)?;
    // The file and the suite are items too.
    check("the module", &sandboxed, cases + 2)?;
    check("the module", &tree, cases + 2)?;

    let base = seconds(&sandboxed);
    let row = |what: &str, measured: &[Measured]| {
        let time = seconds(measured);
        [
            what.to_owned(),
            format!("{:.0} ms", time * 1e3),
            format!("{:.0} MB/s", megabytes as f64 / time),
            mib(peak_kib(measured)),
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
    print_table(&title, ["what", "time", "rate", "peak memory", "time / sandbox"], &rows);
    if go.is_ok() {
        println!(
            "\nsandbox against Go: {:.1} × as fast, {:.2} of the memory; against native quick-xml: {:.2} of its speed",
            seconds(&in_go) / base,
            peak_kib(&sandboxed) / peak_kib(&in_go),
            seconds(&native) / base
        );
    }
    Ok(())
}

/// Measures post-processing and Sonobuoy's library alternately. `sonobuoy` is the program
/// `host/e2e/cluster/sonobuoy/postprocess`.
pub(crate) fn next_to_sonobuoy(sonobuoy: Option<&Path>, megabytes: u64, runs: usize) -> Result<()> {
    const PLUGIN: &str = "bench";
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
        plumbline.push(in_child("tree", &[ours.as_os_str()])?);
        library.push(numbers(Command::new(sonobuoy).arg(&theirs).arg(PLUGIN))?);
    }
    check("Sonobuoy's library", &library, cases)?;
    check("the module", &plumbline, cases + 2)?;
    let base = seconds(&plumbline);
    let row = |what: &str, measured: &[Measured]| {
        let time = seconds(measured);
        [what.to_owned(), format!("{time:.2} s"), mib(peak_kib(measured)), format!("{:.1} ×", time / base)]
    };
    let rows = [row("Sonobuoy", &library), row("Plumbline", &plumbline)];
    let title = format!("Post-processing of JUnit, {megabytes} MB, {cases} test cases (median of {runs})");
    print_table(&title, ["what", "time", "peak memory", "time / Plumbline"], &rows);
    Ok(())
}

/// Measures only the decoding: the built-in module, or the one in a file, in the sandbox with all
/// limits. Returns the time in seconds, and the number of items.
pub(crate) fn sandbox(file: &Path, module: Option<&Path>) -> Result<(f64, u64)> {
    let sandbox = Sandbox::new(SandboxConfig::default())?;
    let module = match module {
        Some(path) => sandbox.load("junit", &fs::read(path)?)?,
        None => {
            // As in the program, the other modules are inspected, but not loaded.
            let built_in = plumbline_bundle::built_in::accept(&sandbox)?;
            built_in.into_iter().find(|module| module.name() == "junit").ok_or("no module `junit`")?.load()?
        }
    };
    let path = file.to_owned();
    let files = vec![InputFile {
        path: "results/global/junit.xml".into(),
        size: file.metadata()?.len(),
        open: Box::new(move || File::open(path).map(|file| Box::new(file) as Box<dyn Read + Send>)),
    }];
    let called = call(&module, files, &ModuleLimits::default())?;
    Ok((called.seconds, called.items))
}

/// Measures the whole way from the file to the result tree on disk.
pub(crate) fn tree(dir: &Path) -> Result<(f64, u64)> {
    let sandbox = Sandbox::new(SandboxConfig::default())?;
    let modules = Modules::new(sandbox.clone(), plumbline_bundle::built_in::accept(&sandbox)?);
    let yaml = "{sonobuoy-config: {plugin-name: bench, driver: Job, result-format: junit}, spec: {}}";
    let source = Source { definition: Arc::new(Definition::parse(yaml)?.definition), bundle: None };
    let plugin = prepare(&modules, &LimitPolicy::default(), source)?;
    let scratch = tempfile::tempdir_in(dir)?;
    let start = Instant::now();
    let tree = dir.join("tree.yaml");
    let outcome = post_process(&plugin.subject(), dir, &plugin.post_processor, scratch.path(), &tree)?;
    Ok((start.elapsed().as_secs_f64(), outcome.items))
}

struct GoProgram {
    binary: PathBuf,
    _dir: TempDir,
}

impl GoProgram {
    /// Builds the program. Without Go, returns the reason why it was not built.
    fn build() -> Result<std::result::Result<Self, String>> {
        let dir = tempfile::tempdir()?;
        fs::write(dir.path().join("go.mod"), include_str!("../../go/go.mod"))?;
        fs::write(dir.path().join("main.go"), include_str!("../../go/main.go"))?;
        let binary = dir.path().join("junit");
        let built = Command::new("go").args(["build", "-o"]).arg(&binary).arg(".").current_dir(dir.path()).output();
        Ok(match built {
            Err(error) => Err(format!("no Go: {error}")),
            Ok(output) if !output.status.success() => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
            Ok(_) => Ok(Self { binary, _dir: dir }),
        })
    }
}

struct Item {
    name: String,
    status: &'static str,
    details: Vec<(&'static str, String)>,
}

/// The baseline in Rust: quick-xml without a sandbox or limits. It does the same work: it decodes
/// every test case into an item with its name, status and texts. Returns the time in seconds, and the
/// number of test cases.
pub(crate) fn native(path: &Path) -> Result<(f64, u64)> {
    let start = Instant::now();
    let mut reader = Reader::from_reader(BufReader::with_capacity(1 << 20, File::open(path)?));
    let mut buffer = Vec::new();
    let mut count = 0;
    let mut item: Option<Item> = None;
    let mut text: Option<(&'static str, String)> = None;
    loop {
        match reader.read_event_into(&mut buffer)? {
            Event::Eof => return Ok((start.elapsed().as_secs_f64(), count)),
            Event::Start(tag) => match tag.local_name().as_ref() {
                b"testcase" => {
                    item = Some(Item { name: attribute(&tag, b"name")?, status: "passed", details: Vec::new() });
                }
                b"failure" => text = Some(("failure", attribute(&tag, b"message")?)),
                b"error" => text = Some(("error", attribute(&tag, b"message")?)),
                b"skipped" => text = Some(("skipped", attribute(&tag, b"message")?)),
                b"system-out" => text = Some(("system-out", String::new())),
                b"system-err" => text = Some(("system-err", String::new())),
                _ => {}
            },
            Event::Text(bytes) => {
                if let Some((_, text)) = &mut text {
                    text.push_str(&bytes.decode()?);
                }
            }
            Event::CData(bytes) => {
                if let Some((_, text)) = &mut text {
                    text.push_str(&bytes.decode()?);
                }
            }
            Event::GeneralRef(name) => {
                if let Some((_, text)) = &mut text {
                    text.push_str(resolve_predefined_entity(&name.decode()?).unwrap_or_default());
                }
            }
            Event::End(tag) => match tag.local_name().as_ref() {
                b"testcase" => {
                    if let Some(item) = item.take() {
                        std::hint::black_box((&item.name, item.status, &item.details));
                        count += 1;
                    }
                }
                b"failure" | b"error" | b"skipped" | b"system-out" | b"system-err" => {
                    if let (Some(item), Some((key, text))) = (&mut item, text.take()) {
                        item.status = match key {
                            "failure" | "error" => "failed",
                            "skipped" => "skipped",
                            _ => item.status,
                        };
                        item.details.push((key, text.trim().to_owned()));
                    }
                }
                _ => {}
            },
            _ => {}
        }
        buffer.clear();
    }
}

fn attribute(tag: &BytesStart<'_>, name: &[u8]) -> Result<String> {
    for attribute in tag.attributes() {
        let attribute = attribute?;
        if attribute.key.as_ref() == name {
            let value = std::str::from_utf8(&attribute.value).map_err(io::Error::other)?;
            return Ok(unescape(value)?.into_owned());
        }
    }
    Ok(String::new())
}
