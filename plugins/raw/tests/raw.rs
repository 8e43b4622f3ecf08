//! Tests that there is one item per file.

use plumbline_module_raw::Raw;
use plumbline_sdk::testing::Case;
use plumbline_sdk::{Item, Status};
use serde_json::json;

#[test]
fn each_file_is_an_item_that_was_not_read() {
    let run = Case::new()
        .format("raw")
        .file("results/node-1/systemd_logs", "the disk is on fire: FAILED")
        .file("results/node-1/deep/er/core.bin", [0_u8, 255, 1])
        .file("results/node-1/empty", "")
        .run::<Raw>();
    assert_eq!(run.outcome, Ok(()));
    assert_eq!(
        run.to_json(),
        json!([
            {"depth": 0, "name": "systemd_logs", "status": "not-read", "meta": {"file": "results/node-1/systemd_logs"}},
            {"depth": 0, "name": "core.bin", "status": "not-read", "meta": {"file": "results/node-1/deep/er/core.bin"}},
            {"depth": 0, "name": "empty", "status": "unknown", "meta": {"file": "results/node-1/empty", "error": "the file is empty"}},
        ])
    );
}

#[test]
fn a_file_that_cannot_be_read_fails_with_the_cause_and_the_others_do_not() {
    let run = Case::new()
        .broken_file("results/global/gone.txt", "", "cannot open: permission denied")
        .file("results/global/there.txt", "x")
        .run::<Raw>();
    assert_eq!(run.outcome, Ok(()));
    assert_eq!(
        run.items,
        [
            Item::new(0, "gone.txt")
                .status(Status::Failed)
                .meta("file", "results/global/gone.txt")
                .meta("error", "cannot open: permission denied"),
            Item::new(0, "there.txt").status(Status::from("not-read")).meta("file", "results/global/there.txt"),
        ]
    );
}

#[test]
fn no_files_give_no_items() {
    // The host rolls an empty result set up to `unknown`.
    assert!(Case::new().run::<Raw>().items.is_empty());
}
