//! The receiving end of an aggregator, without a run around it.

use std::sync::Arc;

use jiff::Timestamp;
use plumbline_aggregator::journal::Journal;
use plumbline_aggregator::{Server, State, Store};
use plumbline_archive::disk::Disk;
use plumbline_core::ledger::{Event, Ledger};
use plumbline_core::{PluginName, ReceiveLimits, ResultKey, RunId};
use plumbline_dev::Result;
use plumbline_phonehome::{ClientConfig, Issued, RunCa, server_config};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tempfile::TempDir;

/// The plugin whose results are expected.
const PLUGIN: &str = "bench";

/// A server that accepts one result of a plugin from each node.
pub(crate) struct Receiver {
    pub(crate) dir: TempDir,
    pub(crate) state: State,
    pub(crate) server: Server,
    pub(crate) keys: Vec<ResultKey>,
    /// The credentials of the plugin's workers.
    pub(crate) config: ClientConfig,
}

impl Receiver {
    pub(crate) async fn start(nodes: usize) -> Result<Self> {
        let dir = tempfile::tempdir()?;
        let plugin: PluginName = PLUGIN.parse()?;
        let (ca, server, client) = authority()?;
        let mut keys = Vec::new();
        for n in 0..nodes {
            keys.push(ResultKey::new(plugin.clone(), format!("node-{n:04}").parse()?));
        }
        let (journal, _) = Journal::open(&dir.path().join("journal"))?;
        let (state, mut effects) = State::new(Ledger::replay([])?, journal);
        // No effects are executed here.
        tokio::spawn(async move { while effects.recv().await.is_some() {} });
        state.apply_durable(Event::Planned { plugin, keys: keys.clone() }).await?;
        let limits = ReceiveLimits::default();
        let store = Store::create(&Disk::default(), dir.path().join("incoming"), dir.path().join("tree"), &limits)?;
        let tls = Arc::new(server_config(&ca, &server)?);
        let server = Server::start("127.0.0.1:0".parse()?, tls, state.clone(), store, limits).await?;
        let config = ClientConfig {
            aggregator_url: format!("https://{}", server.address()),
            ca_cert: ca.certificate_pem().to_owned(),
            client_cert: client.certificate_pem,
            client_key: client.key_pem,
        };
        Ok(Self { dir, state, server, keys, config })
    }
}

/// Creates the CA of a run, and certificates of the aggregator and of the plugin's workers.
pub(crate) fn authority() -> Result<(RunCa, Issued, Issued)> {
    let ca = RunCa::generate(&RunId::random(), RunCa::validity_for(None), Timestamp::now())?;
    let server = ca.issue_server(&["127.0.0.1".to_owned()])?;
    let client = ca.issue_client(&PLUGIN.parse()?)?;
    Ok((ca, server, client))
}

/// Returns a certificate and its key, as rustls takes them.
pub(crate) fn chain_and_key(issued: &Issued) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)> {
    let chain = vec![CertificateDer::from_pem_slice(issued.certificate_pem.as_bytes())?];
    Ok((chain, PrivateKeyDer::from_pem_slice(issued.key_pem.as_bytes())?))
}
