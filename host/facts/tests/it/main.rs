//! Tests on the machine that runs them: compared with the real Ansible, and with collectors that
//! really run.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod ansible;
mod collectors;
mod compare;
mod differences;
mod node_logs;
mod this_machine;
