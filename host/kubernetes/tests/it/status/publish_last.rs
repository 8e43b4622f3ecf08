//! The last status, which must arrive.

use std::time::Duration;

use plumbline_core::RunStatus;
use plumbline_core::run_status::{EntryStatus, PluginStatus, RunPhase};
use plumbline_dev::{Fault, FaultKind};
use plumbline_kubernetes::status::{Pace, full, publish_last};

use super::bed::{Bed, NAMESPACE, POD, pace};

fn complete(entries: usize) -> RunStatus {
    let entry = |n: usize| PluginStatus {
        plugin: "logs".to_owned(),
        node: format!("node-{n}"),
        status: EntryStatus::Complete,
        ..PluginStatus::default()
    };
    RunStatus { status: RunPhase::Complete, plugins: Some((0..entries).map(entry).collect()), ..RunStatus::default() }
}

#[tokio::test]
async fn it_arrives_after_all_kinds_of_trouble() {
    let bed = Bed::running().await;
    for code in [500, 503, 403, 409, 429] {
        bed.fault("PATCH", &format!("/pods/{POD}"), code, 1);
    }
    bed.double.fault(Fault {
        method: Some("PATCH"),
        path_contains: format!("/pods/{POD}"),
        kind: FaultKind::Reset,
        times: 1,
    });
    let pace = Pace { heartbeat: Duration::from_millis(50), last: Duration::from_secs(60), ..pace() };
    publish_last(&bed.options(pace), complete(1)).await.unwrap();
    assert_eq!(bed.published(|_| true).await.status, RunPhase::Complete);
    assert!(bed.patches(POD) >= 7);
}

#[tokio::test]
async fn it_is_given_up_when_its_time_is_over_or_the_pod_is_gone() {
    let bed = Bed::running().await;
    bed.fault("PATCH", &format!("/pods/{POD}"), 500, 10_000);
    let pace = Pace { heartbeat: Duration::from_millis(20), last: Duration::from_millis(300), ..pace() };
    let error = publish_last(&bed.options(pace), complete(1)).await.unwrap_err();
    assert_eq!(error.code, Some(500));
    assert!(bed.patches(POD) > 3);
    let bed = Bed::empty().await;
    let error = publish_last(&bed.options(Pace { last: Duration::from_secs(3600), ..super::bed::pace() }), complete(1))
        .await
        .unwrap_err();
    assert!(error.is_not_found(), "{error}");
    assert_eq!(bed.patches(POD), 1);
}

#[tokio::test]
async fn the_status_in_full_follows_and_replaces_the_one_before() {
    let bed = Bed::running().await;
    for entries in [6000, 7000] {
        bed.fault("PATCH", "/configmaps/", 503, 1);
        publish_last(&bed.options(pace()), complete(entries)).await.unwrap();
        let all = full(&bed.cluster, NAMESPACE).await.unwrap().unwrap();
        assert_eq!(all.plugins.unwrap().len(), entries);
    }
}
