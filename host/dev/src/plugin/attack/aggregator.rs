//! Attempts to send a result for another plugin.

use std::time::Duration;

use plumbline_core::{PluginName, RunId};
use plumbline_kubernetes::names;
use plumbline_phonehome::RunCa;
use reqwest::{Client, Identity};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::attempts::{Attempt, Attempts};
use super::credentials::Certificate;

/// How long a request may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// The pause between two attempts to connect.
const TRY_AGAIN: Duration = Duration::from_millis(500);

/// Sends a result for the victim without a certificate, with one of a CA of our own, and with each
/// that was found.
pub(super) async fn attack(victim: &str, namespace: &str, found: &[Certificate], attempts: &mut Attempts) {
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
    let forged = victim.parse().map_err(|_| "the victim is not a plugin".to_owned()).and_then(|name| forge(&name));
    let mut identities =
        vec![("no certificate".to_owned(), Ok(None)), ("a forged certificate".to_owned(), forged.map(Some))];
    identities.extend(found.iter().map(|one| (one.found.clone(), Ok(Some(one.pem.clone())))));
    let url = format!("https://{address}/api/v1/results/global/{victim}");
    for (with, pem) in identities {
        let attempt = match pem {
            Ok(pem) => send(&url, pem.as_deref()).await,
            Err(why) => Attempt::Failed(why),
        };
        attempts.add(format!("send a result of `{victim}` with {with}"), attempt);
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
