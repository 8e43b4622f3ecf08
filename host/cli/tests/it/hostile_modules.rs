//! Hostile modules in the real binary, under the memory limit of the aggregator's pod. Each affects
//! only its own plugin.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use plumbline_core::limits::{POD_MEMORY, module_memory};
use serde_json::Value;

use crate::bed::{Bed, Done};

const ROLE: &str = r#"(instance $role) (export "plumbline:plugin/post-processor@0.1.0" (instance $role))"#;
const PASSES: &str = "echo '<testsuite><testcase name=\"t\"/></testsuite>' > $SONOBUOY_RESULTS_DIR/r.xml";

/// A control group with a memory limit, which is removed when this is dropped.
struct Group {
    dir: PathBuf,
    peak: &'static str,
    events: &'static str,
}

impl Group {
    /// Creates the group. Returns `None` if this machine does not let the test create one.
    fn create(limit: u64) -> Option<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("plumbline-test-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let root = Path::new("/sys/fs/cgroup");
        let unified = root.join("cgroup.controllers").exists();
        let group = if unified {
            // A failure does not matter: the controller may be enabled already, or only another
            // group may enable it.
            let _ = fs::write(root.join("cgroup.subtree_control"), "+memory");
            Self { dir: root.join(name), peak: "memory.peak", events: "memory.events" }
        } else {
            let (peak, events) = ("memory.max_usage_in_bytes", "memory.oom_control");
            Self { dir: root.join("memory").join(name), peak, events }
        };
        fs::create_dir(&group.dir).ok()?;
        let file = if unified { "memory.max" } else { "memory.limit_in_bytes" };
        fs::write(group.dir.join(file), limit.to_string()).ok()?;
        group.dir.join(group.peak).exists().then_some(group)
    }

    /// Returns the same command, started in the group.
    fn inside(&self, command: &Command) -> Command {
        let mut shell = Command::new("sh");
        let procs = self.dir.join("cgroup.procs");
        shell.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]).arg(procs).arg(command.get_program());
        shell.args(command.get_args()).stdin(Stdio::null());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        shell.current_dir(command.get_current_dir().unwrap());
        shell
    }

    /// The peak memory use in bytes, including cached files.
    fn peak(&self) -> u64 {
        fs::read_to_string(self.dir.join(self.peak)).unwrap().trim().parse().unwrap()
    }

    /// The number of processes that were killed for lack of memory.
    fn killed(&self) -> u64 {
        let events = fs::read_to_string(self.dir.join(self.events)).unwrap();
        events.lines().find_map(|line| line.strip_prefix("oom_kill ")).unwrap().parse().unwrap()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.dir);
    }
}

/// Creates a group, or prints that the test is skipped.
fn group() -> Option<Group> {
    let group = Group::create(POD_MEMORY);
    if group.is_none() {
        eprintln!("skipped: no control group with a limit on memory can be created here");
    }
    group
}

/// Writes the bundle `name` with the module `module` to the directory of that name. Returns its
/// path.
fn bundle(bed: &Bed, name: &str, module: &str, wasm: &[u8], limits: &str, script: &str) -> String {
    fs::create_dir(bed.path(name)).unwrap();
    fs::write(bed.path(name).join(format!("{module}.wasm")), wasm).unwrap();
    let yaml = format!(
        "sonobuoy-config:\n  plugin-name: {name}\n  driver: Process\n  result-format: {module}\n  result-files: [a.txt]\nplumbline:\n  options: {{behaviour: {name}}}\n  limits: {{{limits}}}\nspec:\n  name: plugin\n  command: [sh, -euc]\n  args: ['{script}']\n"
    );
    bed.write(&format!("{name}/plugin.yaml"), &yaml);
    format!("./{name}")
}

fn run_inside(bed: &Bed, group: &Group, plugins: &[&str]) -> Done {
    let mut args = vec!["run", "--local", "--dir", "out"];
    plugins.iter().for_each(|plugin| args.extend(["-p", *plugin]));
    Done::of(group.inside(&bed.command(&args)))
}

fn misbehave() -> Vec<u8> {
    let modules = std::env::var_os("PLUMBLINE_MODULES")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/modules"), PathBuf::from);
    let guest = modules.join("guests/misbehave.wasm");
    fs::read(&guest).unwrap_or_else(|error| panic!("guest {}: {error}; run `cargo xtask setup` first", guest.display()))
}

/// Returns a small component that takes more memory to compile than a pod has.
fn many_functions() -> Vec<u8> {
    let functions = "(func)".repeat(200_000);
    wat::parse_str(format!("(component (core module {functions}) {ROLE})")).unwrap()
}

/// The limit, the behaviour, the limits of the definition, the size of the input, and the text of
/// the item. The guest is also its own summarizer, which only the wall clock ends.
const CASES: &[(&str, &str, &str, u64, &str)] = &[
    ("wall-seconds", "endless-loop", "wall: 2s", 1, "limit `wall-seconds`: 2 seconds"),
    ("memory", "memory-growth", "wall: 60s", 1, "limit `memory`: 256 MiB"),
    ("stack", "recursion", "wall: 60s", 1, "limit `stack`: 1 MiB"),
    ("input-bytes", "read-flood", "input-bytes: 10MiB, wall: 5s", 20 << 20, "limit `input-bytes`: 10 MiB"),
    ("items", "item-flood", "items: 100000, wall: 60s", 1, "limit `items`: 100000 items"),
    ("output-bytes", "byte-flood", "output-bytes: 10MiB, wall: 60s", 1, "limit `output-bytes`: 10 MiB"),
    ("item-bytes", "meta-flood", "wall: 60s", 1, "limit `item-bytes`: 16 MiB"),
    ("depth", "deep-tree", "depth: 20, wall: 60s", 1, "limit `depth`: 20 levels"),
    ("hostcall-bytes", "huge-string", "wall: 60s", 1, "limit `hostcall-bytes`: 32 MiB"),
    // The tables of the guest have 144 elements.
    ("table-elements", "behave", "table-elements: 100, wall: 60s", 1, "limit `table-elements`: 100 elements"),
    ("statuses", "status-flood", "wall: 60s", 1, "limit `statuses`: 1000 different statuses"),
];

/// Fails unless the name of an item with the status `unknown` contains `want`.
fn assert_unknown(bed: &Bed, plugin: &str, want: &str, shown: &str) {
    fn says(item: &Value, want: &str) -> bool {
        let own = item["status"] == "unknown" && item["name"].as_str().is_some_and(|name| name.contains(want));
        own || item["items"].as_array().is_some_and(|items| items.iter().any(|item| says(item, want)))
    }
    assert!(says(&bed.tree(plugin), want), "no item of `{plugin}` says {want}: {shown}");
}

/// One run for each limit. With `--nocapture`, prints the rows of the table in docs/limits.md.
#[test]
fn every_limit_holds_in_the_memory_of_a_pod() {
    let guest = misbehave();
    for (limit, behaviour, limits, input, want) in CASES {
        let Some(group) = group() else { return };
        let bed = Bed::new();
        let script = format!("head -c {input} /dev/zero > $SONOBUOY_RESULTS_DIR/a.txt");
        let hostile = bundle(&bed, behaviour, "misbehave", &guest, limits, &script);
        bed.plugin("good", "result-format: junit", PASSES);
        let start = Instant::now();
        let done = run_inside(&bed, &group, &[&hostile, "good.yaml"]);
        let took = start.elapsed();
        assert_eq!(bed.tree("good")["status"], "passed", "{limit}: {}", done.shown(&bed));
        assert_unknown(&bed, behaviour, want, &done.shown(&bed));
        assert_eq!(group.killed(), 0, "{limit}");
        eprintln!("| `{limit}` | {behaviour} | {} MiB | {:.1} s |", group.peak() >> 20, took.as_secs_f64());
    }
}

/// All hostile modules in one run, which has the memory for three calls at a time.
#[test]
fn hostile_modules_side_by_side_fit_into_a_pod() {
    let Some(group) = group() else { return };
    let (guest, bed) = (misbehave(), Bed::new());
    bed.plugin("good", "result-format: junit", PASSES);
    let script = |input: &u64| format!("head -c {input} /dev/zero > $SONOBUOY_RESULTS_DIR/a.txt");
    let bundles: Vec<String> = CASES
        .iter()
        .map(|(_, behaviour, limits, input, _)| bundle(&bed, behaviour, "misbehave", &guest, limits, &script(input)))
        .collect();
    let plugins: Vec<&str> = bundles.iter().map(String::as_str).chain(["good.yaml"]).collect();
    let done = run_inside(&bed, &group, &plugins);
    assert_eq!(bed.tree("good")["status"], "passed", "{}", done.shown(&bed));
    for (_, behaviour, _, _, want) in CASES {
        assert_unknown(&bed, behaviour, want, &done.shown(&bed));
    }
    assert_eq!(group.killed(), 0);
}

/// Log lines above the limit do not fail a call.
#[test]
fn log_lines_above_the_limit_are_dropped_with_one_warning() {
    let Some(group) = group() else { return };
    let bed = Bed::new();
    let script = "echo a > $SONOBUOY_RESULTS_DIR/a.txt";
    let hostile = bundle(&bed, "log-flood", "misbehave", &misbehave(), "wall: 60s", script);
    bed.plugin("good", "result-format: junit", PASSES);
    let start = Instant::now();
    let done = run_inside(&bed, &group, &[&hostile, "good.yaml"]);
    let took = start.elapsed();
    assert_eq!(bed.tree("good")["status"], "passed", "{}", done.shown(&bed));
    let log = bed.member("meta/run.log");
    let (warnings, lines) =
        (log.matches("limit `log-bytes` reached: 65536 bytes").count(), log.matches("line ").count());
    assert_eq!(warnings, 1, "{}", done.shown(&bed));
    assert!((1_000..20_000).contains(&lines), "{lines} of 100,000 lines are in the log");
    assert_eq!(group.killed(), 0);
    eprintln!("| `log-bytes` | log-flood | {} MiB | {:.1} s |", group.peak() >> 20, took.as_secs_f64());
}

/// A judge that exceeds a limit could not finish. The results stay as they are, and so do the checks
/// that it reported before: they failed.
#[test]
fn limits_of_judges_hold_in_the_memory_of_a_pod() {
    let guest = misbehave();
    for (behaviour, want, status) in
        [("rule-flood", "limit `items`: 100000 items", "unknown"), ("check-flood", "more than 10000 checks", "failed")]
    {
        let Some(group) = group() else { return };
        let bed = Bed::new();
        let yaml = format!(
            "sonobuoy-config:\n  plugin-name: judged\n  driver: Process\n  result-format: junit\nplumbline:\n  limits: {{items: 100000, wall: 60s}}\n  verdict:\n  - {{judge: misbehave, options: {{behaviour: {behaviour}}}}}\nspec:\n  name: plugin\n  command: [sh, -euc]\n  args:\n  - |\n    {PASSES}\n"
        );
        bed.write("judged/plugin.yaml", &yaml);
        fs::write(bed.path("judged/misbehave.wasm"), &guest).unwrap();
        bed.plugin("good", "result-format: junit", PASSES);
        let start = Instant::now();
        let done = run_inside(&bed, &group, &["./judged", "good.yaml"]);
        let took = start.elapsed();
        for plugin in ["good", "judged"] {
            assert_eq!(bed.tree(plugin)["status"], "passed", "{behaviour}: {}", done.shown(&bed));
        }
        let verdict: Value = serde_json::from_str(&bed.member("plugins/judged/plumbline_verdict.json")).unwrap();
        assert_eq!(verdict["status"], status, "{behaviour}: {verdict}");
        let error = verdict["chain"][0]["error"].as_str().unwrap_or_default();
        assert!(error.contains(want), "{behaviour}: {verdict}");
        assert_eq!(group.killed(), 0, "{behaviour}");
        eprintln!("| judge | {behaviour} | {} MiB | {:.1} s |", group.peak() >> 20, took.as_secs_f64());
    }
}

#[test]
fn a_module_that_is_too_much_to_compile_is_an_unknown_item() {
    let Some(group) = group() else { return };
    let bed = Bed::new();
    let script = "echo a > $SONOBUOY_RESULTS_DIR/a.txt";
    let hostile = bundle(&bed, "huge", "big", &many_functions(), "", script);
    bed.plugin("good", "result-format: junit", PASSES);
    let start = Instant::now();
    let done = run_inside(&bed, &group, &[&hostile, "good.yaml"]);
    let took = start.elapsed();
    assert_eq!(bed.tree("good")["status"], "passed", "{}", done.shown(&bed));
    let want = format!("compiling module `big` took more than {} MiB of memory", module_memory(POD_MEMORY) >> 20);
    assert_unknown(&bed, "huge", &want, &done.shown(&bed));
    assert_eq!(group.killed(), 0);
    eprintln!("| compiling | 200,000 functions | {} MiB | {:.1} s |", group.peak() >> 20, took.as_secs_f64());
}

/// The process that compiles is killed when its processor time is used up.
#[test]
fn compiling_ends_with_its_processor_time() {
    let bed = Bed::new();
    fs::write(bed.path("big.wasm"), many_functions()).unwrap();
    let mut command = bed.command(&["compile-module", &(8_u64 << 30).to_string(), "1"]);
    command.stdin(fs::File::open(bed.path("big.wasm")).unwrap()).stdout(Stdio::null());
    let status = command.status().unwrap();
    assert!(!status.success(), "200,000 functions take several seconds");
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(24), "SIGXCPU: {status}");
}

/// A component whose parts multiply when they are instantiated is rejected before anything runs.
#[test]
fn a_component_that_unfolds_is_refused_at_once() {
    let mut levels = "(component $c0)".to_owned();
    for n in 1..=26 {
        let inner = n - 1;
        levels += &format!("(component $c{n} (instance (instantiate $c{inner})) (instance (instantiate $c{inner})))");
    }
    let wasm = wat::parse_str(format!("(component {levels} (instance (instantiate $c26)) {ROLE})")).unwrap();
    let bed = Bed::new();
    let hostile = bundle(&bed, "unfolds", "nested", &wasm, "", "true");
    let done = bed.plumbline(&["run", "--local", "-p", &hostile]);
    assert_ne!(done.code, 0);
    assert!(done.err.contains("too many component instances: 134217727 (limit: 1000)"), "{}", done.shown(&bed));
}

/// Components with more parts than the sandbox has slots for are rejected before anything runs.
#[test]
fn components_with_too_many_parts_are_refused_at_once() {
    let instances = |part: &str, number: usize| {
        format!("(core module $m {part}) {}", "(core instance (instantiate $m))".repeat(number))
    };
    for (parts, want) in [
        (instances("", 257), "too many core instances: 257 (limit: 256)"),
        (instances("(memory 1)", 5), "too many memories: 5 (limit: 4)"),
        (instances("(memory 16385)", 1), "too many bytes of memory: 1073807360 (limit: 1073741824)"),
        (instances(&"(table 1 funcref)".repeat(17), 1), "too many tables: 17 (limit: 16)"),
        (instances("(table 250001 funcref)", 1), "too many table elements: 250001 (limit: 250000)"),
    ] {
        let wasm = wat::parse_str(format!("(component {parts} {ROLE})")).unwrap();
        let bed = Bed::new();
        let hostile = bundle(&bed, "parts", "large", &wasm, "", "true");
        let done = bed.plumbline(&["run", "--local", "-p", &hostile]);
        assert_ne!(done.code, 0, "{want}");
        assert!(done.err.contains(want), "{}", done.shown(&bed));
    }
}
