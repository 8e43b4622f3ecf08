//! Faults that tests inject.

use std::time::Duration;

/// A fault, and the requests that it applies to.
#[derive(Debug, Clone)]
pub struct Fault {
    /// The method, such as `GET` or `POST`; `None` for any.
    pub method: Option<&'static str>,
    /// A text that path and query (`/api/v1/pods?watch=true`, as sent) must contain.
    pub path_contains: String,
    /// The kind of the fault.
    pub kind: FaultKind,
    /// The number of requests to apply the fault to.
    pub times: u32,
}

/// What happens to a request.
#[derive(Debug, Clone)]
pub enum FaultKind {
    /// The request is rejected with a `Status` object.
    Status {
        /// The HTTP status code.
        code: u16,
        /// The message.
        message: String,
        /// Seconds for the header `Retry-After`.
        retry_after: Option<u64>,
    },
    /// The request is rejected with a text, as by a proxy, or by a server without the API group.
    Text {
        /// The HTTP status code.
        code: u16,
        /// The body.
        body: &'static str,
    },
    /// The connection is closed without a response.
    Reset,
    /// The request is executed, and the connection is closed without a response.
    LostAnswer,
    /// The request is executed after this delay.
    Stall(Duration),
}

/// Returns the first fault that applies to a request, and counts it. Used-up faults are removed.
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
