//! Exports metrics at intervals, and once more at the end.

use std::sync::Arc;

use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use super::client::Exporter;
use crate::endpoint::Source;

/// Exports the metrics of `source` at intervals until `stop` is cancelled, and then once more. A
/// failure is logged once, until an export succeeds again, and has no other effect.
pub async fn push_metrics(exporter: Arc<Exporter>, source: Source, stop: CancellationToken) {
    let Some(interval) = exporter.interval() else { return };
    let mut ticks = tokio::time::interval(interval);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // The first tick is at once, and there is nothing to export yet.
    ticks.tick().await;
    let mut failing = false;
    loop {
        let stopped = stop.run_until_cancelled(ticks.tick()).await.is_none();
        match exporter.send_metrics(&source()).await {
            Ok(()) if failing => {
                tracing::info!("the export of metrics works again");
                failing = false;
            }
            Ok(()) => {}
            Err(error) if failing => tracing::debug!("{error}"),
            Err(error) => {
                tracing::warn!("{error}; the run does not depend on it");
                failing = true;
            }
        }
        if stopped {
            return;
        }
    }
}
