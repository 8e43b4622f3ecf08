//! Packed bundles that are downloaded from URLs.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::Value;

use crate::bed::{Bed, Done};
use crate::signing::{keygen, packed, sign};

/// An HTTP server of files, by path.
#[derive(Clone, Default)]
struct Files(Arc<Mutex<BTreeMap<String, Vec<u8>>>>);

impl Files {
    /// Starts the server on a thread of its own, and returns its URL.
    fn serve(&self) -> String {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let files = self.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
                let path = lines.next().and_then(|line| Some(line.split(' ').nth(1)?.to_owned())).unwrap_or_default();
                while lines.next().is_some_and(|line| !line.is_empty()) {}
                let found = files.0.lock().unwrap().get(&path).cloned();
                let status = if found.is_some() { "200 OK" } else { "404 Not Found" };
                let body = found.unwrap_or_default();
                // For paths that contain `huge`, the server announces a body of 300 MiB.
                let length = if path.contains("huge") { 300 << 20 } else { body.len() };
                let head = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
                // The client may close the connection as soon as it has read enough.
                let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
            }
        });
        address
    }

    fn put(&self, path: &str, content: Vec<u8>) {
        self.0.lock().unwrap().insert(path.to_owned(), content);
    }
}

fn run(bed: &Bed, args: &[&str]) -> Done {
    bed.plumbline(&[&["run", "--local", "--dir", "out", "--wait-output", "silent"], args].concat())
}

#[test]
fn a_tar_is_distinguished_from_a_definition_by_content_and_pinned_by_the_lock() {
    let (bed, files) = (Bed::new(), Files::default());
    let tar = fs::read(bed.path(&packed(&bed, "tap", "hello"))).unwrap();
    // The URL does not say what kind of file it is.
    files.put("/latest?of=tap", tar);
    let address = format!("{}/latest?of=tap", files.serve());
    let done = run(&bed, &["-p", &address]).expect(0);
    assert!(done.err.contains("over plain HTTP"), "{}", done.err);
    let modules: Value = serde_json::from_str(&bed.member("meta/modules.json")).unwrap();
    // Nothing stores the query, which may have credentials.
    let stored = address.strip_suffix("?of=tap").unwrap();
    assert_eq!(modules["plugins"][0]["source"], stored);
    let digest = modules["plugins"][0]["bundle"].as_str().unwrap().to_owned();
    let done = run(&bed, &["--dry-run", "-p", &format!("{address}@nightly")]).expect(0);
    assert!(done.err.contains("would run `nightly`"), "{}", done.err);

    bed.plumbline(&["plugin", "lock", "--local", "-p", &address]).expect(0);
    let lock = fs::read_to_string(bed.path("plumbline.lock")).unwrap();
    assert!(lock.contains(&digest) && lock.contains(stored) && !lock.contains("of=tap"), "{lock}");
    run(&bed, &["--dry-run", "--locked", "-p", &address]).expect(0);
    files.put("/latest?of=tap", fs::read(bed.path(&packed(&bed, "tap", "other words"))).unwrap());
    let done = run(&bed, &["--dry-run", "--locked", "-p", &address]).expect(2);
    assert!(done.err.contains("is not the locked one"), "{}", done.err);
}

#[test]
fn signatures_are_read_from_the_url_next_to_the_tar() {
    let (bed, files) = (Bed::new(), Files::default());
    keygen(&bed, "release");
    bed.write(
        "policy.yaml",
        "version: 1\nkeys: {release: {file: release.pub}}\nrules: [{names: [tap], keys: [release]}]\n",
    );
    let name = packed(&bed, "tap", "hello");
    sign(&bed, &name, "release").expect(0);
    let of = |name: &str| fs::read(bed.path(name)).unwrap();
    files.put("/tap.bundle.tar", of(&name));
    let address = format!("{}/tap.bundle.tar", files.serve());
    let signed = || run(&bed, &["--dry-run", "--require-signed", "--policy", "policy.yaml", "-p", &address]);
    let done = signed().expect(2);
    assert!(done.err.contains("it is not signed"), "{}", done.err);
    files.put("/tap.bundle.tar.sigstore.json", of(&format!("{name}.sigstore.json")));
    signed().expect(0);
    // Another bundle next to the same signature.
    files.put("/tap.bundle.tar", of(&packed(&bed, "tap", "other words")));
    let done = signed().expect(2);
    assert!(done.err.contains("signed another bundle:"), "{}", done.err);
}

#[test]
fn an_invalid_bundle_is_rejected_with_the_cause() {
    let (bed, files) = (Bed::new(), Files::default());
    let tar = fs::read(bed.path(&packed(&bed, "tap", "hello"))).unwrap();
    let address = files.serve();
    files.put("/cut", tar[..700].to_vec());
    files.put("/gz", b"\x1f\x8b\x08\0\0\0\0\0".to_vec());
    files.put("/huge", tar);
    for (path, why) in
        [("cut", "failed to load bundle"), ("gz", "it is compressed (gzip)"), ("huge", "too large for a bundle")]
    {
        let address = format!("{address}/{path}");
        let done = run(&bed, &["--dry-run", "-p", &address]).expect(2);
        assert!(done.err.contains(why) && done.err.contains(&address), "{path}: {}", done.err);
    }
}
