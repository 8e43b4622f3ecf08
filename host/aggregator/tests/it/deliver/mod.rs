//! Tests with servers on the loopback interface: our own HTTP server, and an S3 server.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod put;
mod s3;

use plumbline_aggregator::deliver::Archive;

/// Creates a file of that size, with a name and digest. These tests do not check the digest.
fn archive(dir: &std::path::Path, bytes: usize) -> (Archive, Vec<u8>) {
    let content: Vec<u8> = (0..bytes).map(|at| u8::try_from((at / 7) % 251).unwrap()).collect();
    let path = dir.join("run.tar.gz");
    std::fs::write(&path, &content).unwrap();
    let archive = Archive { path, name: "run.tar.gz".into(), bytes: bytes as u64, sha256: "ab".repeat(32) };
    (archive, content)
}
