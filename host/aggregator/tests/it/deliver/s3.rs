//! Tests of S3 with the independent server `moto`, whose path is in `PLUMBLINE_MOTO_SERVER`.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use plumbline_aggregator::bucket::{Bucket, BucketError};
use plumbline_aggregator::deliver::Destination;

use crate::deliver::archive;

/// The server, which stops when this value is dropped.
struct Moto {
    child: Child,
    url: String,
}

impl Drop for Moto {
    fn drop(&mut self) {
        // It may already have exited.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts the server. If it is not installed, returns `None` and prints a message.
fn moto() -> Option<Moto> {
    let Some(program) = std::env::var_os("PLUMBLINE_MOTO_SERVER") else {
        eprintln!(
            "skipped: PLUMBLINE_MOTO_SERVER does not name the program `moto_server` (`pip install 'moto[server]'`)"
        );
        return None;
    };
    let mut server = Command::new(program);
    server.args(["-H", "127.0.0.1", "-p", "0"]).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut moto = Moto { child: server.spawn().unwrap(), url: String::new() };
    // It prints its address when it listens. Its other lines are discarded, so that it never waits.
    let mut lines = BufReader::new(moto.child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let listens = lines.find_map(|line| Some(line.split_once("Running on ")?.1.trim().to_owned()));
    moto.url = listens.unwrap_or_else(|| panic!("the S3 server does not listen"));
    std::thread::spawn(move || lines.for_each(drop));
    Some(moto)
}

fn settings(url: &str) -> BTreeMap<String, String> {
    [
        ("AWS_ACCESS_KEY_ID", "key"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_REGION", "us-east-1"),
        ("AWS_ENDPOINT_URL", url),
        ("AWS_ALLOW_HTTP", "true"),
    ]
    .map(|(key, value)| (key.to_owned(), value.to_owned()))
    .into()
}

#[tokio::test]
async fn small_and_large_archives_arrive_whole() {
    let Some(moto) = moto() else { return };
    // It also installs the crypto provider that the test's own client needs.
    let destination = Destination::parse("s3://audits/nightly/", &settings(&moto.url)).unwrap();
    let http = reqwest::Client::new();
    assert!(http.put(format!("{}/audits", moto.url)).send().await.unwrap().status().is_success());
    // The test reads with unsigned requests.
    let policy = r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":"*","Action":"s3:*","Resource":"arn:aws:s3:::audits/*"}]}"#;
    assert!(http.put(format!("{}/audits?policy", moto.url)).body(policy).send().await.unwrap().status().is_success());
    // Upload one part, and several.
    for bytes in [1_000, 20 << 20] {
        let dir = tempfile::tempdir().unwrap();
        let (archive, content) = archive(dir.path(), bytes);
        assert_eq!(destination.deliver(&archive).await.unwrap(), "s3://audits/nightly/run.tar.gz");
        let there = http.get(format!("{}/audits/nightly/run.tar.gz", moto.url)).send().await.unwrap();
        assert!(there.status().is_success(), "{there:?}");
        assert_eq!(there.headers()["x-amz-meta-sha256"], archive.sha256);
        assert!(there.bytes().await.unwrap() == content, "{bytes} bytes differ");
    }
}

#[tokio::test]
async fn a_bucket_that_is_not_there_is_named() {
    let Some(moto) = moto() else { return };
    let dir = tempfile::tempdir().unwrap();
    let (archive, _) = archive(dir.path(), 1_000);
    let destination = Destination::parse("s3://no-such-bucket", &settings(&moto.url)).unwrap();
    let error = destination.deliver(&archive).await.unwrap_err().to_string();
    assert!(error.contains("s3://no-such-bucket/run.tar.gz") && error.contains("NoSuchBucket"), "{error}");
}

#[tokio::test]
async fn an_uploaded_archive_is_listed_and_read_back() {
    let Some(moto) = moto() else { return };
    let settings = settings(&moto.url);
    let destination = Destination::parse("s3://audits/nightly/", &settings).unwrap();
    let http = reqwest::Client::new();
    assert!(http.put(format!("{}/audits", moto.url)).send().await.unwrap().status().is_success());
    let dir = tempfile::tempdir().unwrap();
    let (archive, content) = archive(dir.path(), 20 << 20);
    destination.deliver(&archive).await.unwrap();
    let deeper = Destination::parse("s3://audits/nightly/old/", &settings).unwrap();
    deeper.deliver(&archive).await.unwrap();
    let bucket = Bucket::parse("s3://audits/nightly/", &settings).unwrap();
    let listed = bucket.list(10).await.unwrap();
    let names: Vec<(&str, u64)> = listed.iter().map(|object| (object.name.as_str(), object.size)).collect();
    assert_eq!(names, [("run.tar.gz", archive.bytes)]);
    assert_eq!(bucket.url_of(&listed[0]), "s3://audits/nightly/run.tar.gz");
    let copy = dir.path().join("copy");
    bucket.download(&listed[0], &copy).await.unwrap();
    assert!(std::fs::read(&copy).unwrap() == content);
    assert!(matches!(bucket.list(1).await, Err(BucketError::TooMany { most: 1, .. })));
    let missing = Bucket::parse("s3://no-such-bucket", &settings).unwrap().list(10).await.unwrap_err().to_string();
    assert!(missing.contains("failed to read `s3://no-such-bucket`"), "{missing}");
}
