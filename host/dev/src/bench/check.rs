//! Measures what a check costs on the machine that runs it: compiled there, with code that another
//! process compiled, or with code of the cache. The checks are those that `plugin new` writes, one
//! for each language.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::GzEncoder;
use plumbline_author::build::missing_tool;
use plumbline_author::{Language, Project, new_project};
use plumbline_core::{CHECK_VARIABLE, CheckRun, CompiledCode, Definition, Digest, FlatItem, ModuleLimits};
use plumbline_dev::Result;
use plumbline_dev::proc::{cpu_seconds, cpu_seconds_with_children, rollup_kib, status_kib};
use plumbline_kubernetes::chunks::packed_bytes;
use plumbline_sandbox::{
    CheckProgress, CheckSink, Directory, ItemSink, NoLog, PluginInfo, RunCheck, Sandbox, SandboxConfig, code_target,
};
use serde_json::Value;

use crate::bench::tools::{in_child, median, median_of, plumbline, print_table};

const NAME: &str = "bench";
/// The bytes before the compressed code in the output of [`Sandbox::precompile`].
const CODE_HEAD: usize = 112;
/// How long a check may take.
const PATIENCE: Duration = Duration::from_secs(300);
/// The goal for the start of a cached check in Rust.
const START_GOAL: &str = "10 ms";
/// The goal for the resident memory while a check runs.
const MEMORY_GOAL: &str = "15 MiB";

struct Candidate {
    language: Language,
    definition: Definition,
    wasm: PathBuf,
    /// The output of [`Sandbox::precompile`].
    code: PathBuf,
    /// What compiling took: seconds, seconds of processor time, peak memory in KiB.
    compiled: [f64; 3],
}

pub(crate) fn measure(given: Option<&Path>, runs: usize) -> Result<()> {
    let Some(program) = plumbline("checks", given)? else { return Ok(()) };
    let dir = tempfile::tempdir()?;
    let runs = runs.max(1);
    let (mut sizes, mut cached, mut starts) = (Vec::new(), Vec::new(), Vec::new());
    for language in Language::ALL {
        match candidate(dir.path(), language) {
            Ok(candidate) => {
                sizes.push(size_cells(&candidate)?);
                cached.push(cached_cells(&candidate, &dir.path().join("code"), runs)?);
                for way in WAYS {
                    starts.push(start_cells(&program, dir.path(), &candidate, way, runs)?);
                }
            }
            Err(error) => println!("skipped: {language}: {error}"),
        }
    }
    let header = ["language", "component", "compressed", "compile", "processor time", "memory", "code", "compressed"];
    print_table("Compiling a check", header, &sizes);
    let header = ["language", "load from the cache, and run", "goal", "peak", "goal"];
    print_table(&format!("A cached check in the sandbox alone (median of {runs})"), header, &cached);
    let header =
        ["language", "code", "from start to end", "processor time", "peak", "goal", "resident", "of which its own"];
    print_table(&format!("The process of a check (median of {runs})"), header, &starts);
    Ok(())
}

/// Creates and builds the check of a language, and compiles it in a process of its own.
fn candidate(dir: &Path, language: Language) -> Result<Candidate> {
    let directory = dir.join(language.as_str());
    if let Some(missing) = missing_tool(language, &directory) {
        return Err(missing.into());
    }
    new_project(NAME, language, Some("check-module"), &directory)?;
    let project = Project::open(&directory)?;
    let sandbox = Sandbox::new(SandboxConfig::default())?;
    plumbline_author::build(&project, &sandbox, &mut |line| eprintln!("{line}"))?;
    let (wasm, code) = (project.module(), directory.join("bench.code"));
    let compiled = in_child("check-compile", &[wasm.as_os_str(), code.as_os_str()])?;
    let definition = definition_next_to(&wasm)?;
    Ok(Candidate { language, definition, wasm, code, compiled })
}

/// Returns the definition of the plugin whose component is at `wasm`.
fn definition_next_to(wasm: &Path) -> Result<Definition> {
    Ok(Definition::parse(&fs::read_to_string(wasm.with_file_name("plugin.yaml"))?)?.definition)
}

/// Compiles a component, writes its code, and prints what that took. Runs in a child process.
pub(crate) fn compile(wasm: &Path, code: &Path) -> Result<()> {
    let sandbox = Sandbox::new(SandboxConfig { max_instances: 1, ..SandboxConfig::default() })?;
    let accepted = sandbox.accept(NAME, fs::read(wasm)?)?;
    let (start, before) = (Instant::now(), cpu_seconds("self")?);
    let compiled = accepted.precompile()?;
    let seconds = start.elapsed().as_secs_f64();
    fs::write(code, compiled)?;
    println!("{seconds} {} {}", cpu_seconds("self")? - before, status_kib("self", "VmHWM")?);
    Ok(())
}

/// Loads the component of a plugin with code from the cache, runs it, and prints what that took:
/// seconds, and the peak of resident memory in KiB. The first call for a cache compiles the
/// component. Runs in a child process.
pub(crate) fn start(wasm: &Path, cache: &Path) -> Result<()> {
    let definition = definition_next_to(wasm)?;
    let plugin = PluginInfo {
        name: NAME.to_owned(),
        driver: definition.driver.as_str().to_owned(),
        expected_results: 1,
        options: Value::Object(definition.plumbline.options.clone()),
        ..PluginInfo::default()
    };
    let files = definition.plumbline.grants.files.iter();
    let call = RunCheck {
        plugin: &plugin,
        directories: files.filter_map(|path| Directory::of_node(Path::new(""), path).ok()).collect(),
        env: Vec::new(),
        now: None,
        cluster: None,
        network: None,
        owners: None,
        limits: &ModuleLimits::default(),
    };
    let (start, mut items) = (Instant::now(), Items(Vec::new()));
    let config = SandboxConfig { cache_dir: Some(cache.to_owned()), max_instances: 1, ..SandboxConfig::default() };
    let module = Sandbox::new(config)?.accept(NAME, fs::read(wasm)?)?.load()?;
    module.run_check(call, &mut items, &mut NoLog)?;
    let seconds = start.elapsed().as_secs_f64();
    if items.0.is_empty() || items.0.iter().any(|item| item.meta.contains_key("error")) {
        return Err(format!("the check failed: {:?}", items.0).into());
    }
    println!("{seconds} {}", status_kib("self", "VmHWM")?);
    Ok(())
}

struct Items(Vec<FlatItem>);

impl ItemSink for Items {
    fn item(&mut self, item: FlatItem) -> io::Result<()> {
        self.0.push(item);
        Ok(())
    }
}

impl CheckSink for Items {
    fn progress(&mut self, _: CheckProgress) -> io::Result<()> {
        Ok(())
    }
}

fn cached_cells(candidate: &Candidate, cache: &Path, runs: usize) -> Result<[String; 5]> {
    let run = || in_child::<2>("check-start", &[candidate.wasm.as_os_str(), cache.as_os_str()]);
    // It fills the cache.
    run()?;
    let (mut times, mut peaks) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        let [seconds, peak] = run()?;
        times.push(seconds);
        peaks.push(peak);
    }
    let goal = if candidate.language == Language::Rust { START_GOAL } else { "–" };
    let start = format!("{:.1} ms", median(&times) * 1e3);
    Ok([candidate.language.to_string(), start, goal.to_owned(), mib(median(&peaks)), MEMORY_GOAL.to_owned()])
}

fn size_cells(candidate: &Candidate) -> Result<[String; 8]> {
    let (wasm, code) = (fs::read(&candidate.wasm)?, fs::read(&candidate.code)?);
    let mut plain = Vec::new();
    DeflateDecoder::new(code.get(CODE_HEAD..).unwrap_or_default()).read_to_end(&mut plain)?;
    let [seconds, cpu, peak] = candidate.compiled;
    Ok([
        candidate.language.to_string(),
        kib(wasm.len()),
        kib(packed_bytes(&wasm)),
        milliseconds(seconds),
        milliseconds(cpu),
        mib(peak),
        kib(plain.len()),
        kib(code.len()),
    ])
}

/// Where the code of a check comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Compiles,
    Carried,
    Cached,
}

const WAYS: [Way; 3] = [Way::Compiles, Way::Carried, Way::Cached];

fn start_cells(program: &Path, dir: &Path, candidate: &Candidate, way: Way, runs: usize) -> Result<[String; 8]> {
    let mut process = Process::new(program, dir, candidate, way)?;
    if way == Way::Cached {
        process.run_to_end()?;
    }
    let time = median_of(runs, || process.run_to_end())?;
    let [cpu, peak, resident, own] = process.staying()?;
    let what = match way {
        Way::Compiles => "compiled by the process",
        Way::Carried => "with compiled code",
        Way::Cached => "from the cache",
    };
    Ok([
        candidate.language.to_string(),
        what.to_owned(),
        milliseconds(time),
        milliseconds(cpu),
        mib(peak),
        MEMORY_GOAL.to_owned(),
        mib(resident),
        mib(own),
    ])
}

/// The process of a check, as a pod or a local run starts it.
struct Process<'a> {
    program: &'a Path,
    run: CheckRun,
    results: PathBuf,
    cache: PathBuf,
}

impl<'a> Process<'a> {
    fn new(program: &'a Path, dir: &Path, candidate: &Candidate, way: Way) -> Result<Self> {
        let mut run = CheckRun::new(&candidate.definition, candidate.wasm.clone(), 1, ModuleLimits::default());
        if way != Way::Cached {
            // A pod has chunks, and no cache.
            run.root = "/".to_owned();
            run.component = candidate.wasm.with_file_name(if way == Way::Carried { "carried" } else { "chunks" });
            fs::create_dir_all(&run.component)?;
            pack(&fs::read(&candidate.wasm)?, &run.component.join("bench_bench.wasm.gz.000"))?;
        }
        if way == Way::Carried {
            let code = fs::read(&candidate.code)?;
            pack(&code, &run.component.join("bench_bench.code.gz.000"))?;
            let (digest, target) = (Digest::of(&code), code_target().to_owned());
            run.code = Some(CompiledCode { file: "bench.code".to_owned(), digest, target });
        }
        Ok(Self { program, run, results: dir.join("results"), cache: dir.join("cache") })
    }

    fn start(&self) -> Result<Child> {
        let _ = fs::remove_dir_all(&self.results);
        fs::create_dir(&self.results)?;
        let mut command = Command::new(self.program);
        command.arg("run-check").env(CHECK_VARIABLE, self.run.to_variable()?).env("RESULTS_DIR", &self.results);
        command.env("XDG_CACHE_HOME", &self.cache).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(command.spawn()?)
    }

    /// Runs the check. Returns the seconds from the start of the process to its end.
    fn run_to_end(&mut self) -> Result<f64> {
        self.run.stay = false;
        let start = Instant::now();
        let mut child = self.start()?;
        child.wait()?;
        let seconds = start.elapsed().as_secs_f64();
        let items = fs::read_to_string(self.results.join("items.jsonl"))?;
        if items.contains("\"error\"") {
            return Err(format!("the check failed: {items}").into());
        }
        Ok(seconds)
    }

    /// Runs the check in a process that stays afterwards, as in a DaemonSet. Returns its processor
    /// time with that of its children in seconds, then peak, resident and private memory in KiB.
    fn staying(&mut self) -> Result<[f64; 4]> {
        self.run.stay = true;
        let mut child = self.start()?;
        let (start, pid) = (Instant::now(), child.id().to_string());
        while !self.results.join("done").exists() && start.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(5));
        }
        // The process writes the file last. What it then frees, it frees at once.
        thread::sleep(Duration::from_millis(200));
        let measured = [
            Ok(cpu_seconds_with_children(&pid)?),
            status_kib(&pid, "VmHWM").map(|kib| kib as f64),
            rollup_kib(&pid, "Rss").map(|kib| kib as f64),
            rollup_kib(&pid, "Private_Dirty").map(|kib| kib as f64),
        ];
        child.kill()?;
        child.wait()?;
        let [cpu, peak, resident, own] = measured;
        Ok([cpu?, peak?, resident?, own?])
    }
}

/// Writes a file as the only chunk of itself. The process accepts a chunk of any size.
fn pack(bytes: &[u8], to: &Path) -> Result<()> {
    let mut file = GzEncoder::new(File::create(to)?, Compression::best());
    file.write_all(bytes)?;
    file.finish()?;
    Ok(())
}

fn kib(bytes: usize) -> String {
    match bytes as f64 / 1024.0 {
        kib if kib < 1024.0 => format!("{kib:.0} KiB"),
        kib => format!("{:.1} MiB", kib / 1024.0),
    }
}

fn mib(kib: f64) -> String {
    format!("{:.1} MiB", kib / 1024.0)
}

fn milliseconds(seconds: f64) -> String {
    if seconds < 1.0 { format!("{:.0} ms", seconds * 1e3) } else { format!("{seconds:.1} s") }
}
