//! Taints that pods tolerate.

use std::str::FromStr;

use serde::Serialize;

/// The effects of taints.
pub(super) const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// A taint that a pod tolerates (core/v1 `Toleration`). Empty strings mean that the field is
/// absent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Toleration {
    /// The key of the taint. If empty, every taint.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// `Exists` or `Equal`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub operator: String,
    /// The value of the taint, for `Equal`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub value: String,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`. If empty, every effect.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub effect: String,
}

/// Error while parsing a toleration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected `KEY`, `KEY=VALUE` or `*`, followed by `:EFFECT` for one effect; effects are `NoSchedule`, `PreferNoSchedule` and `NoExecute`"
)]
pub struct TolerationError;

impl FromStr for Toleration {
    type Err = TolerationError;

    /// Parses a toleration in the syntax that `kubectl taint` uses for taints,
    /// `KEY[=VALUE][:EFFECT]`. The key `*` matches every taint.
    fn from_str(text: &str) -> Result<Self, TolerationError> {
        let (taint, effect) = text.split_once(':').unwrap_or((text, ""));
        if text.contains(':') && !EFFECTS.contains(&effect) {
            return Err(TolerationError);
        }
        let (key, value) = match taint.split_once('=') {
            Some((key, value)) => (key, Some(value)),
            None => (taint, None),
        };
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '/');
        let is_good = match (key, value) {
            ("*", value) => value.is_none(),
            (key, value) => !key.is_empty() && key.chars().chain(value.unwrap_or_default().chars()).all(is_name),
        };
        if !is_good {
            return Err(TolerationError);
        }
        Ok(Self {
            key: if key == "*" { String::new() } else { key.to_owned() },
            operator: if value.is_some() { "Equal" } else { "Exists" }.to_owned(),
            value: value.unwrap_or_default().to_owned(),
            effect: effect.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tolerations_are_read_as_taints_are_written() {
        let read = |text: &str| text.parse::<Toleration>().map(|read| serde_json::to_string(&read).unwrap());
        assert_eq!(read("gpu").unwrap(), r#"{"key":"gpu","operator":"Exists"}"#);
        assert_eq!(
            read("example.org/gpu=true:NoSchedule").unwrap(),
            r#"{"key":"example.org/gpu","operator":"Equal","value":"true","effect":"NoSchedule"}"#
        );
        assert_eq!(read("gpu=").unwrap(), r#"{"key":"gpu","operator":"Equal"}"#);
        assert_eq!(read("*:NoExecute").unwrap(), r#"{"operator":"Exists","effect":"NoExecute"}"#);
        for bad in ["", ":NoSchedule", "gpu:", "gpu:never", "*=x", "a b", "=x", "gpu=a=b"] {
            assert_eq!(read(bad), Err(TolerationError), "{bad}");
        }
    }
}
