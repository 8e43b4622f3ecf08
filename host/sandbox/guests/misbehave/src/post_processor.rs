//! The role `post-processor`.

use std::hint::black_box;
use std::io::Read;

use plumbline_sdk::{InputFile, Item, Output, PluginInfo, PostProcessor, Status, log};

use crate::{Behaviour, Misbehave};

/// One mebibyte.
const MIB: usize = 1 << 20;
/// The number of items before a failure halfway.
const HALF: usize = 3;

impl PostProcessor for Misbehave {
    fn process(plugin: &PluginInfo, files: Vec<InputFile>, out: &mut Output) -> Result<(), String> {
        let behaviour = Behaviour::of(plugin)?;
        match behaviour {
            Behaviour::Behave | Behaviour::ReadFlood => read_all(files, out),
            Behaviour::ClusterOutOfRole => read_cluster(out),
            Behaviour::NetworkOutOfRole => reach_hosts(out),
            Behaviour::ProgressOutOfRole => report_progress(),
            Behaviour::RuleOutOfRole => rule(),
            Behaviour::EndlessLoop => spin(),
            Behaviour::Recursion => _ = black_box(recurse(1)),
            Behaviour::LargeFrames => _ = black_box(recurse_with_arrays(1)),
            Behaviour::MemoryGrowth => grow(),
            Behaviour::PanicHalfway => {
                half(out);
                let nothing: Option<u32> = black_box(None);
                #[expect(clippy::expect_used, reason = "this is what it is about")]
                nothing.expect("a result that is not there");
            }
            Behaviour::RefuseHalfway => {
                half(out);
                return Err("the files of this format end here".into());
            }
            Behaviour::LoopHalfway => {
                half(out);
                spin();
            }
            Behaviour::LongRefusal => return Err("no ".repeat(MIB)),
            _ => misuse_output(behaviour, out),
        }
        Ok(())
    }
}

/// Emits items or lines of the log that break a limit or a rule, in the role `post-processor` or
/// `check`.
pub(crate) fn misuse_output(behaviour: Behaviour, out: &mut Output) {
    match behaviour {
        Behaviour::ItemFlood => forever(|| out.emit(item())),
        Behaviour::ByteFlood => forever(|| out.emit(item().text("failure", "x".repeat(MIB)))),
        Behaviour::MetaFlood => {
            let fill = |item: Item, n: usize| item.meta(format!("key-{n}"), "");
            emit_now(out, (0..450_000).fold(item(), fill));
        }
        Behaviour::LogFlood => (0..100_000).for_each(|n| log::info!("line {n}")),
        Behaviour::LongLine => log::warning("\u{1b}[2J".repeat(MIB)),
        Behaviour::HugeString => emit_now(out, Item::new(0, "n".repeat(40 * MIB))),
        Behaviour::LongName => emit_now(out, Item::new(0, "n".repeat(MIB))),
        Behaviour::EmptyName => emit_now(out, Item::new(0, "")),
        Behaviour::LongStatus => emit_now(out, item().status(Status::Custom("s".repeat(300)))),
        Behaviour::StatusFlood => {
            let mut n = 0_u64;
            forever(|| {
                n += 1;
                out.emit(item().status(Status::Custom(format!("s{n}"))));
            });
        }
        Behaviour::LargeDetail => emit_now(out, item().text("failure", "x".repeat(17 * MIB))),
        Behaviour::FirstDepth => emit_now(out, Item::new(1, "child of nobody")),
        Behaviour::DepthJump => {
            emit_now(out, item());
            emit_now(out, Item::new(2, "grandchild of nobody"));
        }
        Behaviour::DeepTree => (0..1000).for_each(|depth| emit_now(out, Item::new(depth, "deep"))),
        Behaviour::InvalidJson => emit_now(out, item().raw_json("pod", "{\"kind\": Pod}")),
        Behaviour::DeepJson => emit_now(out, item().raw_json("pod", "[".repeat(MIB))),
        Behaviour::JsonBomb => {
            let json = format!("[{}[]]", "[],".repeat(MIB));
            emit_now(out, item().raw_json("pod", json));
        }
        Behaviour::BadBatch => {
            half(out);
            (0..HALF).for_each(|_| out.emit(item()));
            emit_now(out, Item::new(0, ""));
        }
        // `Silence`, and the behaviors of other roles.
        _ => {}
    }
}

pub(crate) fn item() -> Item {
    Item::new(0, "item").status(Status::Passed)
}

fn emit_now(out: &mut Output, item: Item) {
    out.emit(item);
    out.flush();
}

pub(crate) fn half(out: &mut Output) {
    (0..HALF).for_each(|_| out.emit(item()));
    out.flush();
}

/// Makes a ruling. The host offers the interface to every role, but the rules forbid this one to
/// use it.
fn rule() {
    #[cfg(target_arch = "wasm32")]
    plumbline_sdk::guest::judge::plumbline::plugin::judgement::rule(&[]);
}

/// Reads an object, and emits an item with the answer.
fn read_cluster(out: &mut Output) {
    #[cfg(target_arch = "wasm32")]
    if let Err(reason) = plumbline_sdk::guest::check_role::plumbline::plugin::cluster::get("v1", "nodes", None, "a") {
        out.emit(item().meta("outcome", reason));
    }
    #[cfg(not(target_arch = "wasm32"))]
    let _ = out;
}

/// Uses each function of the network, and emits items with the answers.
fn reach_hosts(out: &mut Output) {
    #[cfg(target_arch = "wasm32")]
    {
        use plumbline_sdk::guest::check_role::plumbline::plugin::network::{
            Request, Target, Trust, connect, resolve, send,
        };
        let request_of = Request {
            method: "GET".to_owned(),
            url: "http://example.com/".to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
            trust: Trust::System,
            timeout_ms: 0,
        };
        let mut failures = vec![send(&request_of).err(), resolve("example.com").err()];
        let target = Target { host: "example.com".to_owned(), port: 1 };
        failures.extend(connect(&[target], 0, 0).into_iter().map(Result::err));
        for failure in failures {
            out.emit(item().meta("outcome", failure.map(|failure| failure.to_string()).unwrap_or_default()));
        }
    }
    #[cfg(not(target_arch = "wasm32"))]
    let _ = out;
}

/// Reports progress.
fn report_progress() {
    #[cfg(target_arch = "wasm32")]
    plumbline_sdk::guest::check_role::plumbline::plugin::progress::report(1, 1, "");
}

fn read_all(files: Vec<InputFile>, out: &mut Output) {
    for mut file in files {
        let mut buffer = [0; 4096];
        let (mut bytes, mut failed) = (0, None);
        loop {
            match file.read(&mut buffer) {
                Ok(0) => break,
                Ok(n) => bytes += n,
                Err(error) => {
                    failed = Some(error.to_string());
                    break;
                }
            }
        }
        let item = Item::new(0, file.file_name()).meta("file", file.path()).meta("bytes", bytes.to_string());
        out.emit(match failed {
            Some(error) => item.status(Status::Unknown).meta("error", error),
            None => item.status(Status::Passed),
        });
    }
}

/// Loops endlessly, in a way that the compiler cannot detect.
pub(crate) fn forever(mut act: impl FnMut()) {
    while black_box(true) {
        act();
    }
}

pub(crate) fn spin() {
    forever(|| _ = black_box(0));
}

pub(crate) fn grow() {
    let mut kept: Vec<Vec<u8>> = Vec::new();
    forever(|| kept.push(black_box(vec![1; MIB])));
}

/// This is not a tail call, because work remains after it.
#[inline(never)]
pub(crate) fn recurse(depth: u64) -> u64 {
    if depth == 0 { 0 } else { recurse(depth.wrapping_add(1)).wrapping_mul(3).wrapping_add(depth) }
}

#[inline(never)]
fn recurse_with_arrays(depth: u64) -> u64 {
    let frame = black_box([depth; 512]);
    let below = if depth == 0 { 0 } else { recurse_with_arrays(depth.wrapping_add(1)) };
    frame.iter().fold(below, |sum, n| sum.wrapping_add(*n))
}
