//! What a call costs: `cargo run --release -p plumbline-sandbox --example call_cost -- COMPONENT.wasm [FILE]`.
//!
//! Loads a component that is a post-processor and calls it again and again: without files, and with the file, if there is one.
#![forbid(unsafe_code)]

use std::error::Error;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::time::{Duration, Instant};

use plumbline_core::{FlatItem, ModuleLimits};
use plumbline_sandbox::{InputFile, ItemSink, Module, NoLog, PluginInfo, PostProcess, Sandbox, SandboxConfig};

/// Calls without files.
const CALLS: u32 = 2_000;
/// Calls with the file.
const RUNS: u32 = 5;

/// Counts and forgets.
struct Count(u64);

impl ItemSink for Count {
    fn item(&mut self, _: FlatItem) -> io::Result<()> {
        self.0 += 1;
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let component = args.next().ok_or("usage: call_cost COMPONENT.wasm [FILE]")?;

    let start = Instant::now();
    let sandbox = Sandbox::new(SandboxConfig::default())?;
    println!("sandbox        {:>10.3} ms", ms(start.elapsed()));
    let start = Instant::now();
    let module = sandbox.load("measured", &fs::read(component)?)?;
    println!("load, compiled {:>10.3} ms", ms(start.elapsed()));

    let mut times: Vec<Duration> = Vec::new();
    for _ in 0..CALLS {
        let start = Instant::now();
        call(&module, None)?;
        times.push(start.elapsed());
    }
    times.sort();
    for (what, percent) in [("median", 50), ("p99", 99)] {
        let at = times.len() * percent / 100;
        let time = times.get(at).copied().unwrap_or_default();
        println!("call, {what:<6}   {:>10.1} µs", ms(time) * 1000.0);
    }
    if let Some(file) = args.next() {
        let size = fs::metadata(&file)?.len();
        let mut best = Duration::MAX;
        let mut items = 0;
        for _ in 0..RUNS {
            let start = Instant::now();
            items = call(&module, Some(Path::new(&file)))?;
            best = best.min(start.elapsed());
        }
        let rate = size as f64 / best.as_secs_f64() / f64::from(1 << 20);
        println!("file           {:>10.1} ms, {rate:.0} MiB/s, {items} items", ms(best));
    }
    Ok(())
}

fn call(module: &Module, path: Option<&Path>) -> Result<u64, Box<dyn Error>> {
    let plugin = PluginInfo { name: "measured".into(), driver: "Job".into(), ..PluginInfo::default() };
    let mut files = Vec::new();
    if let Some(path) = path {
        let owned = path.to_owned();
        files.push(InputFile {
            path: "results/global/measured".into(),
            size: fs::metadata(path)?.len(),
            open: Box::new(move || File::open(owned).map(|file| Box::new(file) as Box<dyn Read + Send>)),
        });
    }
    let mut count = Count(0);
    let limits = ModuleLimits::default();
    module.post_process(PostProcess { plugin: &plugin, files, limits: &limits }, &mut count, &mut NoLog)?;
    Ok(count.0)
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
