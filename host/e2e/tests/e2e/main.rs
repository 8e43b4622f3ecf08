//! End-to-end tests of the program against a real cluster (docs/e2e.md).
//!
//! Every test is skipped with a message, unless `PLUMBLINE_E2E_KUBECONFIG` is set. Tests that need
//! more than two nodes, or the images of suites, are in the modules `gateway`, `nodes`, `pages` and
//! `suite`: `cargo xtask e2e` selects them by these names. Those in `long` run only with `--long`.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod ai_conformance;
mod attack;
mod bed;
mod built_in;
mod chaos;
mod checks;
mod confined;
mod conformance;
mod deploy;
mod diagnosis;
mod double;
mod dropped;
mod example_checks;
mod faults;
mod gateway;
mod guide;
mod helm;
mod hostile;
mod image;
mod interop;
mod long;
mod network;
mod nodes;
mod outage;
mod pages;
mod place;
mod plugin;
mod pod_security;
mod proxy;
mod pull;
mod registry;
mod reporter;
mod resize;
mod run;
mod schedule;
mod settings;
mod sink;
mod suite;
mod turns;
mod unreachable;
mod upload;
mod versions;
mod volume;
