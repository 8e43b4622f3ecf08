//! Against servers on this machine.

use std::sync::Arc;
use std::time::Instant;

use plumbline_sandbox::Trust;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;

fn network(grants: serde_json::Value) -> GrantedNetwork {
    let mut network = GrantedNetwork::new(&serde_json::from_value(grants).unwrap()).unwrap();
    network.parts().unwrap();
    network
}

/// A server that gives the same answer to each connection, and the number of its port.
fn server(network: &GrantedNetwork, answer: &'static str) -> u16 {
    let listener = network.runtime.as_ref().unwrap().block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let port = listener.local_addr().unwrap().port();
    network.runtime.as_ref().unwrap().spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let _ = stream.read(&mut [0; 4096]).await;
                let _ = stream.write_all(answer.as_bytes()).await;
                // The connection stays open.
                std::future::pending::<()>().await;
            });
        }
    });
    port
}

fn get(url: String) -> WebRequest {
    WebRequest { method: "GET".to_owned(), url, headers: Vec::new(), body: Vec::new(), trust: Trust::System }
}

const LIMITS: RequestLimits = RequestLimits { timeout: Duration::from_secs(20), body: 100 };

fn denied(result: Result<WebResponse, NetworkFailure>) -> String {
    match result {
        Err(NetworkFailure::Denied(reason)) => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_granted_server_answers_and_redirects_are_not_followed() {
    let mut network = network(serde_json::json!({"http": ["http://127.0.0.1:*"]}));
    let answer = "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 2\r\n\r\nhi";
    let port = server(&network, answer);
    let response = network.request(get(format!("http://127.0.0.1:{port}/path")), LIMITS).unwrap();
    assert_eq!((response.status, response.body.as_slice()), (302, b"hi".as_slice()));
    assert!(response.headers.contains(&("location".to_owned(), "http://127.0.0.1:1/".to_owned())));
    assert_eq!((response.address, response.certificate), (format!("127.0.0.1:{port}"), None));
}

#[test]
fn requests_that_are_not_granted_are_denied() {
    let mut network = network(serde_json::json!({"http": ["http://example.com", "https://10.0.0.0/8"]}));
    for url in ["http://127.0.0.1/", "https://example.com/", "http://example.com:8080/", "http://10.0.0.1/"] {
        let reason = denied(network.request(get(url.to_owned()), LIMITS));
        assert!(reason.contains("is not granted: add it to `plumbline.grants.http`"), "{reason}");
    }
    // The usual tricks with the forms of addresses and URLs.
    for url in [
        "http://example.com@127.0.0.1/",
        "http://127.1/",
        "http://0x7f000001/",
        "http://2130706433/",
        "http://[::ffff:127.0.0.1]/",
        "file:///etc/shadow",
        "gopher://example.com/",
        "http://",
    ] {
        denied(network.request(get(url.to_owned()), LIMITS));
    }
    let with = |name: &str, value: &str| WebRequest {
        headers: vec![(name.to_owned(), value.to_owned())],
        ..get("http://example.com/".to_owned())
    };
    for request in [with("Host", "127.0.0.1"), with("a", "b\r\nc: d"), with("Transfer-Encoding", "chunked")] {
        assert!(denied(network.request(request, LIMITS)).contains("invalid header field"));
    }
    let connect = WebRequest { method: "CONNECT".to_owned(), ..get("http://example.com/".to_owned()) };
    assert_eq!(denied(network.request(connect, LIMITS)), "invalid method `CONNECT`");
}

#[test]
fn a_name_leads_to_no_local_address() {
    // `localhost` is the only name that every machine has.
    let network = network(serde_json::json!({"http": ["http://*"]}));
    let rights = &network.rights;
    let target = "http://example.com".parse().unwrap();
    let admit = |name: &str| {
        let name = Host::Name(name.to_owned());
        network.runtime.as_ref().unwrap().block_on(admitted(&name, 80, |host| rights.allows_http(&target, host)))
    };
    assert!(admit("localhost").unwrap().iter().all(|address| address.ip().is_loopback()));
    match admit("ip6-localhost").or_else(|_| admit("foo.localhost")) {
        Err(NetworkFailure::Denied(reason)) => assert!(reason.contains("local or reserved"), "{reason}"),
        // This machine has no such name.
        Err(NetworkFailure::NotFound(_) | NetworkFailure::Other(_)) => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn bodies_and_times_are_bounded() {
    let mut network = network(serde_json::json!({"http": ["http://127.0.0.1:*"]}));
    let endless = server(&network, "HTTP/1.1 200 OK\r\n\r\nxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
    let limits = RequestLimits { body: 50, ..LIMITS };
    let error = network.request(get(format!("http://127.0.0.1:{endless}/")), limits).unwrap_err();
    assert!(matches!(&error, NetworkFailure::Other(reason) if reason.ends_with("has more than 50 bytes")), "{error:?}");
    let slow = server(&network, "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n");
    let limits = RequestLimits { timeout: Duration::from_millis(100), ..LIMITS };
    let error = network.request(get(format!("http://127.0.0.1:{slow}/")), limits).unwrap_err();
    assert!(matches!(error, NetworkFailure::Timeout(_)), "{error:?}");
}

#[test]
fn the_causes_of_failures_are_distinguished() {
    let mut network = network(serde_json::json!({
        "http": ["http://127.0.0.1:*", "https://127.0.0.1:*"],
        "dns": ["*"],
        "tcp": ["127.0.0.1:*", "no-such-name.invalid:1"],
    }));
    let closed = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let error = network.request(get(format!("http://127.0.0.1:{closed}/")), LIMITS).unwrap_err();
    assert!(matches!(error, NetworkFailure::Refused(_)), "{error:?}");
    let plain = server(&network, "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
    let request = WebRequest { trust: Trust::Any, ..get(format!("https://127.0.0.1:{plain}/")) };
    let error = network.request(request, LIMITS).unwrap_err();
    assert!(matches!(error, NetworkFailure::Tls(_)), "{error:?}");

    let targets = [("127.0.0.1", plain), ("127.0.0.1", closed), ("10.0.0.1", 1), ("no-such-name.invalid", 1), ("", 1)];
    let results = network.connect(ConnectionAttempts {
        targets: targets.map(|(host, port)| (host.to_owned(), port)).to_vec(),
        attempt: Duration::from_secs(20),
        wait: Duration::ZERO,
    });
    assert_eq!(results[0].as_ref().unwrap().address, format!("127.0.0.1:{plain}"));
    assert!(matches!(results[1], Err(NetworkFailure::Refused(_))), "{:?}", results[1]);
    assert!(matches!(results[2], Err(NetworkFailure::Denied(_))), "{:?}", results[2]);
    // Without a name server, nobody knows whether the name exists.
    let unknown = |failure: &NetworkFailure| {
        matches!(failure, NetworkFailure::NotFound(_) | NetworkFailure::Other(_) | NetworkFailure::Timeout(_))
    };
    assert!(results[3].as_ref().is_err_and(unknown), "{:?}", results[3]);
    assert!(matches!(results[4], Err(NetworkFailure::Denied(_))), "{:?}", results[4]);

    let found = network.resolve("localhost", Duration::from_secs(20)).unwrap();
    assert!(found.contains(&"127.0.0.1".to_owned()), "{found:?}");
    assert!(matches!(network.resolve("127.0.0.1", LIMITS.timeout), Err(NetworkFailure::Denied(_))));
}

/// A server with a certificate of its own, and the number of its port.
fn tls_server(network: &GrantedNetwork, issued: &rcgen::CertifiedKey<rcgen::KeyPair>) -> u16 {
    let key = rustls::pki_types::PrivateKeyDer::try_from(issued.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![issued.cert.der().clone()], key)
        .unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = network.runtime.as_ref().unwrap().block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let port = listener.local_addr().unwrap().port();
    network.runtime.as_ref().unwrap().spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(mut stream) = acceptor.accept(stream).await else { return };
                let _ = stream.read(&mut [0; 4096]).await;
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
                std::future::pending::<()>().await;
            });
        }
    });
    port
}

#[test]
fn certificates_are_verified_as_the_check_wants_it() {
    let mut network = network(serde_json::json!({"http": ["https://localhost:*"]}));
    let issue = || rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (issued, other) = (issue(), issue());
    let port = tls_server(&network, &issued);
    let mut get = |trust: Trust| {
        let url = format!("https://localhost:{port}/");
        network.request(WebRequest { trust, ..get(url) }, LIMITS)
    };
    let response = get(Trust::Certificates(issued.cert.pem())).unwrap();
    assert_eq!((response.status, response.certificate.as_deref()), (200, Some(&**issued.cert.der())));
    let error = get(Trust::Certificates(other.cert.pem())).unwrap_err();
    assert!(matches!(error, NetworkFailure::Tls(_)), "{error:?}");
    let response = get(Trust::Any).unwrap();
    assert_eq!(response.certificate.as_deref(), Some(&**issued.cert.der()));
    for text in ["", "no certificate"] {
        let error = get(Trust::Certificates(text.to_owned())).unwrap_err();
        assert!(matches!(error, NetworkFailure::Denied(_)), "{error:?}");
    }
}

#[test]
fn a_check_waits_for_a_port_that_opens_later() {
    let network = network(serde_json::json!({"tcp": ["127.0.0.1:*"]}));
    let port = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let attempts = ConnectionAttempts {
        targets: vec![("127.0.0.1".to_owned(), port)],
        attempt: Duration::from_secs(20),
        wait: Duration::from_secs(60),
    };
    let start = Instant::now();
    let (results, _open) = network.runtime.as_ref().unwrap().block_on(async {
        // The first attempt is refused before the port opens.
        tokio::join!(tcp::connect(&network.rights, attempts), async { Listeners::open(&[port]).await.unwrap() })
    });
    assert!(results[0].is_ok(), "{results:?}");
    assert!(start.elapsed() >= Duration::from_secs(1), "the first attempt succeeded");
    let taken = network.runtime.as_ref().unwrap().block_on(Listeners::open(&[port])).map(drop);
    assert!(format!("{taken:?}").contains("which `listen` grants"), "{taken:?}");
}
