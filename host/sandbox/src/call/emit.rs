//! Checks items from modules against the rules of `types.wit` and the limits of the call.

use std::collections::BTreeSet;

use plumbline_core::item::{FlatItem, Meta};
use plumbline_core::limits::CALL_STATUSES;
use plumbline_core::{ModuleLimits, Status};
use serde_json::{Map, Value};

use crate::call::json::{self, JsonError};
use crate::failure::{STATUSES, Stop, Unit, quoted};
use crate::generation::v0_1::{RawDetail, RawItem, RawStatus};

/// The maximum length of an item's name in bytes. Some test frameworks put whole parameters into
/// names, but longer text is not a name any more.
pub(crate) const MAX_NAME: usize = 64 << 10;
/// The maximum length of a custom status in bytes, as in the WIT.
const MAX_STATUS: usize = 256;
const MAX_QUOTED: usize = 100;
/// The approximate memory in bytes of an item, or of a key with its value, without the strings.
pub(crate) const ENTRY_BYTES: u64 = 32;

#[derive(Debug)]
pub(crate) struct Emitter {
    limits: ModuleLimits,
    pub(crate) items: u64,
    pub(crate) bytes: u64,
    last_depth: Option<u32>,
    statuses: BTreeSet<String>,
}

impl Emitter {
    pub(crate) fn new(limits: &ModuleLimits) -> Self {
        Self { limits: limits.clone(), items: 0, bytes: 0, last_depth: None, statuses: BTreeSet::new() }
    }

    /// Checks the next item. An error ends the call.
    pub(crate) fn check(&mut self, raw: RawItem) -> Result<FlatItem, Stop> {
        let limits = &self.limits;
        if self.items >= limits.items {
            return Err(Stop::limit("items", limits.items, Unit::Items));
        }
        let RawItem { depth, name, status, meta: raw_meta, details: raw_details } = raw;
        let number = self.items + 1;
        let at = || format!("item {number} ({})", quoted(&name, MAX_QUOTED));
        self.check_depth(depth, at)?;
        if name.is_empty() {
            return Err(Stop::rubbish("an item's name must not be empty", format!("item {number}")));
        }
        if name.len() > MAX_NAME {
            let found = format!("{} has {} bytes (at most {MAX_NAME})", at(), name.len());
            return Err(Stop::rubbish("an item's name must be short", found));
        }
        let mut budget = Budget { left: limits.item_bytes, limit: limits.item_bytes };
        budget.entry(&name)?;
        let status = status.map(|status| self.check_status(status, &mut budget, at)).transpose()?;
        let mut meta = Meta::new();
        for (key, value) in raw_meta {
            budget.entry(&key)?;
            budget.pay(value.len() as u64)?;
            meta.insert(key, value);
        }
        let mut details = Map::new();
        for (key, value) in raw_details {
            budget.entry(&key)?;
            let value = budget.detail(value, || format!("{}, detail {}", at(), quoted(&key, MAX_QUOTED)))?;
            details.insert(key, value);
        }

        let bytes = self.bytes.saturating_add(budget.limit - budget.left);
        if bytes > self.limits.output_bytes {
            return Err(Stop::limit("output-bytes", self.limits.output_bytes, Unit::Bytes));
        }
        self.items += 1;
        self.bytes = bytes;
        self.last_depth = Some(depth);
        Ok(FlatItem { depth, name, status, meta, details })
    }

    fn check_status(
        &mut self,
        status: RawStatus,
        budget: &mut Budget,
        at: impl Fn() -> String,
    ) -> Result<Status, Stop> {
        let text = match status {
            RawStatus::Custom(text) => text,
            RawStatus::Passed => return Ok(Status::Passed),
            RawStatus::Failed => return Ok(Status::Failed),
            RawStatus::Skipped => return Ok(Status::Skipped),
            RawStatus::Timeout => return Ok(Status::Timeout),
            RawStatus::Unknown => return Ok(Status::Unknown),
        };
        if !(1..=MAX_STATUS).contains(&text.len()) {
            let found = format!("{} has a status of {} bytes (1 to {MAX_STATUS})", at(), text.len());
            return Err(Stop::rubbish("a custom status must be short and not empty", found));
        }
        // A custom status with the text of a standard one is that standard one.
        let status = Status::from(text);
        if let Status::Custom(text) = &status {
            budget.pay(text.len() as u64)?;
            if !self.statuses.contains(text) {
                if self.statuses.len() as u64 >= CALL_STATUSES {
                    return Err(Stop::limit(STATUSES, CALL_STATUSES, Unit::Statuses));
                }
                self.statuses.insert(text.clone());
            }
        }
        Ok(status)
    }

    fn check_depth(&self, depth: u32, at: impl Fn() -> String) -> Result<(), Stop> {
        let rule = "items must be in pre-order, and depth may grow by at most one";
        match self.last_depth {
            None if depth > 0 => {
                return Err(Stop::rubbish(rule, format!("{} is the first and has depth {depth}", at())));
            }
            Some(last) if depth > last.saturating_add(1) => {
                return Err(Stop::rubbish(rule, format!("{} has depth {depth} after depth {last}", at())));
            }
            _ => {}
        }
        if depth >= self.limits.depth {
            return Err(Stop::limit("depth", u64::from(self.limits.depth), Unit::Levels));
        }
        Ok(())
    }
}

struct Budget {
    left: u64,
    limit: u64,
}

impl Budget {
    fn pay(&mut self, bytes: u64) -> Result<(), Stop> {
        self.left = self.left.checked_sub(bytes).ok_or_else(|| self.exceeded())?;
        Ok(())
    }

    fn entry(&mut self, key: &str) -> Result<(), Stop> {
        self.pay(ENTRY_BYTES)?;
        self.pay(key.len() as u64)
    }

    fn detail(&mut self, detail: RawDetail, at: impl FnOnce() -> String) -> Result<Value, Stop> {
        match detail {
            RawDetail::Text(text) => {
                self.pay(text.len() as u64)?;
                Ok(Value::String(text))
            }
            RawDetail::Json(text) => json::parse(&text, &mut self.left).map_err(|error| match error {
                JsonError::TooLarge => self.exceeded(),
                JsonError::Invalid(reason) => {
                    Stop::rubbish("a detail sent as JSON must be JSON", format!("{}: {reason}", at()))
                }
            }),
        }
    }

    fn exceeded(&self) -> Stop {
        Stop::limit("item-bytes", self.limit, Unit::Bytes)
    }
}

#[cfg(test)]
#[path = "emit_tests.rs"]
mod tests;
