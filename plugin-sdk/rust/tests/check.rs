//! Tests of running checks in the harness, used as authors use it.
#![expect(clippy::indexing_slicing, reason = "tests")]

use std::fs;
use std::path::Path;

use plumbline_sdk::context::{Attributes, FileType, Progress};
use plumbline_sdk::network::{NetworkError, Request, Response};
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

/// Emits the owner and the mode of files.
struct Owners;

impl Checker for Owners {
    fn run(_plugin: &PluginInfo, context: &mut Context, out: &mut Output) -> Result<(), String> {
        for path in ["/etc/app", "/etc/app/key", "/etc/app/file", "/etc/app/none", "/etc/other"] {
            let item = Item::new(0, path);
            out.emit(match context.attributes(path) {
                Ok(found) => item.meta("found", format!("{}:{} {:o}", found.uid, found.gid, found.permissions())),
                Err(error) => item.meta("found", error.to_string()),
            });
        }
        Ok(())
    }
}

#[test]
fn owners_and_modes_are_those_of_the_case_or_of_root() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("owners");
    fs::create_dir_all(&dir).unwrap();
    for file in ["key", "file"] {
        fs::write(dir.join(file), "").unwrap();
    }
    let key = Attributes { mode: 0o100_600, uid: 1000, gid: 100 };
    let run = Case::new().node_directory("/etc/app", &dir).attributes("/etc/app/key", key).check::<Owners>();
    let found: Vec<String> = run.items.iter().map(|item| item.meta[0].1.clone()).collect();
    assert_eq!(found[..3], ["0:0 755", "1000:100 600", "0:0 644"]);
    assert_eq!(found[3], "failed to read `/etc/app/none`: it does not exist");
    assert_eq!(found[4], "failed to read `/etc/other`: no granted directory contains it");
}

/// Sends requests.
struct Requests;

impl Checker for Requests {
    fn run(_plugin: &PluginInfo, context: &mut Context, out: &mut Output) -> Result<(), String> {
        let get = Request::get("https://example.com/health");
        let post = Request { method: "POST".to_owned(), ..get.clone() };
        for request in [get, post, Request::get("https://example.com/gone"), Request::get("https://other.example.com/")]
        {
            let item = Item::new(0, format!("{} {}", request.method, request.url));
            out.emit(match context.send(&request) {
                Ok(Response { status, body, .. }) => {
                    let passed = if status == 200 { Status::Passed } else { Status::Failed };
                    item.status(passed).meta("answer", String::from_utf8_lossy(&body).into_owned())
                }
                Err(error) if error.is_of_the_target() => item.status(Status::Failed).meta("answer", error.to_string()),
                Err(error) => item.status(Status::Unknown).meta("answer", error.to_string()),
            });
        }
        Ok(())
    }
}

#[test]
fn responses_are_those_of_the_case_and_all_others_are_denied() {
    let refused = NetworkError::Refused("the port is closed".to_owned());
    let run = Case::new()
        .response("GET", "https://example.com/health", Ok(Response::new(200, "fine")))
        .response("POST", "https://example.com/health", Ok(Response::new(405, "")))
        .response("GET", "https://example.com/gone", Err(refused))
        .check::<Requests>();
    assert_eq!(
        run.outline(),
        "GET https://example.com/health: passed\nPOST https://example.com/health: failed\n\
         GET https://example.com/gone: failed\nGET https://other.example.com/: unknown\n"
    );
    let answers: Vec<String> = run.items.iter().map(|item| item.meta[0].1.clone()).collect();
    assert_eq!(answers[..3], ["fine", "", "the port is closed"]);
    assert_eq!(answers[3], "the case does not grant `GET https://other.example.com/`: add it with `Case::response`");
}
