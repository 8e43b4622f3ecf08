//! Against servers on this machine.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use plumbline_core::{FlatItem, Host, ModuleLimits};
use plumbline_sandbox::{
    CheckProgress, CheckSink, ItemSink, Module, ModuleFailure, NoLog, PluginInfo, RunCheck, Sandbox, SandboxConfig,
    Trust,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::resolve::admitted;
use super::*;

fn network(grants: serde_json::Value) -> GrantedNetwork {
    let mut network = GrantedNetwork::new(&serde_json::from_value(grants).unwrap()).unwrap();
    network.parts().unwrap();
    network
}

/// A server that gives the same answer to each connection, and the number of its port.
fn server(network: &GrantedNetwork, answer: impl Into<Arc<str>>) -> u16 {
    server_at(network, "127.0.0.1:0", answer)
}

fn server_at(network: &GrantedNetwork, address: &str, answer: impl Into<Arc<str>>) -> u16 {
    let answer = answer.into();
    let listener = network.runtime.as_ref().unwrap().block_on(TcpListener::bind(address)).unwrap();
    let port = listener.local_addr().unwrap().port();
    network.runtime.as_ref().unwrap().spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let answer = Arc::clone(&answer);
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

/// A resolver for which every name has these addresses.
fn resolver(addresses: &[&str]) -> Resolver {
    let addresses: Vec<IpAddr> = addresses.iter().map(|address| address.parse().unwrap()).collect();
    Arc::new(move |_: &str| Ok(addresses.clone()))
}

#[test]
fn a_name_leads_to_no_local_address() {
    let network = network(serde_json::json!({"http": ["http://*"]}));
    let (rights, runtime) = (&network.rights, network.runtime.as_ref().unwrap());
    let target = "http://example.com".parse().unwrap();
    let admit = |name: &str, addresses: &[&str]| {
        let (resolver, name) = (resolver(addresses), Host::Name(name.to_owned()));
        runtime.block_on(admitted(&resolver, &name, 80, |host| rights.allows_http(&target, host)))
    };
    let denied = |name: &str, address: &str| match admit(name, &[address]) {
        Err(NetworkFailure::Denied(reason)) => assert!(reason.contains("local or reserved"), "{reason}"),
        other => panic!("{name} at {address}: {other:?}"),
    };
    for address in ["0.0.0.0", "127.0.0.1", "::1", "::ffff:127.0.0.1", "fe80::1", "224.0.0.1"] {
        denied("example.com", address);
    }
    for address in ["169.254.169.254", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "fd00:ec2::254"] {
        denied("example.com", address);
        denied("localhost", address);
    }
    let web = |last: u8| SocketAddr::from(([10, 0, 0, last], 80));
    assert_eq!(admit("example.com", &["10.0.0.1", "127.0.0.1", "10.0.0.2"]), Ok(vec![web(1), web(2)]));
    assert!(admit("localhost", &["127.0.0.1"]).is_ok());
}

#[test]
fn a_dot_at_the_end_of_a_name_reaches_the_resolver() {
    let mut network = network(serde_json::json!({"http": ["http://*:*"], "dns": ["*"], "tcp": ["*:*"]}));
    // As with `search other.example` in the configuration of the resolver, and a wildcard there.
    network.resolver = Arc::new(|name: &str| match name.ends_with('.') {
        true => Ok(Vec::new()),
        false => Ok(vec![IpAddr::from([10, 0, 0, 1])]),
    });
    assert_eq!(network.resolve("gone.example.com", LIMITS.timeout), Ok(vec!["10.0.0.1".to_owned()]));
    let failures = [
        network.resolve("gone.example.com.", LIMITS.timeout).map(drop),
        network.request(get("http://gone.example.com./".to_owned()), LIMITS).map(drop),
        network
            .connect(ConnectionAttempts {
                targets: vec![("gone.example.com.".to_owned(), 80)],
                attempt: Duration::from_secs(20),
                wait: Duration::ZERO,
            })
            .remove(0)
            .map(drop),
    ];
    for failure in failures {
        assert!(matches!(failure, Err(NetworkFailure::NotFound(_))), "{failure:?}");
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
    let closed = unused("127.0.0.1:0").1;
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
    let port = unused("127.0.0.1:0").1;
    let attempts = ConnectionAttempts {
        targets: vec![("127.0.0.1".to_owned(), port)],
        attempt: Duration::from_secs(20),
        wait: Duration::from_secs(60),
    };
    let start = Instant::now();
    let (results, _open) = network.runtime.as_ref().unwrap().block_on(async {
        // The first attempt is refused before the port opens.
        tokio::join!(tcp::connect(&network.rights, &network.resolver, attempts), async {
            Listeners::open(&[port]).await.unwrap()
        })
    });
    assert!(results[0].is_ok(), "{results:?}");
    assert!(start.elapsed() >= Duration::from_secs(1), "the first attempt succeeded");
    let taken = network.runtime.as_ref().unwrap().block_on(Listeners::open(&[port])).map(drop);
    assert!(format!("{taken:?}").contains("which `listen` grants"), "{taken:?}");
}

/// The items of a check.
#[derive(Default)]
struct Items(Vec<FlatItem>);

impl ItemSink for Items {
    fn item(&mut self, item: FlatItem) -> io::Result<()> {
        self.0.item(item)
    }
}

impl CheckSink for Items {
    fn progress(&mut self, _: CheckProgress) -> io::Result<()> {
        Ok(())
    }
}

/// Runs the guest of the sandbox's tests on a network. Returns the outcome of each attempt.
fn outcomes(
    network: GrantedNetwork,
    options: serde_json::Value,
    limits: &ModuleLimits,
) -> Result<Vec<String>, ModuleFailure> {
    static GUEST: OnceLock<Module> = OnceLock::new();
    let guest = GUEST.get_or_init(|| {
        let modules = std::env::var_os("PLUMBLINE_MODULES")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/modules"), PathBuf::from);
        let file = modules.join("guests/misbehave.wasm");
        let wasm = std::fs::read(&file);
        let wasm =
            wasm.unwrap_or_else(|error| panic!("guest {}: {error}; run `cargo xtask setup` first", file.display()));
        Sandbox::new(SandboxConfig::default()).unwrap().load("misbehave", &wasm).unwrap()
    });
    let plugin = PluginInfo { name: "hostile".to_owned(), options, ..PluginInfo::default() };
    let call = RunCheck {
        plugin: &plugin,
        directories: Vec::new(),
        env: Vec::new(),
        now: None,
        cluster: None,
        network: Some(Box::new(network)),
        owners: None,
        limits,
    };
    let mut items = Items::default();
    guest.run_check(call, &mut items, &mut NoLog)?;
    Ok(items.0.into_iter().filter_map(|mut item| item.meta.remove("outcome")).collect())
}

/// Returns a server that accepts no connection yet, and its port.
fn unused(address: &str) -> (std::net::TcpListener, u16) {
    let listener = std::net::TcpListener::bind(address).unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

#[track_caller]
fn assert_unused(listener: &std::net::TcpListener) {
    assert!(listener.accept().is_err_and(|error| error.kind() == ErrorKind::WouldBlock), "a check has connected");
}

#[test]
fn a_redirect_leads_a_check_to_no_other_host() {
    let mut network = network(serde_json::json!({"http": ["http://127.0.0.1:*"]}));
    let (other, other_port) = unused("127.0.0.1:0");
    let redirect = "HTTP/1.1 302 Found\r\ncontent-length: 0\r\nlocation: ";
    let port = server(&network, format!("{redirect}http://127.0.0.1:{other_port}/\r\n\r\n"));
    let granted = format!("http://127.0.0.1:{port}");
    network.rights = serde_json::from_value(serde_json::json!({"http": [granted]})).unwrap();
    let options = serde_json::json!({"behaviour": "follow-redirect", "url": granted});
    let found = outcomes(network, options, &ModuleLimits::default()).unwrap();
    let denied = format!("`http://127.0.0.1:{other_port}` is not granted: add it to `plumbline.grants.http`");
    assert!(found.len() == 2 && found[0] == "302" && found[1].starts_with(&denied), "{found:?}");
    assert_unused(&other);
}

#[test]
fn a_slow_server_holds_a_check_no_longer_than_its_time() {
    let network = network(serde_json::json!({"http": ["http://127.0.0.1:*"]}));
    let port = server(&network, "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n");
    let options = serde_json::json!({"behaviour": "wait-for-response", "url": format!("http://127.0.0.1:{port}/")});
    let (limits, start) = (ModuleLimits { wall_seconds: 1, ..ModuleLimits::default() }, Instant::now());
    let failure = outcomes(network, options, &limits).unwrap_err().to_string();
    assert_eq!(failure, "module `misbehave` exceeded its limit `wall-seconds`: 1 second");
    // The check asks for more.
    assert!(start.elapsed() < Duration::from_secs(200), "{:?}", start.elapsed());
}

#[test]
fn metadata_services_are_in_no_network_and_behind_no_name() {
    let mut network = network(serde_json::json!({
        "http": ["http://*:*", "http://0.0.0.0/0:*", "http://[::/0]:*"],
        "tcp": ["*:*", "0.0.0.0/0:*", "[::/0]:*"],
    }));
    network.resolver = resolver(&["169.254.169.254"]);
    let options = serde_json::json!({"behaviour": "reach-metadata"});
    let found = outcomes(network, options, &ModuleLimits::default()).unwrap();
    let (by_address, by_name) = found.split_at(10);
    assert!(by_address.iter().all(|text| text.contains("is not granted: add it to")), "{by_address:?}");
    assert_eq!(by_name.len(), 2);
    assert!(by_name.iter().all(|text| text.contains("169.254.169.254, which is local or reserved")), "{by_name:?}");
}

#[test]
fn a_name_that_changes_its_addresses_leads_to_those_that_were_checked() {
    let mut network = network(serde_json::json!({"http": ["http://127.0.0.2:*"]}));
    let (other, port) = unused("127.0.0.1:0");
    let granted = format!("127.0.0.2:{port}");
    server_at(&network, &granted, "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
    let rights = serde_json::json!({
        "http": [format!("http://{granted}"), format!("http://rebind.example.com:{port}")],
        "tcp": [granted, format!("rebind.example.com:{port}")],
    });
    network.rights = serde_json::from_value(rights).unwrap();
    // The address of the granted server, another one, and both.
    let [good, bad] = [2, 1].map(|last| IpAddr::from([127, 0, 0, last]));
    let answers = [vec![good], vec![bad], vec![bad, good]];
    let lookups = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&lookups);
    network.resolver = Arc::new(move |name: &str| {
        assert_eq!(name, "rebind.example.com");
        Ok(answers[counted.fetch_add(1, Ordering::Relaxed) % answers.len()].clone())
    });
    let options = serde_json::json!({"behaviour": "rebind", "port": port});
    let found = outcomes(network, options, &ModuleLimits::default()).unwrap();
    // One lookup for each request and each connection: a second one would get the next answer.
    assert_eq!((found.len(), lookups.load(Ordering::Relaxed)), (8, 8), "{found:?}");
    for (number, outcome) in found.iter().enumerate() {
        match number % 3 {
            1 => assert!(outcome.contains("127.0.0.1, which is local or reserved"), "{found:?}"),
            _ => assert_eq!(outcome, &granted, "{found:?}"),
        }
    }
    assert_unused(&other);
}
