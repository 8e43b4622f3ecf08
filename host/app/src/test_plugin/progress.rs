//! The work of the test plugin: it waits, and posts progress to its worker.

use std::io;
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::results::Content;
use super::{Ending, TestPluginOptions};
use crate::context::Context;

/// How long posting an update within the pod may take.
const POST_TIMEOUT: Duration = Duration::from_secs(5);
/// The most bytes of an answer that are read, for its status line.
const ANSWER: u64 = 1024;

/// Waits as long as the options say, and posts progress. An update that fails is only reported.
pub(super) async fn work(context: &Context, options: &TestPluginOptions) {
    let Some(step) = options.after.checked_div(options.progress) else { return sleep(options.after).await };
    let host = format!("localhost:{}", options.progress_port);
    for update in 1..=options.progress {
        sleep(step).await;
        let body = update_body(options, update);
        match timeout(POST_TIMEOUT, post(&host, "/progress", &body)).await {
            Ok(Ok(status)) if status == "200" => {
                context.reporter.progress(&format!("test-plugin: progress {update}/{}", options.progress))
            }
            Ok(Ok(status)) => {
                context.reporter.progress(&format!("test-plugin: progress {update} was answered with status {status}"))
            }
            Ok(Err(error)) => {
                context.reporter.progress(&format!("test-plugin: progress {update} could not be posted: {error}"))
            }
            Err(_) => context.reporter.progress(&format!("test-plugin: progress {update} was not answered in time")),
        }
    }
}

/// The body of an update. Items complete in equal steps, and the last update has the failed one.
fn update_body(options: &TestPluginOptions, update: u32) -> String {
    let done = u64::from(options.items) * u64::from(update) / u64::from(options.progress.max(1));
    let last = update == options.progress && options.outcome == Ending::Fail && options.items > 0;
    let failures: Vec<String> = last.then(|| Content::name(options.items)).into_iter().collect();
    let completed = done - failures.len() as u64;
    json!({"msg": format!("update {update}"), "total": options.items, "completed": completed, "failures": failures})
        .to_string()
}

/// Posts `body` to `host`, a name and a port, and returns the status of the answer. Needs no HTTP
/// client, like a plugin in a shell script.
pub(super) async fn post(host: &str, path: &str, body: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(host).await?;
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(ANSWER).read_to_end(&mut answer).await?;
    let answer = String::from_utf8_lossy(&answer);
    let status = answer.split_ascii_whitespace().nth(1);
    status.map(str::to_owned).ok_or_else(|| io::Error::other("the answer is none of HTTP"))
}
