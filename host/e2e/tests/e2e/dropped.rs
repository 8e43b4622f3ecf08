//! Tests of downloading an archive over an unreliable connection.

use std::fs;

use crate::bed::Bed;
use crate::plugin::Plugin;
use crate::proxy::Proxy;
use crate::settings::loudly;

/// Size in bytes of the plugin's result, which cannot be compressed.
const BYTES: u64 = 40 << 20;
/// Number of bytes after which a connection breaks: in the middle of a piece of 8 MiB.
const AFTER: u64 = 5 << 20;
/// Number of connections that break.
const TIMES: usize = 4;
/// Maximum overhead of TLS, frames and other requests, in percent of the archive.
const AROUND: u64 = 5;

#[test]
fn a_download_resumes_where_the_connection_broke() {
    let Some(bed) = Bed::new("dropped") else { return };
    let plugin = Plugin::job("large").format("raw").args(&["--bytes=40MiB", "--archive"]);
    bed.run(&[plugin], &["--wait"]).expect(0);
    let status = bed.command("status", &["--json"]).expect(0).json();
    let size = status["tar-info"]["size"].as_u64().unwrap();
    assert!(size > BYTES, "{status}");

    let proxy = Proxy::start(&bed, AFTER, TIMES);
    fs::create_dir(bed.path("out")).unwrap();
    let done = bed.command("retrieve", &["--kubeconfig", "proxied.json", "out"]).expect(0);
    assert_eq!(proxy.left(), 0, "{done:?}");
    assert_eq!(done.err.matches("trying again").count(), TIMES, "{done:?}");
    assert!(done.err.contains("verified: size and digest match the run's status"), "{done:?}");
    let archive = done.out.lines().next().unwrap().to_owned();
    assert_eq!(fs::metadata(bed.path(&archive)).unwrap().len(), size);
    assert_eq!(fs::read_dir(bed.path("out")).unwrap().count(), 1, "nothing is left of what was under way");
    bed.plumbline(&["results", &archive]).expect(0);
    let brought = proxy.brought();
    loudly(&format!("dropped: {brought} bytes for an archive of {size}"));
    assert!(brought < size + size / 100 * AROUND, "{brought} bytes for {size}: some were fetched again");
}
