//! Tests of a run at an IPv6 address.

use std::io::{self, Write as _};
use std::net::TcpListener;

use plumbline_core::Verdict;

use crate::harness::{RunFixture, file, send, source};

#[tokio::test]
async fn a_worker_dials_an_address_in_brackets_and_trusts_it() {
    if let Err(error) = TcpListener::bind("[::1]:0") {
        let _ = writeln!(io::stderr().lock(), "SKIPPED version 6: this machine has no address `::1`: {error}");
        return;
    }
    // The dispatcher of a cluster passes the pod's address in these forms, with or without a port.
    for advertise in [None, Some("[::1]"), Some("::1")] {
        let mut fixture = RunFixture::new();
        fixture.settings.listen = "[::]:0".parse().unwrap();
        if advertise.is_none() {
            fixture.settings.listen = "[::1]:0".parse().unwrap();
        }
        fixture.settings.advertise = advertise.map(str::to_owned);
        let mut live = fixture.live(vec![source("six", "Job", "")], &[]).await;
        let launch = live.launch().await;
        let url = &launch.access.aggregator_url;
        assert!(url.starts_with("https://[::1]:"), "{url}");
        send(&launch.access, "six/global", &file("a.txt", "a")).await.unwrap();
        let finished = live.finished().await;
        assert_eq!(finished.verdict, Verdict::NothingToJudge, "{advertise:?}");
    }
}
