//! Sending the archive of a finished run away.

use std::collections::BTreeMap;
use std::path::Path;

use plumbline_aggregator::deliver::{Archive, Destination};
use plumbline_core::RunStatus;
use plumbline_core::config::Config;
use plumbline_kubernetes::names;

use super::last;

/// The status with what came of sending the archive away, if that is wanted and was not done before.
pub(super) async fn sent(config: &Config, dir: &Path, mut status: RunStatus) -> RunStatus {
    let url = &config.plumbline.upload_url;
    if url.is_empty() || status.delivery.is_some() || status.tar_info.name.is_empty() {
        return status;
    }
    let tar = &status.tar_info;
    let archive =
        Archive { path: dir.join(&tar.name), name: tar.name.clone(), bytes: tar.size, sha256: tar.sha256.clone() };
    status.delivery = Some(deliver(url, &archive).await);
    last::keep_last(dir, &status);
    status
}

/// The address of the archive, or why it is not there; either is told in the status.
async fn deliver(url: &str, archive: &Archive) -> String {
    let settings: BTreeMap<String, String> = std::env::vars().collect();
    let sent = match Destination::parse(url, &settings) {
        Ok(destination) => destination.deliver(archive).await,
        Err(error) => Err(error),
    };
    match sent {
        Ok(address) => {
            tracing::info!(%address, "the archive was sent");
            address
        }
        Err(error) => {
            tracing::error!("{error}");
            format!("{}{error}", names::NOT_DELIVERED)
        }
    }
}
