//! Merges the reporter's condition into the existing conditions of the Job's status.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

/// The condition to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// The condition type.
    pub kind: String,
    /// Whether the status is `True`, or else `False`.
    pub success: bool,
    /// The reason.
    pub reason: String,
    /// The message.
    pub message: String,
}

impl Condition {
    fn status(&self) -> &'static str {
        if self.success { "True" } else { "False" }
    }
}

/// Returns the conditions including this one, or `None` if it already exists with the same content.
///
/// Other conditions keep their content and order. `lastTransitionTime` changes only with the
/// status, and `lastProbeTime` with every write.
#[must_use]
pub fn merge(existing: &[Value], new: &Condition, now: Timestamp) -> Option<Vec<Value>> {
    // Kubernetes writes times in whole seconds.
    let now = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let said = |condition: &Value, field: &str| condition.get(field).and_then(Value::as_str).map(str::to_owned);
    let place = existing.iter().position(|condition| said(condition, "type").as_ref() == Some(&new.kind));
    let before = place.and_then(|place| existing.get(place)).and_then(Value::as_object).cloned().unwrap_or_default();
    let old = Value::Object(before.clone());
    let same_status = said(&old, "status").as_deref() == Some(new.status());
    // An empty field may be omitted.
    let same = |field: &str, text: &str| said(&old, field).unwrap_or_default() == text;
    if place.is_some() && same_status && same("reason", &new.reason) && same("message", &new.message) {
        return None;
    }
    let since = said(&old, "lastTransitionTime").filter(|_| same_status).unwrap_or_else(|| now.clone());
    let mut condition: Map<String, Value> = before;
    for (field, value) in [
        ("type", new.kind.as_str()),
        ("status", new.status()),
        ("reason", &new.reason),
        ("message", &new.message),
        ("lastProbeTime", &now),
        ("lastTransitionTime", &since),
    ] {
        condition.insert(field.to_owned(), json!(value));
    }
    let mut merged = existing.to_vec();
    match place.and_then(|place| merged.get_mut(place)) {
        Some(old) => *old = Value::Object(condition),
        None => merged.push(Value::Object(condition)),
    }
    Some(merged)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EARLIER: &str = "2026-01-01T00:00:00Z";
    const NOW: &str = "2026-01-02T03:04:05Z";

    fn now() -> Timestamp {
        "2026-01-02T03:04:05.678Z".parse().unwrap()
    }

    fn new(success: bool, reason: &str) -> Condition {
        Condition { kind: "Available".into(), success, reason: reason.into(), message: "m".into() }
    }

    fn there(status: &str, reason: &str) -> Value {
        json!({"type": "Available", "status": status, "reason": reason, "message": "m", "lastTransitionTime": EARLIER})
    }

    #[test]
    fn a_new_condition_comes_last() {
        let other = json!({"type": "Suspended", "status": "False", "future": [1]});
        let merged = merge(std::slice::from_ref(&other), &new(true, "r"), now()).unwrap();
        let ours = json!({"type": "Available", "status": "True", "reason": "r", "message": "m",
            "lastProbeTime": NOW, "lastTransitionTime": NOW});
        assert_eq!(merged, [other, ours]);
    }

    #[test]
    fn what_is_there_already_is_not_written() {
        assert_eq!(merge(&[there("True", "r")], &new(true, "r"), now()), None);
        let empty = Condition { message: String::new(), ..new(true, "r") };
        assert_eq!(merge(&[json!({"type": "Available", "status": "True", "reason": "r"})], &empty, now()), None);
    }

    #[test]
    fn the_transition_moves_only_with_the_status_and_the_place_never() {
        let (a, z) = (json!({"type": "A"}), json!("no condition at all"));
        let of = |old: Value, new: Condition| {
            let merged = merge(&[a.clone(), old, z.clone()], &new, now()).unwrap();
            assert_eq!((&merged[0], &merged[2], merged.len()), (&a, &z, 3));
            merged[1].clone()
        };
        let same = of(there("True", "old"), new(true, "r"));
        assert_eq!((&same["lastTransitionTime"], &same["lastProbeTime"]), (&json!(EARLIER), &json!(NOW)));
        let flipped = of(there("True", "r"), new(false, "r"));
        assert_eq!((&flipped["status"], &flipped["lastTransitionTime"]), (&json!("False"), &json!(NOW)));
        let from_unknown = of(there("Unknown", "r"), new(false, "r"));
        assert_eq!(from_unknown["lastTransitionTime"], NOW);
    }

    #[test]
    fn fields_that_are_not_known_stay() {
        let mut old = there("True", "old");
        old["observedGeneration"] = json!(3);
        assert_eq!(merge(&[old], &new(true, "r"), now()).unwrap()[0]["observedGeneration"], 3);
    }
}
