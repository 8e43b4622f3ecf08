//! The role `check`.

use std::collections::BTreeSet;
use std::hint::black_box;
use std::io::Read;
use std::time::Duration;

use plumbline_sdk::context::{FileError, FileType};
use plumbline_sdk::network::{Attempts, Request, Target, Trust};
use plumbline_sdk::{Checker, Context, Item, ObjectQuery, Output, PluginInfo, Status};
use serde_json::Value;

use crate::post_processor::{forever, grow, half, misuse_output, recurse, spin};
use crate::{Behaviour, Misbehave};

/// The directory that the tests grant.
const GRANTED: &str = "/granted";
/// How often a file that is replaced meanwhile is opened at least.
const RACES: u32 = 2_000;

impl Checker for Misbehave {
    fn run(plugin: &PluginInfo, context: &mut Context, out: &mut Output) -> Result<(), String> {
        let behaviour = Behaviour::of(plugin)?;
        match behaviour {
            Behaviour::Behave => inventory(context, out)?,
            Behaviour::EndlessLoop => spin(),
            Behaviour::Recursion => _ = black_box(recurse(1)),
            Behaviour::MemoryGrowth => grow(),
            Behaviour::LoopHalfway => {
                half(out);
                // A report is lost if no worker takes it yet.
                forever(|| context.progress(1, 2, "half way"));
            }
            Behaviour::PanicHalfway => {
                half(out);
                let nothing: Option<u32> = black_box(None);
                #[expect(clippy::expect_used, reason = "this is what it is about")]
                nothing.expect("a check that is not there");
            }
            Behaviour::RefuseHalfway => {
                half(out);
                return Err("the rest cannot be checked".into());
            }
            Behaviour::ReadEnv => {
                for name in ["GRANTED", "PATH", "HOME"] {
                    out.emit(Item::new(0, name).meta("outcome", context.env(name).unwrap_or("not set".into())));
                }
            }
            Behaviour::ProgressFlood => {
                for n in 0..=100_000 {
                    context.progress(n, 100_000, "x".repeat(100));
                }
                out.emit(Item::new(0, "done").status(Status::Passed));
            }
            _ => read_files(behaviour, plugin, context, out)?,
        }
        Ok(())
    }
}

/// The behaviors with files.
fn read_files(
    behaviour: Behaviour,
    plugin: &PluginInfo,
    context: &mut Context,
    out: &mut Output,
) -> Result<(), String> {
    let granted = |name: &str| format!("{GRANTED}/{name}");
    let mut read_all = |directory: &str, names: &[&str]| {
        names.iter().for_each(|name| read(&format!("{directory}/{name}"), context, out));
    };
    match behaviour {
        Behaviour::ReadParent => read_all(GRANTED, &["../outside"]),
        Behaviour::ReadLink => read_all(GRANTED, &["link-out"]),
        Behaviour::ReadPipe => read_all(GRANTED, &["pipe"]),
        Behaviour::ReadMounted => {
            let leaving = ["directory/../../outside", "directory/link-out", "directory/absolute-link"];
            read_all(GRANTED, &[&["directory/file"][..], &leaving].concat());
        }
        Behaviour::ReadProcRoot => {
            read_all("/proc", &["self/root/etc/passwd", "self/cwd", "1/root/etc/passwd", "self/exe"]);
        }
        Behaviour::ReadProcOwn => {
            read_all("/proc", &["self/environ", "self/mem", "thread-self/maps", "self/auxv", "kcore"]);
        }
        Behaviour::ReadDevice => read_all("/dev", &["zero", "null", "tty"]),
        Behaviour::ReadNamed => {
            half(out);
            read(option(plugin, "file"), context, out);
        }
        Behaviour::ReadRaced => {
            for name in ["raced", "raced-directory/file"] {
                race(&granted(name), context, out);
            }
        }
        Behaviour::ListLink => {
            let listed = context.read_dir(&granted("directory-out"));
            emit(out, "directory-out", listed.map(|entries| entries.len().to_string()));
        }
        Behaviour::ListEndless => forever(|| _ = black_box(context.read_dir(GRANTED))),
        Behaviour::ReadEndless => {
            let mut file = context.open(&granted("endless"))?;
            let mut buffer = vec![0; 1 << 20];
            forever(|| _ = black_box(file.read(&mut buffer)));
        }
        Behaviour::ReadOwners => {
            for path in ["file", "pipe", "none", "../outside", "link-out", "directory-out", "../../../etc/passwd"] {
                let path = granted(path);
                let found = context.attributes(&path);
                emit(out, &path, found.map(|found| format!("{:o} {}", found.permissions(), found.uid)));
            }
            emit(out, "/etc", context.attributes("/etc").map(|_| String::new()));
        }
        _ => reach_others(behaviour, plugin, context, out)?,
    }
    Ok(())
}

/// The behaviors with objects of the cluster and with hosts.
fn reach_others(
    behaviour: Behaviour,
    plugin: &PluginInfo,
    context: &mut Context,
    out: &mut Output,
) -> Result<(), String> {
    match behaviour {
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
        Behaviour::ReadObjects => read_objects(&nodes(), context, out),
        Behaviour::ReadOtherObjects => {
            let namespace = option(plugin, "namespace");
            let namespace = if namespace.is_empty() { "granted" } else { namespace };
            other_objects(namespace).iter().for_each(|query| read_objects(query, context, out));
        }
        Behaviour::WaitForObjects => {
            half(out);
            read_objects(&nodes(), context, out);
        }
        Behaviour::ReachHosts => reach(context, out),
        Behaviour::RequestFlood => forever(|| _ = black_box(context.send(&Request::get(URL)))),
        Behaviour::LargeRequest => large_requests(context, out),
        Behaviour::WaitForHost => {
            let attempts = Attempts { timeout: Duration::MAX, wait: Duration::MAX };
            drop(context.connect(&[Target::new("a", 1)], attempts));
        }
        Behaviour::WaitForResponse => {
            let request = Request::get(url(plugin)).timeout(Duration::MAX);
            emit(out, "request", context.send(&request).map(|response| response.status.to_string()));
        }
        Behaviour::FollowRedirect => follow_redirect(url(plugin), context, out),
        Behaviour::ReachMetadata => METADATA.iter().for_each(|host| reach_host(host, 80, context, out)),
        Behaviour::Rebind => {
            let port = plugin.options.get("port").and_then(Value::as_u64).and_then(|port| u16::try_from(port).ok());
            (0..4).for_each(|_| reach_host("rebind.example.com", port.unwrap_or(80), context, out));
        }
        _ => {
            misuse_output(behaviour, out);
            #[cfg(target_arch = "wasm32")]
            crate::attempts::attempt(behaviour, out);
        }
    }
    Ok(())
}

/// Returns an option that is a string, or an empty one.
fn option<'a>(plugin: &'a PluginInfo, key: &str) -> &'a str {
    plugin.options.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the option `url`, or its default.
fn url(plugin: &PluginInfo) -> &str {
    match option(plugin, "url") {
        "" => URL,
        url => url,
    }
}

const URL: &str = "http://example.com/";

/// Metadata services of clouds: their addresses, the same in other forms, and a name.
const METADATA: [&str; 6] = [
    "169.254.169.254",
    "[::ffff:169.254.169.254]",
    "[64:ff9b::a9fe:a9fe]",
    "[fd00:ec2::254]",
    "100.100.100.200",
    "metadata.google.internal",
];

/// Uses each function of the network, and emits the outcomes.
fn reach(context: &mut Context, out: &mut Output) {
    emit(out, "request", context.send(&Request::get(URL)).map(|response| response.status.to_string()));
    emit(out, "resolve", context.resolve("example.com").map(|found| found.join(" ")));
    for result in context.connect(&[Target::new("example.com", 1), Target::new("b", 2)], Attempts::default()) {
        emit(out, "connect", result.map(|connection| connection.address));
    }
}

/// Sends a request to a host, and connects to it. Emits the outcomes.
fn reach_host(host: &str, port: u16, context: &mut Context, out: &mut Output) {
    let request = Request::get(format!("http://{host}:{port}/"));
    emit(out, "request", context.send(&request).map(|response| response.address));
    for result in context.connect(&[Target::new(host, port)], Attempts::default()) {
        emit(out, "connect", result.map(|connection| connection.address));
    }
}

/// Sends a request to `url`, and then one to the location in the response. Emits the outcomes.
fn follow_redirect(url: &str, context: &mut Context, out: &mut Output) {
    let response = context.send(&Request::get(url));
    let location = response.as_ref().ok().and_then(|response| response.header("location")).unwrap_or_default();
    let next = Request::get(location);
    emit(out, "request", response.map(|response| response.status.to_string()));
    emit(out, "redirect", context.send(&next).map(|response| response.status.to_string()));
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

/// Queries next to a grant of pods in a namespace. Only the first one is granted.
fn other_objects(namespace: &str) -> Vec<ObjectQuery> {
    let of = |api_version: &str, resource: &str| ObjectQuery::new(api_version, resource).namespace(namespace);
    let pods = |namespace: &str| ObjectQuery::new("v1", "pods").namespace(namespace);
    vec![
        of("v1", "pods"),
        ObjectQuery::new("v1", "pods"),
        pods("other"),
        pods(""),
        pods(&format!("{namespace}/../other")),
        of("v1", "secrets"),
        of("v1", "pods/log"),
        of("v1", "*"),
        of("v2", "pods"),
        of("", "pods"),
    ]
}

/// Lists and gets objects, and emits the outcomes.
fn read_objects(query: &ObjectQuery, context: &mut Context, out: &mut Output) {
    let first = context.list(query).and_then(|mut objects| objects.next().transpose());
    let name = |object: Option<Value>| {
        let name = object.as_ref().and_then(|object| object.pointer("/metadata/name")).and_then(Value::as_str);
        name.unwrap_or("none").to_owned()
    };
    emit(out, "list", first.map(name));
    emit(out, "get", context.get(query, "a").map(name));
}

/// Opens a file again and again, until one attempt succeeded and another one failed. Emits each
/// outcome once.
fn race(path: &str, context: &mut Context, out: &mut Output) {
    let (mut opened, mut refused, mut attempts) = (BTreeSet::new(), BTreeSet::new(), 0);
    while attempts < RACES || opened.is_empty() || refused.is_empty() {
        match first_line(path, context) {
            Ok(text) => opened.insert(text),
            Err(error) => refused.insert(error.to_string()),
        };
        attempts += 1;
    }
    opened.into_iter().chain(refused).for_each(|outcome| emit(out, path, Ok::<_, String>(outcome)));
}

/// Emits an item with the first line of a file, or the error.
fn read(path: &str, context: &mut Context, out: &mut Output) {
    let found = first_line(path, context);
    emit(out, path, found);
}

fn first_line(path: &str, context: &mut Context) -> Result<String, FileError> {
    let text = context.open(path).and_then(|_| context.read_to_string(path))?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

fn emit(out: &mut Output, name: &str, outcome: Result<String, impl ToString>) {
    let outcome = outcome.unwrap_or_else(|error| error.to_string());
    out.emit(Item::new(0, name).status(Status::Passed).meta("outcome", outcome));
}
