//! Describes how many results of a run are missing.

use plumbline_core::run_status::RunStatus;

/// Describes how many expected results of a finished run did not arrive; `None` if all did.
pub(crate) fn missing(status: &RunStatus) -> Option<String> {
    let all = status.expected();
    match status.missing() {
        (0, _) => None,
        (missing, 0) => Some(format!("{missing} of {all} results did not arrive")),
        (missing, late) if missing == late => Some(format!("{missing} of {all} results timed out")),
        (missing, late) => Some(format!("{missing} of {all} results did not arrive, {late} of them timed out")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn results_that_timed_out_are_counted_apart() {
        let told = |entries: &[(&str, u64)]| {
            let entries = entries.iter().map(|(status, count)| json!({"status": status, "folded": count}));
            missing(&serde_json::from_value(json!({"plugins": entries.collect::<Vec<_>>()})).unwrap())
        };
        assert_eq!(told(&[("complete", 3)]), None);
        assert_eq!(told(&[("complete", 3), ("failed", 1)]).unwrap(), "1 of 4 results did not arrive");
        assert_eq!(told(&[("complete", 3), ("timed_out", 2)]).unwrap(), "2 of 5 results timed out");
        assert_eq!(
            told(&[("failed", 1), ("timed_out", 2), ("running", 1)]).unwrap(),
            "4 of 4 results did not arrive, 2 of them timed out"
        );
    }
}
