//! Attempts at the API server.

use std::time::Duration;

use plumbline_kubernetes::names;
use reqwest::{Client, Method};
use serde_json::{Value, json};

use super::attempts::{Attempt, Attempts};

/// How long a request may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Makes every request without a token and with each of `tokens`.
pub(super) async fn attack(namespace: &str, tokens: &[(String, String)], attempts: &mut Attempts) {
    let address = |name: &str, otherwise: &str| std::env::var(name).unwrap_or_else(|_| otherwise.to_owned());
    let host = address("KUBERNETES_SERVICE_HOST", "kubernetes.default.svc");
    let host = if host.contains(':') { format!("[{host}]") } else { host };
    let server = format!("https://{host}:{}", address("KUBERNETES_SERVICE_PORT", "443"));
    // An attacker accepts every certificate.
    let client = match Client::builder().tls_danger_accept_invalid_certs(true).timeout(PATIENCE).build() {
        Ok(client) => client,
        Err(error) => return attempts.add("ask the API server", Attempt::Failed(error.to_string())),
    };
    let credentials = [("nobody", None)].into_iter();
    let credentials = credentials.chain(tokens.iter().map(|(place, token)| (place.as_str(), Some(token.as_str()))));
    for (who, token) in credentials {
        for Request { what, method, path, content_type, body } in reads(namespace).into_iter().chain(writes(namespace))
        {
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

impl Request {
    fn new(method: Method, what: &str, path: String, body: Option<Value>) -> Self {
        Self { what: what.to_owned(), method, path, content_type: "application/json", body }
    }
}

/// Requests that only read, or execute a command.
fn reads(namespace: &str) -> Vec<Request> {
    let core = format!("/api/v1/namespaces/{namespace}");
    let aggregator = names::AGGREGATOR_POD;
    let exec = format!("{core}/pods/{aggregator}/exec?command=/sonobuoy&command=version&stdout=true");
    let kubelet = "/api/v1/nodes/any/proxy";
    let paths = [
        ("list Secrets of the namespace", format!("{core}/secrets")),
        ("read the CA key of the run", format!("{core}/secrets/{}", names::CA_SECRET)),
        ("read the certificates of all plugins", format!("{core}/secrets/{}", names::CERTIFICATES_SECRET)),
        ("list Secrets of kube-system", "/api/v1/namespaces/kube-system/secrets".to_owned()),
        ("list Secrets of the cluster", "/api/v1/secrets".to_owned()),
        ("list pods", format!("{core}/pods")),
        ("list nodes", "/api/v1/nodes".to_owned()),
        ("read ConfigMaps", format!("{core}/configmaps")),
        ("read the configuration of a kubelet", format!("{kubelet}/configz")),
        ("execute in a pod through a kubelet", format!("{kubelet}/exec/kube-system/any/any?command=id")),
        ("reach the aggregator through the API server", format!("{core}/pods/https:{aggregator}:8080/proxy/")),
        ("read the log of the aggregator", format!("{core}/pods/{aggregator}/log")),
        ("execute in the aggregator by GET", exec.clone()),
    ];
    let mut all: Vec<_> = paths.map(|(what, path)| Request::new(Method::GET, what, path, None)).into();
    all.push(Request::new(Method::POST, "execute in the aggregator", exec, Some(Value::Null)));
    all
}

/// Dry runs of requests that change something.
fn writes(namespace: &str) -> Vec<Request> {
    const DRY: &str = "dryRun=All";
    let core = format!("/api/v1/namespaces/{namespace}");
    let apps = format!("/apis/apps/v1/namespaces/{namespace}");
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    let policies = format!("/apis/networking.k8s.io/v1/namespaces/{namespace}/networkpolicies");
    let aggregator = format!("{core}/pods/{}?{DRY}", names::AGGREGATOR_POD);
    let post = |what: &str, path: String, body: Value| Request::new(Method::POST, what, path, Some(body));
    let annotation = json!({"metadata": {"annotations": {names::STATUS_ANNOTATION: "{}"}}});
    let mut all = vec![
        post("create a privileged pod with the file system of the node", format!("{core}/pods?{DRY}"), pod()),
        post("create a privileged DaemonSet", format!("{apps}/daemonsets?{DRY}"), daemon_set()),
        post("create a Secret with the token of the aggregator", format!("{core}/secrets?{DRY}"), token_secret()),
        post("become cluster administrator", format!("{rbac}/clusterrolebindings?{DRY}"), binding(namespace)),
        Request::new(Method::DELETE, "delete the pod of the aggregator", aggregator.clone(), None),
        Request::new(
            Method::DELETE,
            "delete the network policy",
            format!("{policies}/{}?{DRY}", names::NETWORK_POLICY),
            None,
        ),
        Request {
            content_type: "application/merge-patch+json",
            ..Request::new(Method::PATCH, "change the status of the run", aggregator, Some(annotation))
        },
    ];
    for account in [names::SERVICE_ACCOUNT, names::PLUGIN_ACCOUNT, "default"] {
        let token = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
        let path = format!("{core}/serviceaccounts/{account}/token?{DRY}");
        all.push(post(&format!("create a token of `{account}`"), path, token));
    }
    all
}

const NAME: &str = "plumbline-attack";

fn privileged() -> Value {
    json!({
        "hostPID": true,
        "containers": [{
            "name": "c",
            "image": "attack",
            "securityContext": {"privileged": true},
            "volumeMounts": [{"name": "host", "mountPath": "/host"}],
        }],
        "volumes": [{"name": "host", "hostPath": {"path": "/"}}],
    })
}

fn pod() -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": NAME}, "spec": privileged()})
}

fn daemon_set() -> Value {
    let labels = json!({"app": NAME});
    json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": NAME},
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": privileged()}},
    })
}

fn token_secret() -> Value {
    let annotations = json!({"kubernetes.io/service-account.name": names::SERVICE_ACCOUNT});
    json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token",
        "metadata": {"name": NAME, "annotations": annotations},
    })
}

fn binding(namespace: &str) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": NAME},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": namespace}],
    })
}
