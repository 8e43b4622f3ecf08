//! Checks that the aggregator performs before any long work: names resolve in pods, and the
//! aggregator is reachable at the URL that workers use.

use std::time::Duration;

use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;

/// A name that exists in every cluster with DNS.
const KNOWN_NAME: &str = "kubernetes.default.svc";
/// Timeout of each attempt.
const PATIENCE: Duration = Duration::from_secs(10);

/// Returns one sentence for each failed check. `url` is the aggregator's URL, as workers get it.
pub async fn check(url: &str) -> Vec<String> {
    let (names, reach) = tokio::join!(resolves(KNOWN_NAME), reachable(url));
    names.into_iter().chain(reach).collect()
}

async fn resolves(name: &str) -> Option<String> {
    // The port has no meaning here, but the call requires one.
    let why = match timeout(PATIENCE, lookup_host((name, 443))).await {
        Ok(Ok(mut found)) => match found.next() {
            Some(_) => return None,
            None => "the answer was empty".to_owned(),
        },
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("no answer within {} s", PATIENCE.as_secs()),
    };
    Some(format!(
        "failed to resolve `{name}` in this cluster: {why}; check the pods of the cluster's DNS server, and network policies"
    ))
}

async fn reachable(url: &str) -> Option<String> {
    let address = url.strip_prefix("https://").unwrap_or(url);
    let why = match timeout(PATIENCE, TcpStream::connect(address)).await {
        Ok(Ok(_)) => return None,
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("no answer within {} s", PATIENCE.as_secs()),
    };
    Some(format!("failed to reach the aggregator at `{url}`, where workers will send their results: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_open_port_is_reached_and_a_closed_one_is_reported() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}", listener.local_addr().unwrap());
        assert_eq!(reachable(&url).await, None);
        drop(listener);
        let trouble = reachable(&url).await.unwrap();
        assert!(trouble.contains(&url), "{trouble}");
    }

    #[tokio::test]
    async fn a_name_that_does_not_resolve_is_reported_with_the_answer() {
        let trouble = resolves("no-such-name.invalid").await.unwrap();
        assert!(trouble.contains("no-such-name.invalid"), "{trouble}");
        assert_eq!(resolves("localhost").await, None);
    }
}
