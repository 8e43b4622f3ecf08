//! The binary from outside: what it prints, what it leaves behind, and its exit codes.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod addresses;
mod aggregator_role;
mod air_gap;
mod bake;
mod bed;
mod broken_off;
mod bundles;
mod cluster_reading;
mod compat;
mod crowd;
mod deploy;
mod facts;
mod fake_suite;
mod fetched_bundles;
mod filter;
mod generate;
mod golden_cases;
mod guide;
mod image_maker;
mod images;
mod in_cluster;
mod node_logs;
mod outcome;
mod plugins;
mod process;
mod projects;
mod registries;
mod report;
mod reprocess;
mod reruns;
mod results;
mod run_in_cluster;
mod signed_runs;
mod signing;
mod signing_registry;
mod small;
mod status;
mod status_at_scale;
mod status_in_cluster;
mod suite;
mod suite_in_cluster;
mod test_lists;
mod test_plugin;
mod usage;
