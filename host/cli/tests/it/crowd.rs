//! The role `aggregator` in a simulated cluster of 50 nodes. The benchmark `cluster` is the same
//! with 5,000 nodes.

use std::path::PathBuf;
use std::time::Duration;

use plumbline_dev::simulation::Simulation;

const NODES: usize = 50;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_daemon_sets_on_every_node_complete_and_leave_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let simulation = Simulation {
        program: PathBuf::from(env!("CARGO_BIN_EXE_plumbline")),
        nodes: NODES,
        at_once: 10,
        patience: Duration::from_secs(120),
        chaos: None,
    };
    let outcome = simulation.run(dir.path()).await.unwrap();
    let traffic = &outcome.traffic;
    assert_eq!((outcome.passed, outcome.expected), (2 * NODES, 2 * NODES));
    assert_eq!(outcome.left, 0, "DaemonSets, pods and Secrets of plugins go at the end");
    assert!(outcome.archive_bytes > 0);
    assert!(traffic.status_writes > 0 && traffic.annotation_bytes <= 200 << 10, "{traffic:#?}");
    // Each pod has two container logs, and may be annotated. The number of other requests does not
    // grow with the nodes.
    let per_pod = traffic.requests.get("get pods/log").copied().unwrap_or_default() + traffic.verb("patch");
    assert!(traffic.total() - per_pod < 60, "{traffic:#?}");
}

/// The number of runs with an unreliable API server. `PLUMBLINE_CHAOS` overrides it.
const UNRELIABLE: u64 = 3;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unreliable_api_server_costs_no_result() {
    let runs = std::env::var("PLUMBLINE_CHAOS").map_or(UNRELIABLE, |text| text.parse().unwrap());
    for seed in 0..runs {
        let dir = tempfile::tempdir().unwrap();
        let simulation = Simulation {
            program: PathBuf::from(env!("CARGO_BIN_EXE_plumbline")),
            nodes: 10,
            at_once: 10,
            patience: Duration::from_secs(120),
            chaos: Some(seed),
        };
        let outcome = simulation.run(dir.path()).await.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert_eq!((outcome.passed, outcome.expected), (20, 20), "seed {seed}: {outcome:#?}");
        assert!(outcome.traffic.refused > 0, "seed {seed}: no request met a fault");
        assert_eq!(outcome.left, 0, "seed {seed}: objects of plugins are left");
    }
}
