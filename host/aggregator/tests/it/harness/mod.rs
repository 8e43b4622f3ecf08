//! Test harness: directories for runs, a scripted dispatcher, workers, and clients that misbehave.

mod archive;
mod dispatcher;
mod faults;
mod fixture;
mod raw;

pub(crate) use archive::Archive;
pub(crate) use dispatcher::{Launched, TestDispatcher};
pub(crate) use faults::{Crash, Failure, Hook, Plan};
pub(crate) use fixture::{LiveRun, RunFixture, copy_all, modules, source, subject, with_bundle};
pub(crate) use raw::{Answer, Raw, chunked_put, put_head};

use std::time::Duration;

use plumbline_aggregator::{State, WorkerAccess};
use plumbline_core::{Ledger, ResultKey};
use plumbline_phonehome::{Bytes, Client, ClientError, Outcome, RetryPolicy, Source, Upload};

/// Timeout of every operation in a test. Nothing should come near it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn key(text: &str) -> ResultKey {
    text.parse().unwrap()
}

pub(crate) fn client(access: &WorkerAccess) -> Client {
    Client::new(access).unwrap()
}

/// Returns a file with this name and content, ready to be sent.
pub(crate) fn file(name: &str, content: impl Into<Vec<u8>>) -> Upload {
    Upload::result(Source::Bytes(Bytes::from(content.into())), "text/plain", Some(name.to_owned()))
}

pub(crate) async fn send(access: &WorkerAccess, to: &str, upload: &Upload) -> Result<Outcome, ClientError> {
    client(access).put_result(&key(to), upload, &RetryPolicy::never()).await
}

pub(crate) async fn until(state: &State, mut wish: impl FnMut(&Ledger) -> bool) {
    let mut changes = state.changes();
    let wait = async {
        while !state.read(&mut wish) {
            changes.changed().await.unwrap();
        }
    };
    tokio::time::timeout(PATIENCE, wait).await.expect("the ledger does not become what it should be");
}
