//! The memory use of a worker.

use std::fs::{self, File};

use rustix::process::Signal;

use crate::aggregator::setup;
use crate::delivery::say_done;
use crate::process::{WorkerProcess, complete};

const MIB: u64 = 1 << 20;
/// Far more than a worker may use.
const LARGE: u64 = 200 * MIB;
/// The limit for a waiting worker, and for the additional memory of an upload. Resident pages are
/// mostly those of the executable, and unoptimised code with a test harness has more of them.
const SMALL: u64 = if cfg!(debug_assertions) { 18 * MIB } else { 10 * MIB };
/// The limit for a waiting worker's memory other than its executable.
const OWN: u64 = 2 * MIB;

#[tokio::test]
async fn a_worker_that_waits_is_small() {
    let (run, mut aggregator, dir) = setup().await;
    let mut worker = WorkerProcess::start(complete("global", &run, aggregator.address, dir.path()));
    aggregator.next("hello").await;
    worker.says(&["the aggregator registered"]).await;
    let (resident, own) = (worker.memory("VmRSS:"), worker.memory("RssAnon:"));
    println!("resident while it waits: {} KiB, {} KiB of it its own", resident >> 10, own >> 10);
    assert!(resident < SMALL && own < OWN, "{resident} bytes, {own} of them its own");
    worker.signal(Signal::TERM);
    worker.signal(Signal::INT);
    assert_eq!(worker.end().await.0, 0);
}

/// Returns the peak memory use of the worker until its result was uploaded.
async fn peak(named: &str, prepare: impl FnOnce(&std::path::Path)) -> (u64, u64) {
    let (run, mut aggregator, dir) = setup().await;
    prepare(dir.path());
    say_done(dir.path(), named);
    let worker = WorkerProcess::start(complete("-1", &run, aggregator.address, dir.path()));
    let heard = aggregator.next("results").await;
    assert_eq!(heard.header("x-plumbline-error"), None, "{:?}", heard.body);
    while aggregator.next("heartbeat").await.json("phase") != "done" {}
    let peak = worker.memory("VmHWM:");
    worker.signal(Signal::TERM);
    assert_eq!(worker.end().await.0, 0);
    println!("{named}: {} bytes sent, at most {} KiB resident", heard.bytes, peak >> 10);
    (heard.bytes, peak)
}

#[tokio::test]
async fn a_large_file_does_not_make_it_larger() {
    let (sent, peak) = peak("large.bin", |dir| {
        File::create(dir.join("large.bin")).unwrap().set_len(LARGE).unwrap();
    })
    .await;
    assert_eq!(sent, LARGE);
    assert!(peak < 2 * SMALL, "{peak} bytes");
}

#[tokio::test]
async fn neither_does_a_large_directory() {
    let (sent, peak) = peak("sub", |dir| {
        fs::create_dir(dir.join("sub")).unwrap();
        File::create(dir.join("sub/large.bin")).unwrap().set_len(LARGE).unwrap();
    })
    .await;
    assert!(sent < LARGE / 100, "zeros are packed to {sent} bytes");
    assert!(peak < 2 * SMALL, "{peak} bytes");
}
