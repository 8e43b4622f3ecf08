//! Tests with an API double.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod create;
mod delete;
mod dispatch;
mod logs;
mod manifest;
mod monitor;
mod object_reader;
mod pod_security;
mod query;
mod query_bed;
mod query_podlogs;
mod retrieve;
mod status;
mod vault;

use plumbline_dev::ApiDouble;
use plumbline_kubernetes::{Cluster, ConnectOptions};

async fn cluster(double: &ApiDouble) -> Cluster {
    let dir = tempfile::tempdir().unwrap();
    let kubeconfig = dir.path().join("kubeconfig");
    std::fs::write(&kubeconfig, double.kubeconfig()).unwrap();
    Cluster::connect(&ConnectOptions { kubeconfig: Some(kubeconfig), context: None }).await.unwrap()
}
