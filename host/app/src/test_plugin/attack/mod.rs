//! A plugin that attacks the run and the cluster. Each attempt is a test that passes if it is
//! refused.

mod credentials;

use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

use plumbline_core::{PluginName, RunId};
use plumbline_kubernetes::names;
use plumbline_phonehome::RunCa;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use reqwest::{Client, Identity, Method};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::context::{Context, Reporter};
use crate::error::AppError;
use crate::test_plugin::AttackOptions;
use crate::test_plugin::attack::credentials::Certificate;
use crate::test_plugin::results::{cannot, done};

/// The path of the DNS configuration of a pod.
const RESOLV_CONF: &str = "/etc/resolv.conf";

pub(super) async fn attack(context: &Context, options: &AttackOptions) -> Result<(), AppError> {
    // Fails if a provider is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let namespace = match &options.namespace {
        Some(namespace) => namespace.clone(),
        None => own_namespace()?,
    };
    let mut attempts = Attempts::new(context.reporter.as_ref());
    let loot = credentials::search(options, &mut attempts).await;
    attack_api(&namespace, &loot.tokens, &mut attempts).await;
    attack_aggregator(options, &namespace, &loot.certificates, &mut attempts).await;
    attempts.write(&options.results_dir)
}

/// The first search domain of a pod is `NAMESPACE.svc.DOMAIN`.
fn own_namespace() -> Result<String, AppError> {
    let text = fs::read_to_string(RESOLV_CONF).unwrap_or_default();
    let domain = text.lines().find_map(|line| line.strip_prefix("search ")?.split_whitespace().next());
    let namespace = domain.and_then(|domain| domain.split_once(".svc.")).map(|(namespace, _)| namespace.to_owned());
    namespace.ok_or_else(|| AppError::usage("the namespace of the run is not known").hint("set it with `--namespace`"))
}

/// The name of the report.
const REPORT: &str = "attack.xml";

#[derive(Debug)]
pub(super) enum Attempt {
    /// It was refused.
    Refused,
    /// It was allowed, or it could not be made; with the reason.
    Failed(String),
}

pub(super) struct Attempts<'a> {
    reporter: &'a dyn Reporter,
    list: Vec<(String, Attempt)>,
}

impl<'a> Attempts<'a> {
    pub(super) fn new(reporter: &'a dyn Reporter) -> Self {
        Self { reporter, list: Vec::new() }
    }

    pub(super) fn add(&mut self, name: impl Into<String>, attempt: Attempt) {
        let name = name.into();
        if let Attempt::Failed(why) = &attempt {
            self.reporter.progress(&format!("test-plugin: {name}: {why}"));
        }
        self.list.push((name, attempt));
    }

    pub(super) fn write(self, results_dir: &Path) -> Result<(), AppError> {
        let mut suite = TestSuite::new("attack");
        for (name, attempt) in self.list {
            let status = match attempt {
                Attempt::Refused => TestCaseStatus::success(),
                Attempt::Failed(why) => {
                    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
                    status.set_message(why);
                    status
                }
            };
            suite.add_test_case(TestCase::new(name, status));
        }
        let mut report = Report::new("test-plugin");
        report.add_test_suite(suite);
        fs::create_dir_all(results_dir).map_err(cannot("create", results_dir))?;
        let path = results_dir.join(REPORT);
        let file = File::create(&path).map_err(cannot("write", &path))?;
        report
            .serialize(file)
            .map_err(|error| AppError::system(format!("failed to write `{}`", path.display())).because(&error))?;
        done(results_dir, &path)
    }
}

/// How long a request may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// The pause between two attempts to connect.
const TRY_AGAIN: Duration = Duration::from_millis(500);

/// Sends a result for the victim without a certificate, with one of a CA of our own, and with each
/// that was found.
async fn attack_aggregator(
    options: &AttackOptions,
    namespace: &str,
    found: &[Certificate],
    attempts: &mut Attempts<'_>,
) {
    let address = format!("{}.{namespace}.svc:{}", names::AGGREGATOR_SERVICE, names::AGGREGATOR_PORT);
    // A new Service may take a moment to reach every node.
    let connected = timeout(PATIENCE, async {
        while TcpStream::connect(&address).await.is_err() {
            tokio::time::sleep(TRY_AGAIN).await;
        }
    });
    if connected.await.is_err() {
        return attempts
            .add("connect to the aggregator", Attempt::Failed("nothing was tried: no connection".to_owned()));
    }
    let forged =
        options.victim.parse().map_err(|_| "the victim is not a plugin".to_owned()).and_then(|victim| forge(&victim));
    let mut identities =
        vec![("no certificate".to_owned(), Ok(None)), ("a forged certificate".to_owned(), forged.map(Some))];
    identities.extend(found.iter().map(|one| (one.found.clone(), Ok(Some(one.pem.clone())))));
    let url = format!("https://{address}/api/v1/results/global/{}", options.victim);
    for (with, pem) in identities {
        let attempt = match pem {
            Ok(pem) => send(&url, pem.as_deref()).await,
            Err(why) => Attempt::Failed(why),
        };
        attempts.add(format!("send a result of `{}` with {with}", options.victim), attempt);
    }
}

/// A certificate for the victim, from another CA than that of the run.
fn forge(victim: &PluginName) -> Result<String, String> {
    let ca = RunCa::generate(&RunId::random(), Duration::from_secs(3600), jiff::Timestamp::now());
    let issued = ca.and_then(|ca| ca.issue_client(victim)).map_err(|error| error.to_string())?;
    Ok(format!("{}\n{}", issued.certificate_pem, issued.key_pem))
}

async fn send(url: &str, pem: Option<&str>) -> Attempt {
    let mut builder = Client::builder().tls_danger_accept_invalid_certs(true).timeout(PATIENCE);
    if let Some(pem) = pem {
        match Identity::from_pem(pem.as_bytes()) {
            Ok(identity) => builder = builder.identity(identity),
            Err(error) => return Attempt::Failed(format!("nothing was tried: {error:?}")),
        }
    }
    let client = match builder.build() {
        Ok(client) => client,
        Err(error) => return Attempt::Failed(format!("nothing was tried: {error:?}")),
    };
    match client.put(url).body("forged").send().await.map(|answer| answer.status().as_u16()) {
        Ok(401 | 403) => Attempt::Refused,
        Ok(code) => Attempt::Failed(format!("the aggregator answered {code}")),
        // The server ended the handshake.
        Err(error) if !error.is_timeout() => Attempt::Refused,
        Err(_) => Attempt::Failed("no answer".to_owned()),
    }
}

/// How long a request may take.
const API_PATIENCE: Duration = Duration::from_secs(20);

/// Makes every request without a token and with each of `tokens`.
pub(super) async fn attack_api(namespace: &str, tokens: &[(String, String)], attempts: &mut Attempts<'_>) {
    let address = |name: &str, otherwise: &str| std::env::var(name).unwrap_or_else(|_| otherwise.to_owned());
    let host = address("KUBERNETES_SERVICE_HOST", "kubernetes.default.svc");
    let host = if host.contains(':') { format!("[{host}]") } else { host };
    let server = format!("https://{host}:{}", address("KUBERNETES_SERVICE_PORT", "443"));
    // An attacker accepts every certificate.
    let client = match Client::builder().tls_danger_accept_invalid_certs(true).timeout(API_PATIENCE).build() {
        Ok(client) => client,
        Err(error) => return attempts.add("ask the API server", Attempt::Failed(error.to_string())),
    };
    let credentials = [("nobody", None)].into_iter();
    let credentials = credentials.chain(tokens.iter().map(|(place, token)| (place.as_str(), Some(token.as_str()))));
    for (who, token) in credentials {
        for Request { what, method, path, content_type, body } in requests(namespace) {
            let mut request = client.request(method, format!("{server}{path}"));
            if let Some(token) = token {
                request = request.bearer_auth(token);
            }
            if let Some(body) = body {
                request = request.header("content-type", content_type).body(body.to_string());
            }
            let attempt = match request.send().await.map(|answer| answer.status().as_u16()) {
                Ok(401 | 403) => Attempt::Refused,
                // Errors such as "not found" and "conflict" mean that the request was authorized.
                Ok(code) => Attempt::Failed(format!("it was allowed: the API server answered {code}")),
                Err(error) => Attempt::Failed(format!("nothing was tried: {error:?}")),
            };
            attempts.add(format!("{what}, as {who}"), attempt);
        }
    }
}

struct Request {
    what: String,
    method: Method,
    path: String,
    content_type: &'static str,
    body: Option<Value>,
}

fn requests(namespace: &str) -> Vec<Request> {
    let core = format!("/api/v1/namespaces/{namespace}");
    let apps = format!("/apis/apps/v1/namespaces/{namespace}");
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    let aggregator = names::AGGREGATOR_POD;
    let dry = "dryRun=All";
    let get = |what: &str, path: String| Request {
        what: what.to_owned(),
        method: Method::GET,
        path,
        content_type: "application/json",
        body: None,
    };
    let post =
        |what: &str, path: String, body: Value| Request { method: Method::POST, body: Some(body), ..get(what, path) };
    let metadata = json!({"name": "plumbline-attack"});
    let container = json!({
        "name": "c",
        "image": "attack",
        "securityContext": {"privileged": true},
        "volumeMounts": [{"name": "host", "mountPath": "/host"}],
    });
    let pod = json!({
        "hostPID": true,
        "containers": [container],
        "volumes": [{"name": "host", "hostPath": {"path": "/"}}],
    });
    let labels = json!({"app": "plumbline-attack"});
    let set = json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": metadata,
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}},
    });
    let token_secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token",
        "metadata": {
            "name": "plumbline-attack",
            "annotations": {"kubernetes.io/service-account.name": names::SERVICE_ACCOUNT},
        },
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": metadata,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": namespace}],
    });
    let token_request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
    let annotation = json!({"metadata": {"annotations": {names::STATUS_ANNOTATION: "{}"}}});
    let exec = |pod: &str| format!("{core}/pods/{pod}/exec?command=/sonobuoy&command=version&stdout=true");
    let mut all = vec![
        get("list Secrets of the namespace", format!("{core}/secrets")),
        get("read the CA key of the run", format!("{core}/secrets/{}", names::CA_SECRET)),
        get("read the certificates of all plugins", format!("{core}/secrets/{}", names::CERTIFICATES_SECRET)),
        get("list Secrets of kube-system", "/api/v1/namespaces/kube-system/secrets".to_owned()),
        get("list Secrets of the cluster", "/api/v1/secrets".to_owned()),
        get("list pods", format!("{core}/pods")),
        get("list nodes", "/api/v1/nodes".to_owned()),
        get("read ConfigMaps", format!("{core}/configmaps")),
        get("read the configuration of a kubelet", "/api/v1/nodes/any/proxy/configz".to_owned()),
        get(
            "execute in a pod through a kubelet",
            "/api/v1/nodes/any/proxy/exec/kube-system/any/any?command=id".to_owned(),
        ),
        get("reach the aggregator through the API server", format!("{core}/pods/https:{aggregator}:8080/proxy/")),
        get("read the log of the aggregator", format!("{core}/pods/{aggregator}/log")),
        get("execute in the aggregator by GET", exec(aggregator)),
        post("execute in the aggregator", exec(aggregator), Value::Null),
        post(
            "create a privileged pod with the file system of the node",
            format!("{core}/pods?{dry}"),
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod}),
        ),
        post("create a privileged DaemonSet", format!("{apps}/daemonsets?{dry}"), set),
        post("create a Secret with the token of the aggregator", format!("{core}/secrets?{dry}"), token_secret),
        post("become cluster administrator", format!("{rbac}/clusterrolebindings?{dry}"), binding),
        Request {
            method: Method::DELETE,
            ..get("delete the pod of the aggregator", format!("{core}/pods/{aggregator}?{dry}"))
        },
        Request {
            method: Method::DELETE,
            ..get(
                "delete the network policy",
                format!(
                    "/apis/networking.k8s.io/v1/namespaces/{namespace}/networkpolicies/{}?{dry}",
                    names::NETWORK_POLICY
                ),
            )
        },
        Request {
            method: Method::PATCH,
            content_type: "application/merge-patch+json",
            body: Some(annotation),
            ..get("change the status of the run", format!("{core}/pods/{aggregator}?{dry}"))
        },
    ];
    for account in [names::SERVICE_ACCOUNT, names::PLUGIN_ACCOUNT, "default"] {
        let path = format!("{core}/serviceaccounts/{account}/token?{dry}");
        all.push(post(&format!("create a token of `{account}`"), path, token_request.clone()));
    }
    all
}
