//! A custom worker: sends a hello, reports progress, and sends a file or a directory as the result
//! of a plugin.
//!
//! Plumbline's own worker also waits for a done file and relays the progress of another process. A
//! program that gathers its results itself does not need that. README.md says how to run this
//! example.
#![forbid(unsafe_code)]

mod archive;
mod arguments;
mod signs;

use std::error::Error;
use std::process::ExitCode;

use plumbline_phonehome::{Client, Outcome, Phase, RetryPolicy, Upload};

use crate::archive::Packed;
use crate::arguments::Arguments;
use crate::signs::Signs;

/// The exit code for invalid arguments.
const USAGE: u8 = 2;

type Failure = Box<dyn Error + Send + Sync>;

// A worker mostly waits, so one thread is enough.
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments = match Arguments::read() {
        Ok(arguments) => arguments,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(USAGE);
        }
    };
    match work(arguments).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: failed to {}", in_one_line(error.as_ref()));
            if let Some(hint) = error.downcast_ref::<plumbline_phonehome::ClientError>().and_then(|error| error.hint())
            {
                eprintln!("hint: {hint}");
            }
            ExitCode::FAILURE
        }
    }
}

async fn work(arguments: Arguments) -> Result<(), Failure> {
    let client = Client::new(&arguments.config)?;
    let signs = Signs::begin(client.clone(), arguments.key.clone(), &arguments.path);

    signs.progress("packing").await;
    let path = arguments.path.clone();
    // Reading and compressing block, and heartbeats must continue meanwhile.
    let packed = tokio::task::spawn_blocking(move || Packed::of(&path)).await?;

    signs.now(Phase::Uploading);
    signs.progress("sending").await;
    let retry = RetryPolicy::default();
    match packed {
        Ok(packed) => {
            let outcome = client.put_result(&arguments.key, &packed.upload(), &retry).await?;
            signs.end().await;
            match outcome {
                Outcome::Stored => eprintln!("the aggregator has result {}", arguments.key),
                Outcome::AlreadyReceived => eprintln!("the aggregator already had result {}", arguments.key),
                Outcome::OtherReceived => eprintln!("the aggregator had another result {} before", arguments.key),
            }
            Ok(())
        }
        Err(error) => {
            // The run need not wait for a result that will not arrive.
            let reason = format!("failed to {}", in_one_line(&error));
            client.put_result(&arguments.key, &Upload::failure(&reason), &retry).await?;
            Err(error.into())
        }
    }
}

/// Returns an error with its causes in one line.
fn in_one_line(error: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(error.source(), |&error| error.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
