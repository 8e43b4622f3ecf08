//! Signals that interrupt a local run.

use std::sync::Arc;

use plumbline_local::LocalDispatcher;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::ui::say;

/// Bit of SIGHUP in the masks of `/proc/self/status`, whose bit 0 is signal 1.
const HANGUP_BIT: u64 = 1;

/// Cancels the run at the first SIGINT, SIGTERM or SIGHUP, so that its results are archived. A second
/// SIGINT or SIGTERM ends this process at once. A second SIGHUP does not, because the kernel and a shell
/// may both send one when a session ends.
pub(super) async fn cancel_on_signal(cancel: CancellationToken, dispatcher: Arc<LocalDispatcher>) {
    let (Ok(mut interrupt), Ok(mut terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        tracing::warn!("failed to catch signals: Ctrl-C ends this process without an archive");
        return;
    };
    // `nohup` starts processes with SIGHUP ignored.
    let mut hangup = if ignores_hangup() { None } else { signal(SignalKind::hangup()).ok() };
    let mut asked = false;
    loop {
        let hung_up = tokio::select! {
            _ = interrupt.recv() => false,
            _ = terminate.recv() => false,
            () = received(&mut hangup) => true,
        };
        if asked && !hung_up {
            // Plugins have their own process groups, and would outlive this process.
            dispatcher.kill_all();
            std::process::exit(130);
        }
        if !cancel.is_cancelled() {
            say("interrupted: ending plugins and archiving their results; interrupt again to end at once");
            cancel.cancel();
        }
        asked |= !hung_up;
    }
}

async fn received(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}

/// Whether this process was started with SIGHUP ignored (proc(5), `SigIgn`).
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & HANGUP_BIT != 0)
}
