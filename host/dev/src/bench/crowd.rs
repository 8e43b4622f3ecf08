//! Measures 500 uploads: sequentially, all at once, and all at once next to a client that sends 10
//! kB/s.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use plumbline_core::ResultKey;
use plumbline_dev::{Result, crawl};
use plumbline_phonehome::{Client, ClientConfig, RetryPolicy, Source, Upload};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use crate::bench::receiver::Receiver;
use crate::bench::tools::{median_by, percentile, print_table};

const UPLOADS: usize = 500;
/// Size of the slow client's result in kilobytes: more than it sends in any measurement.
const SLOW_PIECES: usize = 1_000_000;
const BYTES: usize = 256 << 10;

/// Returns the time of one upload in seconds, from its connection to the response.
async fn upload(config: Arc<ClientConfig>, key: ResultKey, body: Bytes) -> Result<f64> {
    let start = Instant::now();
    let client = Client::new(&config)?;
    let upload = Upload::result(Source::Bytes(body), "application/octet-stream", Some("result.bin".into()));
    client.put_result(&key, &upload, &RetryPolicy::never()).await?;
    Ok(start.elapsed().as_secs_f64())
}

struct Crowd {
    total: f64,
    each: Vec<f64>,
}

async fn run(at_once: bool, with_slow: bool) -> Result<Crowd> {
    let Receiver { dir: _dir, server, mut keys, config, .. } = Receiver::start(UPLOADS + 1).await?;
    let config = Arc::new(config);
    let slow = keys.pop().filter(|_| with_slow).map(|key| tokio::spawn(crawl(Arc::clone(&config), key, SLOW_PIECES)));
    let body = Bytes::from(vec![b'x'; BYTES]);
    let start = Instant::now();
    let mut each = Vec::with_capacity(UPLOADS);
    if at_once {
        let mut uploads = JoinSet::new();
        for key in keys {
            uploads.spawn(upload(Arc::clone(&config), key, body.clone()));
        }
        while let Some(done) = uploads.join_next().await {
            each.push(done??);
        }
    } else {
        for key in keys {
            each.push(upload(Arc::clone(&config), key, body.clone()).await?);
        }
    }
    let total = start.elapsed().as_secs_f64();
    if let Some(slow) = slow {
        if slow.is_finished() {
            return Err("the slow client was turned away".into());
        }
        slow.abort();
        let _ = slow.await;
    }
    server.stop().await;
    Ok(Crowd { total, each })
}

pub(crate) fn measure(runs: usize) -> Result<()> {
    let runtime = Runtime::new()?;
    let mut measured: [Vec<Crowd>; 3] = Default::default();
    for _ in 0..runs.max(1) {
        for ((at_once, slow), to) in [(false, false), (true, false), (true, true)].into_iter().zip(&mut measured) {
            to.push(runtime.block_on(run(at_once, slow))?);
        }
    }
    let row = |what: &str, runs: &[Crowd]| {
        let each = |percent| format!("{:.0} ms", median_by(runs, |crowd| percentile(&crowd.each, percent)) * 1e3);
        [what.to_owned(), format!("{:.2} s", median_by(runs, |crowd| crowd.total)), each(50.0), each(99.0)]
    };
    let [one, all, slowed] = &measured;
    let rows = [
        row("one after the other", one),
        row("all at once", all),
        row("all at once, with a client at 10 kB/s", slowed),
    ];
    let title =
        format!("{UPLOADS} uploads of {} KiB over mutual TLS, clients included (median of {runs})", BYTES >> 10);
    print_table(&title, ["what", "all of them", "p50", "p99"], &rows);
    let p99 = |runs: &[Crowd]| median_by(runs, |crowd| percentile(&crowd.each, 99.0));
    println!("\nthe slow client changes the others' p99 by {:+.1} %", (p99(slowed) / p99(all) - 1.0) * 100.0);
    Ok(())
}
