//! Attacks on the API server. Requests that would change something are dry runs, which need the
//! same permissions.

use std::time::Duration;

use plumbline_kubernetes::names;
use reqwest::{Client, Method};
use serde_json::{Value, json};

use super::attempts::{Attempt, Attempts};

/// How long a request may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Makes every request without a token and with each of `tokens`.
pub(super) async fn attack(namespace: &str, tokens: &[(String, String)], attempts: &mut Attempts<'_>) {
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
