//! Tests of workers that cannot reach the aggregator. The run fails early, with the exit code of an
//! interruption.

use std::fs;
use std::time::Instant;

use serde_json::json;

use crate::bed::Bed;
use crate::faults::{error, retrieve};
use crate::plugin::Plugin;
use crate::settings::loudly;

/// Writes a configuration that sends workers to `address`, where something else listens.
fn advertised(bed: &Bed, address: &str) -> &'static str {
    let config = json!({
        "Server": {"advertiseaddress": address},
        "Plumbline": {"Graces": {"Hello": 10}, "FailFast": true},
    });
    fs::write(bed.path("config.json"), config.to_string()).unwrap();
    "config.json"
}

#[test]
fn the_error_has_the_attempts_of_the_worker_and_the_run_ends() {
    // The aggregator can reach each of these addresses, which it checks at once. Its workers
    // cannot.
    let cases = [
        // Loopback, which is the aggregator's own pod only for the aggregator itself.
        ("refused", "127.0.0.1:8080", "Connection refused"),
        // A name that is only in the aggregator's own hosts file.
        ("no-name", "sonobuoy:8080", "resolve `sonobuoy`"),
        // The API server, whose certificate is from another CA.
        ("no-trust", "kubernetes.default.svc:443", "UnknownIssuer"),
    ];
    let mut runs = Vec::new();
    for (name, address, why) in cases {
        let Some(bed) = Bed::new(name) else { return };
        let config = advertised(&bed, address);
        bed.run(&[Plugin::job("hangs").args(&["--outcome=hang"])], &["--config", config]).expect(0);
        runs.push((bed, address, why, Instant::now()));
    }
    for (bed, address, why, began) in runs {
        bed.command("wait", &["--timeout", "4m"]).expect(130);
        loudly(&format!("{address}: over after {} s", began.elapsed().as_secs()));
        let status = bed.command("status", &["-o", "json"]).expect(130).json();
        assert_eq!(status["interrupted"], true, "{status}");
        let error = error(&bed, &retrieve(&bed), "hangs");
        let sentence = error["name"].as_str().unwrap();
        assert!(sentence.contains("did not reach the aggregator"), "{error:#}");
        let host = address.rsplit_once(':').unwrap().0;
        assert!(sentence.contains(host) && sentence.contains(why), "{error:#}");
    }
}

#[test]
fn an_aggregator_that_cannot_reach_itself_ends_the_run_before_its_plugins() {
    let Some(bed) = Bed::new("no-way") else { return };
    // Nothing listens there.
    let config = advertised(&bed, "127.0.0.1:9");
    let began = Instant::now();
    bed.run(&[Plugin::job("hangs").args(&["--outcome=hang"])], &["--config", config, "--wait"]).expect(130);
    loudly(&format!("no-way: over after {} s", began.elapsed().as_secs()));
    let log = bed.logs("sonobuoy", "kube-sonobuoy");
    assert!(log.contains("failed to reach the aggregator at `https://127.0.0.1:9`"), "{log}");
    assert!(log.contains("--fail-fast"), "{log}");
}
