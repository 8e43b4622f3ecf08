//! Every error of this crate, with its hint.

use plumbline_archive::pack::PackError;
use plumbline_catalogue::{Catalogue, samples};
use plumbline_core::ResultKey;
use plumbline_phonehome::ClientError;

use crate::config::ConfigError;
use crate::error::{GatherError, WorkerError};

fn key() -> ResultKey {
    "plugin/node-1".parse().unwrap()
}

fn client() -> ClientError {
    ClientError::ContentType("a".to_owned())
}

#[test]
fn every_error_is_in_the_catalogue() {
    let mut all = Catalogue::default();
    all.add(
        samples!(WorkerError {
            Client { 0 = client() }, Gather { key = key(), source = GatherError::Empty("done".into()) },
            Upload { key = key(), path, source = Box::new(client()) }, CutOff { key = key() }, Signals { 0 },
        }),
        |error| error.hint().map(str::to_owned),
    );
    all.add(
        samples!(GatherError {
            Read { 0, 1 }, NotAFile { path, kind }, TooLarge { path, limit }, NotText { 0 }, Empty { 0 }, Gone { 0 },
            Missing { named, results_dir }, Outside { named, results_dir }, Itself { 0 }, NotSendable { named, kind }, Io { 0, 1 },
            Pack { 0, 1 = PackError::Cancelled }, Write { 0, 1 },
        }),
        |error| error.hint().map(str::to_owned),
    );
    all.add(
        samples!(ConfigError {
            Read { path, source }, TooLarge { path, limit }, NotAnObject { path, source = None },
            Invalid { problems, missing, old_name_set = false },
        }),
        |error| error.hint().map(str::to_owned),
    );
    insta::assert_snapshot!("messages", all.text());
}
