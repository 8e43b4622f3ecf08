//! Tests of the archive's list of modules.

use std::path::Path;

use plumbline_aggregator::{Provenance, Source, StartKind};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::harness::{Archive, RunFixture, file, send, source, with_bundle};
use crate::modules_fail::bundle;

fn built_in(role: &str, name: &str) -> Value {
    json!({"role": role, "name": name, "from": "built-in", "file": null})
}

/// Removes the digest of each module, after checking that it is one.
fn without_digests(modules: &Value) -> Vec<Value> {
    let mut modules = modules.as_array().unwrap().clone();
    for module in &mut modules {
        let module = module.as_object_mut().unwrap();
        let digest = module.remove("digest").unwrap();
        let digest = digest.as_str().unwrap().strip_prefix("sha256:").unwrap();
        assert_eq!(hex::decode(digest).unwrap().len(), 32);
        assert_eq!(module.remove("generation").unwrap(), "0.1.0");
    }
    modules
}

fn of_bundle(dir: &Path) -> Source {
    let rest = "  result-format: misbehave\nplumbline:\n  options:\n    behaviour: count";
    with_bundle(source("brought", "Job", rest), dir)
}

#[tokio::test]
async fn every_module_is_recorded_with_its_digest_and_source() {
    let dir = bundle();
    let mut fixture = RunFixture::new();
    let provenance = Provenance {
        reference: Some("oci://r.example/brought:1".to_owned()),
        bundle: Some("sha256:aa".to_owned()),
        definition_file: Some("sha256:bb".to_owned()),
    };
    fixture.settings.provenance.insert("brought".parse().unwrap(), provenance);
    let sources = vec![of_bundle(dir.path()), source("plain", "DaemonSet", "  result-format: junit")];
    let mut first = fixture.live(sources, &["n1"]).await;
    first.launches(2).await;
    // The aggregator is killed. The resumed one does not get the origins of the plugins.
    let mut crashed = fixture.crashed();
    crashed.settings.provenance.clear();
    let mut live = crashed.live(vec![], &["n1"]).await;
    assert_eq!(live.begun, StartKind::Continued);
    for launch in live.launches(2).await {
        for key in &launch.missing {
            send(&launch.access, &key.to_string(), &file("a.txt", "a")).await.unwrap();
        }
    }
    let archive = Archive::of(&live.finished().await);

    let modules = archive.json("meta/modules.json");
    assert_eq!(modules["version"], 1);
    let [brought, plain] = modules["plugins"].as_array().unwrap().as_slice() else { panic!("{modules}") };
    assert_eq!(brought["plugin"], "brought");
    assert_eq!(brought["source"], "oci://r.example/brought:1");
    assert_eq!((&brought["bundle"], &brought["definition-file"]), (&json!("sha256:aa"), &json!("sha256:bb")));
    let mine = |role: &str| json!({"role": role, "name": "misbehave", "from": "bundle", "file": "misbehave.wasm"});
    assert_eq!(
        without_digests(&brought["modules"]),
        [built_in("expectations", "job"), mine("post-processor"), mine("summarizer")]
    );
    let bytes = std::fs::read(dir.path().join("misbehave.wasm")).unwrap();
    assert_eq!(brought["modules"][1]["digest"], format!("sha256:{}", hex::encode(Sha256::digest(bytes))));

    assert_eq!(
        (&plain["source"], &plain["bundle"], &plain["definition-file"]),
        (&json!(null), &json!(null), &json!(null))
    );
    assert_eq!(
        without_digests(&plain["modules"]),
        [built_in("expectations", "daemonset"), built_in("post-processor", "junit")]
    );
    // Anybody can compute it from the archive.
    let definition = archive.json("plugins/plain/definition.json")["Definition"].to_string();
    assert_eq!(plain["definition"], format!("sha256:{}", hex::encode(Sha256::digest(definition))));
}
