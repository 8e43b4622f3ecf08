//! The limits that a plugin requests for its modules, and those that it gets.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::error::{LimitError, LimitUnit};
use crate::definition::error::DefinitionError;
use crate::definition::schema::LIMITS;
use crate::definition::section::{Section, wrong_type};
use crate::definition::warning::Warnings;
use crate::duration::{MAX_SECONDS, format_duration, parse_duration};
use crate::limits::ModuleLimits;
use crate::size::parse_size;

/// A request for module limits other than the defaults. A limit that is `None` keeps its default.
///
/// The keys are those of [`ModuleLimits`], except for `wall` instead of `wall_seconds`. `wall` is a
/// number of seconds or a duration such as `5m`, rounded up to seconds. `wall-seconds` is an alias
/// of it. Sizes may be written as `256MiB`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LimitsRequest {
    /// The wall-clock time of one call, in seconds.
    pub wall_seconds: Option<u64>,
    /// The linear memory, in bytes.
    pub memory: Option<u64>,
    /// The number of elements of all tables together.
    pub table_elements: Option<u64>,
    /// The stack of the guest, in bytes. It cannot exceed the default.
    pub stack: Option<u64>,
    /// The total size in bytes of the files that a call may read.
    pub input_bytes: Option<u64>,
    /// The number of items that a call may emit.
    pub items: Option<u64>,
    /// The total output of a call, in bytes.
    pub output_bytes: Option<u64>,
    /// The size of one item, in bytes.
    pub item_bytes: Option<u64>,
    /// The number of levels of the tree.
    pub depth: Option<u32>,
    /// The number of bytes that one host call may copy.
    pub hostcall_bytes: Option<u64>,
    /// The size in bytes of log lines and standard output.
    pub log_bytes: Option<u64>,
}

/// Returns the limits of a plugin's module: the requested ones, or else the defaults.
///
/// Values below the default are always granted, and larger ones up to `cap`. A default above the
/// cap is lowered to it. The stack belongs to the engine, so its cap is the default.
///
/// # Errors
///
/// Returns a [`LimitError`] for the first limit above its cap, in the order of [`ModuleLimits`].
pub fn effective_limits(
    request: &LimitsRequest,
    defaults: &ModuleLimits,
    cap: &ModuleLimits,
) -> Result<ModuleLimits, LimitError> {
    use LimitUnit::{Bytes, Number, Seconds};
    fn grant(
        limit: &'static str,
        unit: LimitUnit,
        request: Option<u64>,
        default: u64,
        cap: u64,
    ) -> Result<u64, LimitError> {
        match request {
            None => Ok(default.min(cap)),
            Some(request) if request > cap => Err(LimitError::OverCap { limit, request, cap, unit }),
            Some(request) => Ok(request),
        }
    }
    let (d, c, r) = (defaults, cap, request);
    let depth = grant("depth", Number, r.depth.map(u64::from), d.depth.into(), c.depth.into());
    Ok(ModuleLimits {
        wall_seconds: grant("wall", Seconds, r.wall_seconds, d.wall_seconds, c.wall_seconds)?,
        memory: grant("memory", Bytes, r.memory, d.memory, c.memory)?,
        table_elements: grant("table-elements", Number, r.table_elements, d.table_elements, c.table_elements)?,
        stack: grant("stack", Bytes, r.stack, d.stack, c.stack.min(d.stack))?,
        input_bytes: grant("input-bytes", Bytes, r.input_bytes, d.input_bytes, c.input_bytes)?,
        items: grant("items", Number, r.items, d.items, c.items)?,
        output_bytes: grant("output-bytes", Bytes, r.output_bytes, d.output_bytes, c.output_bytes)?,
        item_bytes: grant("item-bytes", Bytes, r.item_bytes, d.item_bytes, c.item_bytes)?,
        // Neither the request nor the default can exceed 32 bits.
        depth: depth.map(|depth| u32::try_from(depth).unwrap_or(u32::MAX))?,
        hostcall_bytes: grant("hostcall-bytes", Bytes, r.hostcall_bytes, d.hostcall_bytes, c.hostcall_bytes)?,
        log_bytes: grant("log-bytes", Bytes, r.log_bytes, d.log_bytes, c.log_bytes)?,
    })
}

impl LimitsRequest {
    /// Reads the mapping at `path`.
    pub(super) fn read(path: &str, value: Value, warnings: &mut Warnings) -> Result<Self, DefinitionError> {
        let mut section = Section::new(path, value, LIMITS, &[], warnings)?;
        let wall = wall(&mut section, "wall")?;
        let wall_seconds = wall_once(&mut section, wall)?;
        let depth = number(&mut section, "depth")?;
        let request = Self {
            wall_seconds,
            memory: bytes(&mut section, "memory")?,
            table_elements: number(&mut section, "table-elements")?,
            stack: bytes(&mut section, "stack")?,
            input_bytes: bytes(&mut section, "input-bytes")?,
            items: number(&mut section, "items")?,
            output_bytes: bytes(&mut section, "output-bytes")?,
            item_bytes: bytes(&mut section, "item-bytes")?,
            depth: depth.map(|depth| u32::try_from(depth).unwrap_or(u32::MAX)),
            hostcall_bytes: bytes(&mut section, "hostcall-bytes")?,
            log_bytes: bytes(&mut section, "log-bytes")?,
        };
        let needed = [
            ("wall", request.wall_seconds),
            ("memory", request.memory),
            ("stack", request.stack),
            ("hostcall-bytes", request.hostcall_bytes),
            ("depth", request.depth.map(u64::from)),
        ];
        match needed.into_iter().find(|(_, n)| *n == Some(0)) {
            Some((limit, _)) => {
                Err(DefinitionError::Limit { path: section.at(limit), cause: LimitError::Zero { limit } })
            }
            None => Ok(request),
        }
    }

    /// Returns this request, with `other` filling in the limits that are not set.
    #[must_use]
    pub fn or(self, other: &Self) -> Self {
        Self {
            wall_seconds: self.wall_seconds.or(other.wall_seconds),
            memory: self.memory.or(other.memory),
            table_elements: self.table_elements.or(other.table_elements),
            stack: self.stack.or(other.stack),
            input_bytes: self.input_bytes.or(other.input_bytes),
            items: self.items.or(other.items),
            output_bytes: self.output_bytes.or(other.output_bytes),
            item_bytes: self.item_bytes.or(other.item_bytes),
            depth: self.depth.or(other.depth),
            hostcall_bytes: self.hostcall_bytes.or(other.hostcall_bytes),
            log_bytes: self.log_bytes.or(other.log_bytes),
        }
    }

    /// Returns whether no limit is set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the mapping that parses as this request.
    #[must_use]
    pub fn to_json(&self) -> Map<String, Value> {
        let wall = self.wall_seconds.map(|s| format_duration(std::time::Duration::from_secs(s)));
        let numbers = [
            ("memory", self.memory),
            ("table-elements", self.table_elements),
            ("stack", self.stack),
            ("input-bytes", self.input_bytes),
            ("items", self.items),
            ("output-bytes", self.output_bytes),
            ("item-bytes", self.item_bytes),
            ("depth", self.depth.map(u64::from)),
            ("hostcall-bytes", self.hostcall_bytes),
            ("log-bytes", self.log_bytes),
        ];
        let numbers = numbers.into_iter().filter_map(|(key, n)| Some((key.to_owned(), Value::from(n?))));
        wall.map(|wall| ("wall".to_owned(), Value::from(wall))).into_iter().chain(numbers).collect()
    }
}

impl Serialize for LimitsRequest {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.to_json().serialize(to)
    }
}

impl<'de> Deserialize<'de> for LimitsRequest {
    /// Deserializes a request and ignores unknown keys.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(from)?;
        Self::read("limits", value, &mut Warnings::default()).map_err(serde::de::Error::custom)
    }
}

fn wall_once(section: &mut Section, wall_value: Option<u64>) -> Result<Option<u64>, DefinitionError> {
    match (wall_value, wall(section, "wall-seconds")?) {
        (Some(_), Some(_)) => {
            Err(DefinitionError::Twice { first: section.at("wall"), second: section.at("wall-seconds") })
        }
        (a, b) => Ok(a.or(b)),
    }
}

fn wall(section: &mut Section, key: &str) -> Result<Option<u64>, DefinitionError> {
    let path = section.at(key);
    match section.take(key) {
        None => Ok(None),
        Some(Value::String(text)) => {
            let duration = parse_duration(&text).map_err(|cause| DefinitionError::Duration { path, cause })?;
            Ok(Some(duration.as_secs().saturating_add(u64::from(duration.subsec_nanos() > 0))))
        }
        // The limit equals that of durations written as strings, so that archives round-trip.
        Some(value) => match value.as_u64().filter(|&seconds| seconds <= MAX_SECONDS) {
            Some(seconds) => Ok(Some(seconds)),
            None => Err(wrong_type(&path, "a whole number of seconds or a duration such as `90s`", &value)),
        },
    }
}

fn bytes(section: &mut Section, key: &str) -> Result<Option<u64>, DefinitionError> {
    let path = section.at(key);
    match section.take(key) {
        None => Ok(None),
        Some(Value::String(text)) => parse_size(&text).map(Some).map_err(|cause| DefinitionError::Size { path, cause }),
        Some(value) => match value.as_u64() {
            Some(bytes) => Ok(Some(bytes)),
            None => Err(wrong_type(&path, "a number of bytes or a size such as `256MiB`", &value)),
        },
    }
}

fn number(section: &mut Section, key: &str) -> Result<Option<u64>, DefinitionError> {
    let path = section.at(key);
    match section.take(key) {
        None => Ok(None),
        Some(value) => value.as_u64().map(Some).ok_or_else(|| wrong_type(&path, "a whole number", &value)),
    }
}

#[cfg(test)]
#[path = "limits_tests.rs"]
mod tests;
