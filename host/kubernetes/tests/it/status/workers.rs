//! The annotation on the pods of plugins.

use plumbline_core::GLOBAL;
use plumbline_core::ledger::{ErrorRecord, Event};
use plumbline_kubernetes::names;
use serde_json::Value;

use super::bed::{Bed, Ledgered, NAMESPACE, Publishing, key, pace, plugin_pod};

fn word(pods: &[Value], name: &str) -> Option<String> {
    let pod = pods.iter().find(|pod| pod["metadata"]["name"] == name)?;
    let text = pod["metadata"]["annotations"][names::WORKER_STATUS_ANNOTATION].as_str()?;
    Some(serde_json::from_str::<Value>(text).unwrap()["status"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn pods_say_how_their_worker_is() {
    let bed = Bed::running().await;
    for (name, plugin, node) in [("logs-1", "logs", "n1"), ("logs-2", "logs", "n2"), ("e2e-pod", "e2e", "n1")] {
        bed.double.put("pods", plugin_pod(name, plugin, node, None));
    }
    let ledger = Ledgered::new(&[("logs", &["n1", "n2", "n3"]), ("e2e", &[GLOBAL])]);
    ledger.state.apply(Event::Hello { key: key("logs", "n1") }).unwrap();
    let _monitor = bed.monitor();
    let publishing = Publishing::start(bed.options(pace()), &ledger.state);
    let all = ["logs-1", "logs-2", "e2e-pod"];
    let pods = bed.double.changed("pods", |pods| all.iter().all(|name| word(pods, name).is_some())).await;
    assert!(all.iter().all(|name| word(&pods, name).as_deref() == Some("running")));
    let heard = |name: &str| {
        bed.double.get("pods", NAMESPACE, name).unwrap()["metadata"]["annotations"][names::WORKER_STATUS_ANNOTATION]
            .as_str()
            .unwrap()
            .contains("last-heartbeat")
    };
    assert!(heard("logs-1") && !heard("logs-2"));

    // One pod disappears before it can be annotated. The others still are.
    bed.double.remove("pods", NAMESPACE, "logs-2");
    for node in ["n1", "n2"] {
        let error = ErrorRecord::new("no pod");
        ledger.state.apply(Event::Failed { key: key("logs", node), error }).unwrap();
    }
    ledger.state.apply(Event::TimedOut { plugin: "e2e".parse().unwrap() }).unwrap();
    let both_ended = |pods: &[Value]| {
        word(pods, "logs-1").as_deref() == Some("failed") && word(pods, "e2e-pod").as_deref() == Some("timed_out")
    };
    bed.double.changed("pods", both_ended).await;

    // A pod that is created later is annotated once it exists.
    bed.double.put("pods", plugin_pod("logs-3", "logs", "n3", None));
    bed.double.changed("pods", |pods| word(pods, "logs-3").as_deref() == Some("running")).await;
    let writes = bed.patches("logs-1");
    assert_eq!(writes, 2, "nothing is written twice");
    publishing.stop().await;
}

#[tokio::test]
async fn without_the_permission_to_annotate_pods_the_status_is_still_published() {
    let bed = Bed::running().await;
    bed.double.put("pods", plugin_pod("logs-1", "logs", "n1", None));
    bed.fault("PATCH", "/pods/logs-1", 403, 10_000);
    let ledger = Ledgered::new(&[("logs", &["n1"])]);
    let _monitor = bed.monitor();
    let publishing = Publishing::start(bed.options(pace()), &ledger.state);
    let first = bed.published(|status| status.plugins.is_some()).await.heartbeat;
    let second = bed.published(|status| status.heartbeat > first).await.heartbeat;
    bed.published(|status| status.heartbeat > second).await;
    assert!(bed.patches("logs-1") <= 1, "it is not tried again and again");
    publishing.stop().await;
}
