//! The progress of a plugin, and the rules for applying updates (docs/protocol.md, "Progress").

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::name::ResultKey;
use crate::rollup::meaning;
use crate::status::Status;
use crate::text::excerpt;

/// The maximum number of names in all lists of one state together. A complete end-to-end suite has
/// about 7,000 tests, and more names help nobody.
pub const MAX_NAMES: usize = 10_000;

/// The maximum size of all names of one state together, in bytes: 1 MiB, the limit of one update.
pub const MAX_NAME_BYTES: usize = 1 << 20;

/// The maximum length of a message in bytes. The rest is cut off, since a message is one line.
pub const MAX_MESSAGE_BYTES: usize = 4 << 10;

/// The maximum number of reasons of one state. Reasons of the latest failures stay.
pub const MAX_REASONS: usize = 20;

/// The maximum length of a reason in characters, as in the summary at the end of a run.
pub const MAX_REASON: usize = 160;

/// The maximum length in bytes of a name that has a reason, because the state repeats the name.
pub const MAX_REASON_NAME: usize = 1_000;

/// The timestamp that means "not yet": `0001-01-01T00:00:00Z`. Readers of the status annotation
/// expect it where a time is required and none is known (docs/protocol.md, "Status").
pub const NEVER: Timestamp = Timestamp::constant(-62_135_596_800, 0);

/// Reads `null` as [`NEVER`].
pub(crate) fn or_never<'de, D: Deserializer<'de>>(de: D) -> Result<Timestamp, D::Error> {
    Option::<Timestamp>::deserialize(de).map(|at| at.unwrap_or(NEVER))
}

/// An update as a plugin sends it. It is also the state that results from all updates, as the
/// status shows it.
///
/// Every key may be missing or `null`. The state never has the keys that begin with `append`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProgressUpdate {
    /// The name of the plugin. Set by the server.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    /// The name of the node, or `global`. Set by the server.
    #[serde(deserialize_with = "or_default")]
    pub node: String,
    /// When the server received the update.
    #[serde(deserialize_with = "or_never")]
    pub timestamp: Timestamp,
    /// A one-line message for users.
    #[serde(deserialize_with = "or_default")]
    pub msg: String,
    /// The number of expected tests, or 0 if unknown.
    #[serde(deserialize_with = "or_default")]
    pub total: i64,
    /// The number of finished tests, without those that failed.
    #[serde(deserialize_with = "or_default")]
    pub completed: i64,
    /// Names of tests that could not run.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
    /// Names of failed tests.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<String>,
    /// The first line of why tests failed, by their names in `failures` or `appendfailing`: at most
    /// [`MAX_REASONS`] reasons of [`MAX_REASON`] characters. Plumbline only: other readers ignore
    /// it.
    #[serde(deserialize_with = "strings", skip_serializing_if = "BTreeMap::is_empty")]
    pub reasons: BTreeMap<String, String>,
    /// Append mode: whether `total` grows too.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "std::ops::Not::not")]
    pub appendtotals: bool,
    /// Append mode: the increase of `completed`.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "crate::is_default")]
    pub appendcompleted: i64,
    /// Append mode: names to add to `failures`.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub appendfailing: Vec<String>,
    /// The number of names left out of the lists, because of [`MAX_NAMES`] or [`MAX_NAME_BYTES`]. A
    /// sender that only knows the number of failed tests sets it too. Plumbline only: other readers
    /// ignore it.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "crate::is_default")]
    pub omitted: u64,
}

impl Default for ProgressUpdate {
    fn default() -> Self {
        Self {
            name: String::new(),
            node: String::new(),
            timestamp: NEVER,
            msg: String::new(),
            total: 0,
            completed: 0,
            errors: Vec::new(),
            failures: Vec::new(),
            reasons: BTreeMap::new(),
            appendtotals: false,
            appendcompleted: 0,
            appendfailing: Vec::new(),
            omitted: 0,
        }
    }
}

fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(de: D) -> Result<T, D::Error> {
    Option::<T>::deserialize(de).map(Option::unwrap_or_default)
}

/// Reads an object of strings. Other values are ignored, because another sender may use the key with
/// another meaning.
fn strings<'de, D: Deserializer<'de>>(de: D) -> Result<BTreeMap<String, String>, D::Error> {
    let Value::Object(fields) = Value::deserialize(de)? else { return Ok(BTreeMap::new()) };
    let string = |(key, value): (String, Value)| match value {
        Value::String(text) => Some((key, text)),
        _ => None,
    };
    Ok(fields.into_iter().filter_map(string).collect())
}

/// Error for the body of a progress update (HTTP status 400).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProgressError {
    /// The body is not JSON, or a value has the wrong type.
    #[error("invalid progress update: {0}")]
    Invalid(String),
    /// The body is JSON but not an object.
    #[error("progress update is not a JSON object")]
    NotAnObject,
}

impl ProgressUpdate {
    /// Reads the body of a request. Keys match without regard to case, and unknown keys are
    /// ignored.
    ///
    /// `name`, `node` and `timestamp` are left for [`ProgressUpdate::stamp`]. The values of the
    /// plugin are ignored, whatever their types.
    ///
    /// The caller limits the size of `body` (see [`crate::ReceiveLimits::message_bytes`]).
    pub fn from_body(body: &[u8]) -> Result<Self, ProgressError> {
        let value: Value = serde_json::from_slice(body).map_err(|e| ProgressError::Invalid(e.to_string()))?;
        let Value::Object(fields) = value else { return Err(ProgressError::NotAnObject) };
        let ours = ["name", "node", "timestamp"];
        let fields = fields
            .into_iter()
            .map(|(key, value)| (key.to_ascii_lowercase(), value))
            .filter(|(key, value)| !ours.contains(&key.as_str()) && (key != "omitted" || value.is_u64()))
            .collect();
        let mut update: Self =
            serde_json::from_value(Value::Object(fields)).map_err(|e| ProgressError::Invalid(e.to_string()))?;
        update.bound();
        Ok(update)
    }

    /// Sets the sender and the time, which only the server knows reliably.
    pub fn stamp(&mut self, key: &ResultKey, at: Timestamp) {
        self.name = key.plugin.to_string();
        self.node = key.node.to_string();
        self.timestamp = at;
    }

    /// Returns whether this update adds to the state instead of replacing it.
    pub fn is_appending(&self) -> bool {
        self.appendtotals || self.appendcompleted > 0 || !self.appendfailing.is_empty()
    }

    /// Returns the number of failed tests, including those whose names were left out.
    pub fn failed(&self) -> u64 {
        (self.failures.len() as u64).saturating_add(self.omitted)
    }

    /// Returns the number of remaining tests, or `None` if `total` is too small to tell.
    pub fn remaining(&self) -> Option<u64> {
        let failed = i64::try_from(self.failed()).unwrap_or(i64::MAX);
        u64::try_from(self.total.saturating_sub(self.completed).saturating_sub(failed)).ok()
    }

    /// Returns the final progress of a plugin whose result was received, from its leaves by status.
    /// Nothing remains. A plugin that reported all its tests keeps its own counts.
    #[must_use]
    pub fn settled(mut self, counts: &BTreeMap<String, u64>) -> Self {
        if self.remaining() == Some(0) {
            return self;
        }
        let count = |wanted: &[Status]| {
            let wanted = counts.iter().filter(|(status, _)| wanted.contains(&meaning(&status.as_str().into())));
            wanted.map(|(_, n)| *n).fold(0, u64::saturating_add)
        };
        let (passed, failed) = (count(&[Status::Passed]), count(&[Status::Failed, Status::Timeout]));
        if passed > 0 || failed > 0 {
            self.completed = i64::try_from(passed).unwrap_or(i64::MAX);
            self.failures.truncate(usize::try_from(failed).unwrap_or(usize::MAX));
            self.omitted = failed - self.failures.len() as u64;
        }
        self.total = self.completed.saturating_add(i64::try_from(self.failed()).unwrap_or(i64::MAX));
        self
    }

    /// Returns the size of all names and reasons in bytes, as limited by [`MAX_NAME_BYTES`].
    pub fn name_bytes(&self) -> usize {
        let names = [&self.failures, &self.errors, &self.appendfailing].into_iter().flatten().map(String::len);
        let reasons = self.reasons.iter().map(|(name, reason)| name.len() + reason.len());
        names.chain(reasons).sum()
    }

    /// Drops names from the end of the lists until at most `bytes` bytes of names are left. The
    /// dropped names count as omitted. Of the reasons, those that fit into the rest stay.
    pub fn trim_names(&mut self, bytes: usize) {
        let (mut count, mut left) = (MAX_NAMES, bytes);
        for list in [&mut self.failures, &mut self.errors, &mut self.appendfailing] {
            let before = list.len();
            let keep = list
                .iter()
                .take(count)
                .take_while(|name| left.checked_sub(name.len()).map(|rest| left = rest).is_some())
                .count();
            list.truncate(keep);
            count -= keep;
            self.omitted = self.omitted.saturating_add((before - keep) as u64);
        }
        self.trim_reasons(left);
    }

    /// Keeps the reasons of the latest failures, as far as they fit into `left` bytes.
    fn trim_reasons(&mut self, mut left: usize) {
        if self.reasons.is_empty() {
            return;
        }
        let mut reasons = std::mem::take(&mut self.reasons);
        for name in self.failures.iter().chain(&self.appendfailing).rev() {
            let Some((name, reason)) = reasons.remove_entry(name) else { continue };
            let reason = excerpt(&reason, MAX_REASON);
            if name.len() > MAX_REASON_NAME || reason.is_empty() {
                continue;
            }
            let Some(rest) = left.checked_sub(name.len() + reason.len()) else { break };
            left = rest;
            self.reasons.insert(name, reason);
            if self.reasons.len() >= MAX_REASONS {
                break;
            }
        }
    }

    fn bound(&mut self) {
        self.trim_names(MAX_NAME_BYTES);
        self.msg.truncate(self.msg.floor_char_boundary(MAX_MESSAGE_BYTES));
    }
}

/// Returns the state after `update`, given the previous state.
///
/// * An update that does not append replaces the state.
/// * An update that appends to a state sets the sender, time and message. `completed` grows by
///   `appendcompleted`. With `appendtotals`, `total` grows by `appendcompleted` and the number of
///   names in `appendfailing`. These names are added to `failures`. The result does not append.
/// * Two updates that both append become one that does. `appendcompleted` is summed, and
///   `appendfailing` concatenated. `appendtotals`, sender, time and message are those of the
///   update.
///
/// An update that appends adds its reasons.
///
/// Without a previous state, the update applies to an empty one. Counters saturate. Lists are
/// limited by [`MAX_NAMES`] and [`MAX_NAME_BYTES`]: the oldest names stay, and
/// [`ProgressUpdate::omitted`] counts the rest.
pub fn combine(old: Option<&ProgressUpdate>, update: ProgressUpdate) -> ProgressUpdate {
    let mut state = match update.is_appending() {
        true => append(old.cloned().unwrap_or_default(), update),
        false => ProgressUpdate { appendcompleted: 0, ..update },
    };
    state.bound();
    state
}

fn append(old: ProgressUpdate, update: ProgressUpdate) -> ProgressUpdate {
    let both = old.is_appending();
    let mut state = ProgressUpdate {
        name: update.name,
        node: update.node,
        timestamp: update.timestamp,
        msg: update.msg,
        omitted: old.omitted.saturating_add(update.omitted),
        ..old
    };
    state.reasons.extend(update.reasons);
    if both {
        state.appendcompleted = state.appendcompleted.saturating_add(update.appendcompleted);
        state.appendfailing.extend(update.appendfailing);
        state.appendtotals = update.appendtotals;
    } else {
        state.completed = state.completed.saturating_add(update.appendcompleted);
        if update.appendtotals {
            let failing = i64::try_from(update.appendfailing.len()).unwrap_or(i64::MAX);
            state.total = state.total.saturating_add(update.appendcompleted).saturating_add(failing);
        }
        state.failures.extend(update.appendfailing);
        state.appendcompleted = 0;
    }
    state
}

#[cfg(test)]
#[path = "progress_tests.rs"]
mod tests;
