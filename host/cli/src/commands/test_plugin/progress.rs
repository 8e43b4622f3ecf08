//! Work, that is: time, with progress updates to the worker beside it.

use std::io;
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::report::Content;
use crate::args::{Ending, TestPluginArgs};
use crate::ui::say;

/// How long an update may take. It goes to the same pod: whoever takes longer is not there.
const POST_TIMEOUT: Duration = Duration::from_secs(5);
/// As much of an answer as its status line can be.
const ANSWER: u64 = 1024;

/// Works for as long as was asked, and tells how far it is. An update that nobody takes is said, and no more.
pub(crate) async fn work(args: &TestPluginArgs) {
    let Some(step) = args.after.checked_div(args.progress) else { return sleep(args.after).await };
    let host = format!("localhost:{}", args.progress_port);
    for update in 1..=args.progress {
        sleep(step).await;
        let body = update_body(args, update);
        match timeout(POST_TIMEOUT, post(&host, "/progress", &body)).await {
            Ok(Ok(status)) if status == "200" => say(&format!("test-plugin: progress {update}/{}", args.progress)),
            Ok(Ok(status)) => say(&format!("test-plugin: progress {update} was answered with status {status}")),
            Ok(Err(error)) => say(&format!("test-plugin: progress {update} could not be posted: {error}")),
            Err(_) => say(&format!("test-plugin: progress {update} was not answered in time")),
        }
    }
}

/// The n-th update: items are done in equal steps, and a failed one is told with the last.
fn update_body(args: &TestPluginArgs, update: u32) -> String {
    let done = u64::from(args.items) * u64::from(update) / u64::from(args.progress.max(1));
    let last = update == args.progress && args.outcome == Ending::Fail && args.items > 0;
    let failures: Vec<String> = last.then(|| Content::name(args.items)).into_iter().collect();
    let completed = done - failures.len() as u64;
    json!({"msg": format!("update {update}"), "total": args.items, "completed": completed, "failures": failures})
        .to_string()
}

/// Posts it to `host`, a name and a port; the status of the answer. By hand: this is the whole of HTTP that is needed, and a plugin in a
/// shell script does no more.
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
