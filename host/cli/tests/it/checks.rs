//! Checks as plugins of local runs: a component in place of a process. The guest of the sandbox's
//! tests is the check.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use plumbline_dev::ApiDouble;
use serde_json::{Value, json};

use crate::bed::{Bed, Done, entries, signal, wait_for};

/// The command that runs the bundle `look`.
const RUN: [&str; 6] = ["run", "--local", "--dir", "out", "-p", "look"];

/// Writes the bundle `look`, whose check behaves as `behaviour` says, which further options may
/// follow. `own` has further lines of the section `plumbline`.
pub(crate) fn bundle(bed: &Bed, behaviour: &str, own: &str) -> PathBuf {
    let yaml = format!(
        "sonobuoy-config: {{driver: Process, plugin-name: look}}\nplumbline:\n  component: misbehave.wasm\n  options: {{behaviour: {behaviour}}}\n{own}"
    );
    let definition = bed.write("look/plugin.yaml", &yaml);
    let directory = definition.parent().unwrap().to_owned();
    let modules = std::env::var_os("PLUMBLINE_MODULES")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/modules"), PathBuf::from);
    fs::copy(modules.join("guests/misbehave.wasm"), directory.join("misbehave.wasm")).unwrap();
    directory
}

pub(crate) fn run(bed: &Bed) -> Done {
    bed.plumbline(&RUN)
}

/// The items of the plugin in the tree, below the file that has them.
fn items(bed: &Bed) -> Vec<Value> {
    leaves(&bed.tree("look"))
}

fn leaves(item: &Value) -> Vec<Value> {
    match item["items"].as_array() {
        Some(items) => items.iter().flat_map(leaves).collect(),
        None => vec![item.clone()],
    }
}

/// The outcomes of what the check tried.
fn outcomes(items: &[Value]) -> Vec<&str> {
    items.iter().map(|item| item["meta"]["outcome"].as_str().unwrap_or_default()).collect()
}

/// Fails unless the archive has the items that the check emitted before its end.
#[track_caller]
pub(crate) fn assert_kept(bed: &Bed) {
    let items = items(bed);
    let kept = items.iter().filter(|item| item["name"] == "item" && item["status"] == "passed");
    assert_eq!(kept.count(), 3, "{items:?}");
}

/// Compiles the check. After that, loading it takes little of its time.
pub(crate) fn compile(bed: &Bed) {
    bundle(bed, "progress-flood", "");
    run(bed).expect(0);
    fs::remove_dir_all(bed.path("out")).unwrap();
}

/// Starts an API server in memory, and writes `kubeconfig`.
fn cluster(bed: &Bed) -> ApiDouble {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let double = runtime.block_on(ApiDouble::start()).unwrap();
    bed.write("kubeconfig", &double.kubeconfig());
    double
}

/// Runs the program with `kubeconfig`.
fn with_cluster(bed: &Bed, args: &[&str]) -> Done {
    let mut command = bed.command(args);
    command.env("KUBECONFIG", bed.path("kubeconfig"));
    Done::of(command)
}

/// Returns the process that runs the check of a run.
fn process_of_check(run: u32) -> String {
    let is_it = |process: &PathBuf| {
        let read = |file: &str| fs::read_to_string(process.join(file)).unwrap_or_default();
        let stat = read("stat");
        let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_ascii_whitespace().nth(1));
        read("cmdline").contains("run-check") && parent == Some(run.to_string().as_str())
    };
    let found = entries(Path::new("/proc")).into_iter().find(is_it).unwrap();
    found.file_name().unwrap().to_str().unwrap().to_owned()
}

/// The only failure: an unknown item that says why.
pub(crate) fn reason(bed: &Bed) -> String {
    let items = items(bed);
    let last = items.last().unwrap();
    assert_eq!((&last["name"], &last["status"]), (&"look".into(), &"unknown".into()), "{items:?}");
    last["meta"]["error"].as_str().unwrap().to_owned()
}

#[test]
fn a_check_runs_in_place_of_a_process() {
    let bed = Bed::new();
    bundle(&bed, "progress-flood", "  grants: {files: [/proc, /no/such/directory]}\n");
    let planned = bed.plumbline(&["run", "--local", "--dir", "out", "-p", "look", "--dry-run"]).expect(0);
    let rights = "would run the check `misbehave.wasm`, with these rights: files: /proc; files: /no/such/directory";
    assert!(planned.err.contains(rights), "{}", planned.err);
    run(&bed).expect(0);
    let items = items(&bed);
    assert_eq!((items.len(), &items[0]["name"], &items[0]["status"]), (1, &"done".into(), &"passed".into()));
    let definition: Value = serde_json::from_str(&bed.member("plugins/look/definition.json")).unwrap();
    assert_eq!(definition["Definition"]["plumbline"]["component"], "misbehave.wasm");
    assert_eq!(definition["Definition"]["plumbline"]["grants"]["files"][0], "/proc");
    let modules: Value = serde_json::from_str(&bed.member("meta/modules.json")).unwrap();
    let check = &modules["plugins"][0]["modules"][0];
    assert_eq!((&check["role"], &check["file"]), (&"check".into(), &"misbehave.wasm".into()));
    let log = bed.member("podlogs/local/look/logs/global.txt");
    assert!(log.contains("does not see the directory `/no/such/directory`"), "{log}");
}

#[test]
fn the_second_run_compiles_nothing() {
    let bed = Bed::new();
    bundle(&bed, "progress-flood", "");
    for origin in ["compiled here", "compiled before, from the cache"] {
        run(&bed).expect(0);
        let log = bed.member("podlogs/local/look/logs/global.txt");
        assert!(log.contains(origin), "{log}");
        fs::remove_dir_all(bed.path("out")).unwrap();
    }
}

#[test]
fn only_granted_variables_are_seen() {
    let bed = Bed::new();
    bundle(&bed, "read-env", "  grants: {env: [GRANTED, HOME]}\n");
    run(&bed);
    let seen: Vec<(String, bool)> = items(&bed)
        .iter()
        .map(|item| (item["name"].as_str().unwrap().to_owned(), item["meta"]["outcome"] != "not set"))
        .collect();
    let expected = [("GRANTED", false), ("PATH", false), ("HOME", true)];
    assert_eq!(seen, expected.map(|(name, seen)| (name.to_owned(), seen)));
}

#[test]
fn the_error_of_a_check_is_an_unknown_item() {
    let bed = Bed::new();
    // The check needs objects, and no cluster is granted.
    bundle(&bed, "object-flood", "");
    assert_ne!(run(&bed).code, 0);
    assert!(!reason(&bed).is_empty());
}

#[test]
fn a_check_that_exceeds_its_time_is_ended_and_not_green() {
    let bed = Bed::new();
    bundle(&bed, "list-endless", "  limits: {wall: 1s}\n");
    assert_ne!(run(&bed).code, 0);
    // Whether the sandbox or the process ends it depends on the time to load it.
    assert!(reason(&bed).contains("limit"), "{}", reason(&bed));
    assert!(!bed.members().iter().any(|member| member.contains("/errors/")));
}

#[test]
fn what_a_check_emitted_before_it_waited_too_long_is_kept() {
    let bed = Bed::new();
    compile(&bed);
    // It accepts connections, and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = format!("http://{}", silent.local_addr().unwrap());
    let cluster = json!({"name": "c", "cluster": {"server": server}});
    let context = json!({"name": "c", "context": {"cluster": "c", "user": "c"}});
    let user = json!({"name": "c", "user": {}});
    let kubeconfig = json!({"apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [cluster], "contexts": [context], "users": [user]});
    bed.write("kubeconfig", &kubeconfig.to_string());
    let objects = "  limits: {wall: 8s}\n  grants: {kubernetes: [{api-version: v1, resources: [nodes]}]}\n";
    let mut cases = vec![("wait-for-objects", objects)];
    // Reading it waits for the next message of the kernel.
    match fs::File::open("/proc/kmsg") {
        Ok(_) => {
            cases.push(("read-named, file: /proc/kmsg", "  limits: {wall: 8s}\n  grants: {files: [/proc]}\n"));
        }
        Err(error) => eprintln!("SKIPPED: a file whose read never ends: /proc/kmsg: {error}"),
    }
    for (behaviour, own) in cases {
        bundle(&bed, behaviour, own);
        assert_ne!(with_cluster(&bed, &RUN).code, 0, "{behaviour}");
        assert_eq!(reason(&bed), "the check was not complete after 8 s, its time limit", "{behaviour}");
        assert_kept(&bed);
        fs::remove_dir_all(bed.path("out")).unwrap();
    }
}

#[test]
fn what_a_check_emitted_before_a_crash_or_an_error_is_kept() {
    let bed = Bed::new();
    for (behaviour, why) in [("panic-halfway", "crashed"), ("refuse-halfway", "the rest cannot be checked")] {
        bundle(&bed, behaviour, "");
        assert_ne!(run(&bed).code, 0, "{behaviour}");
        assert!(reason(&bed).contains(why), "{}", reason(&bed));
        assert_kept(&bed);
        fs::remove_dir_all(bed.path("out")).unwrap();
    }
}

/// The check reports progress after its first items, and never ends.
#[test]
fn progress_of_a_check_is_in_the_status_and_a_signal_leaves_its_items() {
    for name in ["TERM", "KILL"] {
        let bed = Bed::new();
        bundle(&bed, "loop-halfway", "");
        let running = bed.start("run", &RUN);
        wait_for("the progress in the status", || bed.plumbline(&["status", "--local"]).out.contains("half way"));
        let status: Value = serde_json::from_str(&bed.plumbline(&["status", "--local", "--json"]).out).unwrap();
        let progress = &status["plugins"][0]["progress"];
        assert_eq!((&progress["completed"], &progress["total"]), (&1.into(), &2.into()), "{status:#}");
        signal(name, &process_of_check(running.id()));
        let done = running.wait();
        assert_ne!(done.code, 0, "{name}");
        assert_kept(&bed);
        if name == "TERM" {
            assert_eq!(reason(&bed), "the check was interrupted before it was complete");
        } else {
            let items = items(&bed);
            let killed = |item: &Value| item["name"] == "process was killed by signal 9" && item["status"] == "failed";
            assert!(items.iter().any(killed), "{items:?}");
        }
    }
}

#[test]
fn a_check_reads_no_objects_next_to_its_grant() {
    let bed = Bed::new();
    let double = cluster(&bed);
    for namespace in ["granted", "other"] {
        double.put("pods", json!({"metadata": {"name": "a", "namespace": namespace}}));
    }
    let grant = "  grants: {kubernetes: [{api-version: v1, resources: [pods], namespaces: [granted]}]}\n";
    bundle(&bed, "read-other-objects", grant);
    with_cluster(&bed, &RUN).expect(0);
    let items = items(&bed);
    let outcomes = outcomes(&items);
    let (granted, others) = outcomes.split_at(2);
    assert_eq!((granted, others.len()), (["a", "a"].as_slice(), 18));
    assert!(others.iter().all(|text| text.contains("is not granted")), "{others:?}");
    let paths: Vec<String> = double.requests().into_iter().map(|request| request.path).collect();
    assert_eq!(paths, ["/api/v1/namespaces/granted/pods", "/api/v1/namespaces/granted/pods/a"]);
}

#[test]
fn a_check_that_emits_nothing_is_not_green() {
    let bed = Bed::new();
    bundle(&bed, "silence", "");
    assert_ne!(run(&bed).code, 0);
    assert_eq!(reason(&bed), "the check emitted no item");
}

/// Adds a section with metadata to a component: its size and that of its name in LEB128.
fn with_metadata(wasm: &mut Vec<u8>, metadata: &str) {
    fn leb(mut value: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        while value > 0x7f {
            bytes.push(u8::try_from(value & 0x7f).unwrap() | 0x80);
            value >>= 7;
        }
        bytes.push(u8::try_from(value).unwrap());
        bytes
    }
    let name = "plumbline:module";
    let content = [&leb(name.len())[..], name.as_bytes(), metadata.as_bytes()].concat();
    wasm.extend([&[0][..], &leb(content.len()), &content].concat());
}

#[test]
fn rights_that_are_missing_stop_a_run_before_it_starts_with_the_lines_to_add() {
    let bed = Bed::new();
    let module = bundle(&bed, "read-env", "  grants: {files: [/etc]}\n").join("misbehave.wasm");
    let mut wasm = fs::read(&module).unwrap();
    let rights =
        r#"{"files": ["/etc/kubernetes", "/proc"], "kubernetes": [{"api-version": "v1", "resources": ["nodes"]}]}"#;
    with_metadata(&mut wasm, &format!(r#"{{"name": "misbehave", "rights": {rights}}}"#));
    fs::write(&module, wasm).unwrap();
    for args in [&["run", "--local", "--dir", "out", "-p", "look"][..], &["plugin", "lint", "look"]] {
        let done = bed.plumbline(args);
        assert_ne!(done.code, 0);
        let text = format!("{}{}", done.out, done.err);
        let lines = "plumbline:\n    grants:\n      files: [\"/proc\"]\n      kubernetes:\n      - {api-version: v1, resources: [nodes]}";
        let plain: Vec<&str> = text.lines().map(str::trim).collect();
        for line in lines.lines() {
            assert!(plain.contains(&line.trim()), "{line}: {text}");
        }
    }
    assert!(bed.archives().is_empty());
}

#[test]
fn inspection_shows_what_a_check_needs_and_what_it_is_granted() {
    let bed = Bed::new();
    let module = bundle(&bed, "read-env", "  grants: {files: [/etc], env: [HOME]}\n").join("misbehave.wasm");
    let mut wasm = fs::read(&module).unwrap();
    with_metadata(&mut wasm, r#"{"name": "misbehave", "rights": {"files": ["/etc/kubernetes"], "env": ["HOME"]}}"#);
    fs::write(&module, wasm).unwrap();
    let text = bed.plumbline(&["plugin", "inspect", "look"]).expect(0).out;
    for (key, value) in [
        ("check", "misbehave.wasm"),
        ("grants", "files: /etc"),
        ("grants", "env: HOME"),
        ("needs", "files: /etc/kubernetes"),
        ("needs", "env: HOME"),
    ] {
        let row = format!("  {key:12} {value}");
        assert!(text.lines().any(|line| line == row), "{row}: {text}");
    }
    let bundle = bed.plumbline(&["plugin", "inspect", "look", "-o", "json"]).expect(0).out;
    let bundle: Value = serde_json::from_str(&bundle).unwrap();
    let definition = &bundle["definition"];
    assert_eq!(definition["component"], "misbehave.wasm");
    assert_eq!(definition["grants"], json!({"files": ["/etc"], "env": ["HOME"]}));
    let rights = json!({"files": ["/etc/kubernetes"], "env": ["HOME"]});
    assert_eq!(bundle["modules"][0]["metadata"]["rights"], rights);
    let alone = bed.plumbline(&["plugin", "inspect", "look/misbehave.wasm"]).expect(0).out;
    assert!(alone.contains("needs        files: /etc/kubernetes\n"), "{alone}");
}

#[test]
fn a_check_that_is_not_there_stops_a_run_before_it_starts() {
    let bed = Bed::new();
    fs::remove_file(bundle(&bed, "behave", "").join("misbehave.wasm")).unwrap();
    let done = run(&bed).expect(2);
    assert!(done.err.contains("check `misbehave.wasm` not found"), "{}", done.err);
    bundle(&bed, "behave", "");
    // A single file is not a bundle.
    let done = bed.plumbline(&["run", "--local", "--dir", "out", "-p", "look/plugin.yaml"]).expect(2);
    assert!(done.err.contains("pass the directory to `--plugin`"), "{}", done.err);
}

#[test]
fn an_author_runs_a_check_without_a_run_around_it() {
    let bed = Bed::new();
    let component = bundle(&bed, "read-env", "  grants: {env: [HOME]}\n").join("misbehave.wasm");
    // The directory of a plugin: its options and grants.
    let done = bed.plumbline(&["plugin", "run", "look", "-o", "json"]);
    assert!(
        done.err.contains("runs the check `misbehave.wasm` on this machine, with these rights: env: HOME"),
        "{}",
        done.err
    );
    let tree: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!((done.code, &tree["name"]), (5, &"look".into()), "items without a status are unknown: {tree:#}");
    assert!(done.out.contains("not set"));

    // A component alone: the rights that it declares, and options of the command line.
    let file = component.to_str().unwrap();
    let done = bed.plumbline(&["plugin", "run", file, "--option", "behaviour=progress-flood"]).expect(0);
    assert!(done.err.contains("with these rights: none") && done.out.contains("name: done"), "{}", done.out);
    let late =
        bed.plumbline(&["plugin", "run", file, "--option", "behaviour=list-endless", "--timeout", "1s"]).expect(5);
    assert!(late.out.contains("limit"), "{}", late.out);

    bundle(&bed, "read-objects", "  grants: {kubernetes: [{api-version: v1, resources: [nodes]}]}\n");
    let refused = bed.plumbline(&["plugin", "run", "look"]).expect(2);
    assert!(
        refused.err.contains("reads objects of a cluster") && refused.err.contains("`--cluster`"),
        "{}",
        refused.err
    );
    let dev = bed.start("dev", &["plugin", "dev", "look"]);
    wait_for("the notice about the cluster", || {
        fs::read_to_string(bed.path("dev.err")).is_ok_and(|text| text.contains("add `--cluster` to run it"))
    });
    bundle(&bed, "progress-flood", "");
    wait_for("the check of the second round", || {
        fs::read_to_string(bed.path("dev.out")).is_ok_and(|text| text.contains("name: done"))
    });
    dev.signal("INT");
    dev.wait().expect(0);

    bed.write("other/plugin.yaml", "sonobuoy-config: {driver: Job, plugin-name: p}\nspec: {name: plugin}\n");
    assert!(bed.plumbline(&["plugin", "run", "other"]).expect(2).err.contains("does not run a check"));
    bed.plumbline(&["plugin", "run", "other/plugin.yaml"]).expect(2);
}

#[test]
fn an_author_runs_a_check_on_the_cluster_of_the_kubeconfig() {
    let bed = Bed::new();
    let double = cluster(&bed);
    double.put("nodes", json!({"metadata": {"name": "a"}}));
    bundle(&bed, "read-objects", "  grants: {kubernetes: [{api-version: v1, resources: [nodes]}]}\n");
    let done = with_cluster(&bed, &["plugin", "run", "look", "--cluster", "-o", "json"]).expect(0);
    let tree: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(outcomes(&leaves(&tree)), ["a", "a"], "{tree:#}");

    let mut command = bed.command(&["plugin", "dev", "look", "--cluster"]);
    command.env("KUBECONFIG", bed.path("kubeconfig"));
    let dev = bed.start_command("dev", command);
    let shows = |text: &str| fs::read_to_string(bed.path("dev.out")).is_ok_and(|out| out.contains(text));
    wait_for("the node of the first round", || shows("outcome: a\n"));
    double.remove("nodes", "", "a");
    bundle(&bed, "wait-for-objects", "  grants: {kubernetes: [{api-version: v1, resources: [nodes]}]}\n");
    wait_for("the second round, without a node", || shows("outcome: none\n"));
    dev.signal("INT");
    dev.wait().expect(0);
}
