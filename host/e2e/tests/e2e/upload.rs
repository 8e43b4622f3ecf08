//! Tests of an archive that is uploaded at the end of the run.

use std::fs;

use k8s_openapi::api::core::v1::Secret;
use kube::api::PostParams;
use serde_json::json;

use crate::bed::Bed;
use crate::faults::retrieve;
use crate::plugin::Plugin;
use crate::settings::loudly;
use crate::sink::Sink;

#[test]
fn the_archive_is_sent_with_the_credentials_of_a_secret() {
    let Some(bed) = Bed::new("upload") else { return };
    let Some(sink) = Sink::start(&bed) else {
        loudly("SKIPPED upload: pods cannot reach this machine at the address from which it talks to the API server");
        return;
    };
    bed.create_namespace();
    let secret = json!({"metadata": {"name": "storage"}, "stringData": {"HTTP_AUTHORIZATION": "Bearer open-sesame", "HTTP_ALLOW_HTTP": "true"}});
    bed.ask(bed.api::<Secret>().create(&PostParams::default(), &serde_json::from_value(secret).unwrap()));
    let url = format!("http://{}/nightly/", sink.address);
    let plugin = Plugin::job("sent").format("raw").args(&["--bytes=3MiB"]);
    bed.run(&[plugin], &["--upload", &url, "--upload-secret", "storage", "--wait"]).expect(0);

    let status = bed.command("status", &["-o", "json"]).expect(0).json();
    let name = status["archive"]["name"].as_str().unwrap();
    assert_eq!(status["delivery"], format!("{url}{name}"), "{status}");
    let archive = fs::read(bed.path(&retrieve(&bed))).unwrap();
    let taken = sink.taken();
    assert_eq!(taken.len(), 2, "refused once, then taken");
    for one in &taken {
        assert_eq!(one.line, format!("PUT /nightly/{name} HTTP/1.1"));
        assert_eq!(one.headers["authorization"], "Bearer open-sesame");
        // `retrieve` has verified the archive with this digest.
        assert_eq!(one.headers["x-checksum-sha256"], status["archive"]["sha256"].as_str().unwrap());
        assert!(one.body == archive, "{} bytes came, the archive has {}", one.body.len(), archive.len());
    }
}
