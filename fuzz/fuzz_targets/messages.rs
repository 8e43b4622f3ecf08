//! Fuzzes documents that the components of a run exchange: errors, responses to heartbeats, the
//! status in the cluster.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumbline_core::ledger::{ErrorRecord, Record};
use plumbline_core::limits::ERROR_BYTES;
use plumbline_core::run_status::RunStatus;
use plumbline_phonehome::HeartbeatAnswer;

fuzz_target!(|document: &[u8]| {
    if let Ok(error) = ErrorRecord::from_json(document) {
        let written = serde_json::to_vec(&error.to_error_json()).expect("has a JSON form");
        let again = ErrorRecord::from_json(&written).expect("our own document is readable");
        assert_eq!(again.error, error.error);
    }
    if let Ok(error) = ErrorRecord::received(document) {
        assert!(error.memory() <= ERROR_BYTES);
    }
    let _ = HeartbeatAnswer::parse(document);
    if let Ok(status) = serde_json::from_slice::<RunStatus>(document) {
        let written = serde_json::to_vec(&status).expect("has a JSON form");
        assert_eq!(serde_json::from_slice::<RunStatus>(&written).ok(), Some(status));
    }
    let _ = serde_json::from_slice::<Record>(document);
});
