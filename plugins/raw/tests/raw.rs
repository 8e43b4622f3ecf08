//! Tests that there is one item per file.

use std::io::{self, Read};

use plumbline_module_raw::Raw;
use plumbline_sdk::input::READ_BYTES;
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

/// Fails to read, and has a size.
struct Gone;

impl Read for Gone {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::other("the disk is gone"))
    }
}

#[test]
fn the_starts_of_large_files_are_read_within_a_budget() {
    let add = |case: Case, n: u32| case.generated_file(format!("results/global/{n}"), 5 << 30, || Gone);
    let run = (0..1000).fold(Case::new(), add).file("results/global/empty", "").run::<Raw>();
    assert_eq!(run.count(&Status::Failed), (256 << 20) / READ_BYTES as usize);
    assert_eq!(run.items.last().unwrap().status, Some(Status::Unknown), "an empty file costs nothing");
    let small = |case: Case, n: u32| case.generated_file(format!("results/global/{n}"), 1000, || Gone);
    let run = (0..10_000).fold(Case::new(), small).run::<Raw>();
    assert_eq!(run.count(&Status::Failed), 10_000, "small files are all read");
}

#[test]
fn no_files_give_no_items() {
    // The host rolls an empty result set up to `unknown`.
    assert!(Case::new().run::<Raw>().items.is_empty());
}
