//! An unreliable API server: error responses, resets, slow responses and lost watches, in an order
//! that depends on a seed.

use std::time::Duration;

use crate::{ApiDouble, Fault, FaultKind};

/// Interval between two faults.
const PAUSE: Duration = Duration::from_millis(40);
/// Maximum delay of a response in milliseconds.
const SLOW: u64 = 800;

/// Makes `double` unreliable until dropped.
pub(super) async fn play(double: &ApiDouble, seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut tick = tokio::time::interval(PAUSE);
    loop {
        tick.tick().await;
        // Remove a fault that met no request. Otherwise, if there are few requests, they would meet
        // all faults.
        double.clear_faults();
        match random.u32(..20) {
            0 => double.expire_watches(),
            1 => double.drop_watches(),
            2..8 => double.fault(fault(&mut random)),
            _ => {}
        }
    }
}

fn fault(random: &mut fastrand::Rng) -> Fault {
    let status = |code, message: &str| FaultKind::Status { code, message: message.into(), retry_after: None };
    let kind = match random.u32(..7) {
        0 => FaultKind::Status { code: 429, message: "too many requests".into(), retry_after: Some(1) },
        1 => status(500, "internal error"),
        2 => status(503, "the server is currently unable to handle the request"),
        3 => status(409, "the object has been modified; please apply your changes to the latest version"),
        4 => FaultKind::Stall(Duration::from_millis(random.u64(..SLOW))),
        _ => FaultKind::Reset,
    };
    let times = if random.u32(..5) == 0 { 3 } else { 1 };
    Fault { method: method(&kind, random), path_contains: String::new(), kind, times }
}

/// Returns the method that a fault applies to: an API server reports a conflict to writers only.
fn method(kind: &FaultKind, random: &mut fastrand::Rng) -> Option<&'static str> {
    let conflict = matches!(kind, FaultKind::Status { code: 409, .. });
    conflict.then(|| if random.bool() { "PATCH" } else { "DELETE" })
}
