//! Tests of running checks in the harness, used as authors use it.
#![expect(clippy::indexing_slicing, reason = "tests")]

use std::fs;
use std::path::Path;

use plumbline_sdk::context::{FileType, Progress};
use plumbline_sdk::testing::Case;
use plumbline_sdk::{Checker, Context, Item, ObjectQuery, Output, PluginInfo, Status};
use serde_json::json;

/// Emits an item for each entry of a directory with its content, and one for each pod.
struct Inventory;

impl Checker for Inventory {
    fn run(plugin: &PluginInfo, context: &mut Context, out: &mut Output) -> Result<(), String> {
        let directory = plugin.options["directory"].as_str().unwrap_or("/etc/app");
        for entry in context.read_dir(directory)? {
            let item = Item::new(0, &entry.name);
            out.emit(match context.read_to_string(&format!("{directory}/{}", entry.name)) {
                Ok(text) => item.status(Status::Passed).text("content", text),
                Err(error) => item.status(Status::Unknown).meta("error", error.to_string()),
            });
        }
        context.progress(1, 2, "files");
        let pods = ObjectQuery::new("v1", "pods").namespace("kube-system");
        for pod in context.list(&pods)? {
            let pod = pod?;
            let name = pod["metadata"]["name"].as_str().unwrap_or_default();
            let known = context.get(&pods, name)?.is_some() && context.get(&pods, "nobody")?.is_none();
            out.emit(Item::new(0, name).status(if known { Status::Passed } else { Status::Failed }));
        }
        out.emit(Item::new(0, context.env("CLUSTER").unwrap_or("no name".to_owned())).status(Status::Passed));
        Ok(())
    }
}

plumbline_sdk::module! {
    name: "inventory",
    formats: [],
    default_files: [],
    rights: { "files": ["/etc/app"], "env": ["CLUSTER"] },
    check: Inventory,
}

#[test]
fn a_check_reads_what_the_case_grants() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("check");
    // What an earlier run of the test left there.
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(dir.join("app/sub")).unwrap();
    fs::write(dir.join("app/b"), "text").unwrap();
    fs::write(dir.join("app/a"), [0xff]).unwrap();
    fs::write(dir.join("secret"), "secret").unwrap();
    std::os::unix::fs::symlink("../secret", dir.join("app/link")).unwrap();
    let pod = |name: &str, namespace: &str| json!({"metadata": {"name": name, "namespace": namespace}});
    let case = Case::new().node_directory("/etc/app", dir.join("app")).env("CLUSTER", "test").objects(
        "v1",
        "pods",
        [pod("dns", "kube-system"), pod("web", "default")],
    );
    let run = case.check::<Inventory>();
    assert_eq!(run.outcome, Ok(()));
    assert_eq!(run.outline(), "a: unknown\nb: passed\nlink: unknown\nsub: unknown\ndns: passed\ntest: passed\n");
    let error = |name: &str| run.item(name).unwrap().meta[0].1.clone();
    assert_eq!(error("a"), "failed to read `/etc/app/a`: not UTF-8");
    assert_eq!(error("link"), "failed to read `/etc/app/link`: not permitted");
    assert_eq!(run.progress, [Progress { completed: 1, total: 2, message: "files".to_owned() }]);

    let broken = case.clone().broken_objects("v1", "pods", "the API server is gone").check::<Inventory>();
    assert_eq!(broken.outcome, Err("the API server is gone".to_owned()));
    let elsewhere = case.option("directory", "/etc/other").check::<Inventory>();
    assert_eq!(elsewhere.outcome, Err("failed to read `/etc/other`: no granted directory contains it".to_owned()));
}

#[test]
fn missing_grants_are_reported() {
    let run = Case::new().node_directory("/etc/app", env!("CARGO_MANIFEST_DIR")).check::<Inventory>();
    let error = run.outcome.unwrap_err();
    assert_eq!(error, "the case grants no `pods` of `v1`: add them with `Case::objects`");
}

/// Reads facts about a file in memory.
struct Facts;

impl Checker for Facts {
    fn run(_plugin: &PluginInfo, context: &mut Context, out: &mut Output) -> Result<(), String> {
        let found = context.metadata("/proc/swaps")?;
        assert_eq!((found.file_type, found.size), (FileType::File, 4));
        out.emit(Item::new(0, context.read_to_string("/proc/swaps")?).status(Status::Passed));
        Ok(())
    }
}

#[test]
fn a_single_file_needs_no_directory() {
    assert_eq!(Case::new().node_file("/proc/swaps", "none").check::<Facts>().outline(), "none: passed\n");
}
