//! Integration tests of whole runs with real workers, modules and archives.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod compiling;
mod crashes;
mod crowd;
mod deliver;
mod full_disk;
mod goldens;
mod harness;
mod judges;
mod limits_document;
mod memory;
mod modules_fail;
mod options;
mod partial;
mod patience;
mod provenance;
#[path = "../../../telemetry/tests/it/receiver.rs"]
mod receiver;
mod reruns;
mod restart;
mod runs;
mod schedules;
mod story;
mod summaries;
mod telemetry;
mod uploads;
mod version6;
