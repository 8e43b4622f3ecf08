//! Faults on order.

use std::time::Duration;

/// What is to go wrong, with which requests, and how often.
#[derive(Debug, Clone)]
pub struct Fault {
    /// `GET`, `POST`, ...; none: every method.
    pub method: Option<&'static str>,
    /// What path and query together (`/api/v1/pods?watch=true`, as they were sent) must contain.
    pub path_contains: String,
    /// What happens.
    pub kind: FaultKind,
    /// With how many requests.
    pub times: u32,
}

/// What happens to a request.
#[derive(Debug, Clone)]
pub enum FaultKind {
    /// It is refused with a `Status` object.
    Status {
        /// The HTTP code.
        code: u16,
        /// The sentence.
        message: String,
        /// Seconds for the header `Retry-After`.
        retry_after: Option<u64>,
    },
    /// The connection is closed without an answer.
    Reset,
    /// It is carried out, and the connection is closed without an answer.
    LostAnswer,
    /// It is carried out only after that time.
    Stall(Duration),
}

/// Takes the first fault that a request meets; one that has struck often enough is gone.
pub(crate) fn strike(faults: &mut Vec<Fault>, method: &str, target: &str) -> Option<FaultKind> {
    faults.retain(|fault| fault.times > 0);
    let meets = |fault: &&mut Fault| fault.method.is_none_or(|m| m == method) && target.contains(&fault.path_contains);
    let fault = faults.iter_mut().find(meets)?;
    fault.times -= 1;
    Some(fault.kind.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_strike_in_order_and_as_often_as_ordered() {
        let fault = |method, kind, times| Fault { method, path_contains: "/pods".into(), kind, times };
        let mut faults =
            vec![fault(Some("POST"), FaultKind::Reset, 1), fault(None, FaultKind::Stall(Duration::ZERO), 2)];
        assert!(matches!(strike(&mut faults, "GET", "/api/v1/pods"), Some(FaultKind::Stall(_))));
        assert!(strike(&mut faults, "GET", "/api/v1/nodes").is_none());
        assert!(matches!(strike(&mut faults, "POST", "/api/v1/pods?x"), Some(FaultKind::Reset)));
        assert!(matches!(strike(&mut faults, "POST", "/api/v1/pods"), Some(FaultKind::Stall(_))));
        assert!(strike(&mut faults, "POST", "/api/v1/pods").is_none());
    }
}
