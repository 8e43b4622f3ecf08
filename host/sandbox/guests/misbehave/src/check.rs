//! The role `check`.

use std::hint::black_box;
use std::io::Read;
use std::time::Duration;

use plumbline_sdk::context::FileType;
use plumbline_sdk::network::{Attempts, Request, Target, Trust};
use plumbline_sdk::{Checker, Context, Item, ObjectQuery, Output, PluginInfo, Status};

use crate::post_processor::forever;
use crate::{Behaviour, Misbehave};

/// The directory that the tests grant.
const GRANTED: &str = "/granted";

impl Checker for Misbehave {
    fn run(plugin: &PluginInfo, context: &mut Context, out: &mut Output) -> Result<(), String> {
        let granted = |name: &str| format!("{GRANTED}/{name}");
        let behaviour = Behaviour::of(plugin)?;
        match behaviour {
            Behaviour::Behave => inventory(context, out)?,
            Behaviour::ReadParent => read(&granted("../outside"), context, out),
            Behaviour::ReadLink => read(&granted("link-out"), context, out),
            Behaviour::ListLink => {
                let listed = context.read_dir(&granted("directory-out"));
                emit(out, "directory-out", listed.map(|entries| entries.len().to_string()));
            }
            Behaviour::ReadProcRoot => {
                ["self/root/etc/passwd", "self/cwd", "1/root/etc/passwd", "self/exe"]
                    .iter()
                    .for_each(|name| read(&format!("/proc/{name}"), context, out));
            }
            Behaviour::ReadProcOwn => {
                ["self/environ", "self/mem", "thread-self/maps", "self/auxv", "kcore"]
                    .iter()
                    .for_each(|name| read(&format!("/proc/{name}"), context, out));
            }
            Behaviour::ReadPipe => read(&granted("pipe"), context, out),
            Behaviour::ReadDevice => {
                ["zero", "null", "tty"].iter().for_each(|name| read(&format!("/dev/{name}"), context, out));
            }
            Behaviour::ReadEndless => {
                let mut file = context.open(&granted("endless"))?;
                let mut buffer = vec![0; 1 << 20];
                forever(|| _ = black_box(file.read(&mut buffer)));
            }
            Behaviour::ListEndless => forever(|| _ = black_box(context.read_dir(GRANTED))),
            Behaviour::ReadEnv => {
                for name in ["GRANTED", "PATH", "HOME"] {
                    out.emit(Item::new(0, name).meta("outcome", context.env(name).unwrap_or("not set".into())));
                }
            }
            Behaviour::ListFlood => {
                let lists: Vec<_> = (0..100).map(|_| context.list(&nodes())).collect();
                let open = lists.iter().filter(|list| list.is_ok()).count();
                let reason = lists.into_iter().find_map(Result::err).unwrap_or_default();
                out.emit(Item::new(0, open.to_string()).meta("outcome", reason));
            }
            Behaviour::ObjectFlood => {
                let mut objects = context.list(&nodes())?;
                forever(|| _ = black_box(objects.next()));
            }
            Behaviour::ReadObjects => {
                let listed = context.list(&nodes()).map(|_| String::new());
                emit(out, "list", listed);
                emit(out, "get", context.get(&nodes(), "a").map(|_| String::new()));
            }
            Behaviour::ReadOwners => {
                for path in ["file", "pipe", "none", "../outside", "link-out", "directory-out", "../../../etc/passwd"] {
                    let path = granted(path);
                    let found = context.attributes(&path);
                    emit(out, &path, found.map(|found| format!("{:o} {}", found.permissions(), found.uid)));
                }
                emit(out, "/etc", context.attributes("/etc").map(|_| String::new()));
            }
            Behaviour::ReachHosts => reach(context, out),
            Behaviour::RequestFlood => forever(|| _ = black_box(context.send(&Request::get(URL)))),
            Behaviour::LargeRequest => large_requests(context, out),
            Behaviour::WaitForHost => {
                let attempts = Attempts { timeout: Duration::MAX, wait: Duration::MAX };
                drop(context.connect(&[Target::new("a", 1)], attempts));
            }
            Behaviour::ProgressFlood => {
                for n in 0..=100_000 {
                    context.progress(n, 100_000, "x".repeat(100));
                }
                out.emit(Item::new(0, "done").status(Status::Passed));
            }
            #[cfg(target_arch = "wasm32")]
            _ => crate::attempts::attempt(behaviour, out),
            #[cfg(not(target_arch = "wasm32"))]
            _ => {}
        }
        Ok(())
    }
}

const URL: &str = "http://example.com/";

/// Uses each function of the network, and emits the outcomes.
fn reach(context: &mut Context, out: &mut Output) {
    emit(out, "request", context.send(&Request::get(URL)).map(|response| response.status.to_string()));
    emit(out, "resolve", context.resolve("example.com").map(|found| found.join(" ")));
    for result in context.connect(&[Target::new("example.com", 1), Target::new("b", 2)], Attempts::default()) {
        emit(out, "connect", result.map(|connection| connection.address));
    }
}

/// Sends requests of which one part is too large.
fn large_requests(context: &mut Context, out: &mut Output) {
    let large = |bytes: usize| "x".repeat(bytes + 1);
    let get = || Request::get(URL);
    for request in [
        Request { method: large(8 << 10), ..get() },
        Request { url: large(8 << 10), ..get() },
        get().header("a", large(64 << 10)),
        Request { body: large(1 << 20).into_bytes(), ..get() },
        get().trust(Trust::Certificates(large(1 << 20))),
    ] {
        emit(out, "request", context.send(&request).map(|_| String::new()));
    }
    emit(out, "resolve", context.resolve(&large(8 << 10)).map(|_| String::new()));
}

/// Emits everything that is granted: entries of the directory, files with their content, a variable
/// and objects.
fn inventory(context: &mut Context, out: &mut Output) -> Result<(), String> {
    for entry in context.read_dir(GRANTED)? {
        let path = format!("{GRANTED}/{}", entry.name);
        match entry.file_type {
            FileType::File | FileType::Link => read(&path, context, out),
            other => out.emit(Item::new(0, path).meta("outcome", format!("{other:?}"))),
        }
    }
    read("/proc/self/comm", context, out);
    read("/missing/file", context, out);
    out.emit(Item::new(0, "env").meta("outcome", context.env("GRANTED").unwrap_or_default()));
    for node in context.list(&nodes())? {
        let node = node?;
        let name = node.pointer("/metadata/name").and_then(|name| name.as_str()).unwrap_or_default();
        out.emit(Item::new(0, "node").meta("outcome", name));
    }
    let node = context.get(&nodes(), "node-1")?;
    out.emit(Item::new(0, "get").meta("outcome", node.is_some().to_string()));
    context.progress(1, 2, "half");
    Ok(())
}

fn nodes() -> ObjectQuery {
    ObjectQuery::new("v1", "nodes")
}

/// Emits an item with the first line of a file, or the error.
fn read(path: &str, context: &mut Context, out: &mut Output) {
    let found = context.open(path).and_then(|_| context.read_to_string(path));
    emit(out, path, found.map(|text| text.lines().next().unwrap_or_default().to_owned()));
}

fn emit(out: &mut Output, name: &str, outcome: Result<String, impl ToString>) {
    let outcome = outcome.unwrap_or_else(|error| error.to_string());
    out.emit(Item::new(0, name).status(Status::Passed).meta("outcome", outcome));
}
