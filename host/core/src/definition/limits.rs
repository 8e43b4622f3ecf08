//! The limits that a plugin requests for its modules, and those that it gets.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::definition::error::{DefinitionError, Warnings};
use crate::definition::schema;
use crate::definition::section::{Section, wrong_type};
use crate::duration::{MAX_SECONDS, format_duration, parse_duration};
use crate::limits::ModuleLimits;
use crate::size::{Bytes, parse_size};

/// The limits without which a module could do nothing, so they cannot be zero.
const NONZERO: [&str; 5] = ["wall", "memory", "stack", "hostcall-bytes", "depth"];

/// Error for a limit that exceeds the operator's cap.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("limit `{limit}` is {request}, but the maximum is {cap}")]
pub struct LimitError {
    /// The name of the limit.
    pub limit: &'static str,
    /// The requested value with its unit.
    pub request: String,
    /// The cap with its unit.
    pub cap: String,
}

impl LimitError {
    /// Returns a hint with the fix.
    pub fn hint(&self) -> String {
        let Self { limit, .. } = self;
        match *limit {
            "stack" => "lower `plumbline.limits.stack`: all modules have the same stack".to_owned(),
            "wall" => "lower `plumbline.limits.wall`; or raise `cap.wall-seconds` in the file of `--limits`".to_owned(),
            _ => format!("lower `plumbline.limits.{limit}`; or raise `cap.{limit}` in the file of `--limits`"),
        }
    }
}

#[derive(Clone, Copy)]
enum Unit {
    Seconds,
    Bytes,
    /// Items, elements or levels.
    Number,
}

/// Defines the limits: field, key and unit of each.
macro_rules! limits {
    ($($(#[$doc:meta])* $field:ident: $type:ident = $key:literal, $unit:ident;)*) => {
        /// A request for module limits other than the defaults. A limit that is `None` keeps its
        /// default.
        ///
        /// The keys are those of [`ModuleLimits`], except for `wall` instead of `wall_seconds`.
        /// `wall` is a number of seconds or a duration such as `5m`, rounded up to seconds.
        /// `wall-seconds` is an alias of it. Sizes may be written as `256MiB`.
        #[derive(Debug, Clone, PartialEq, Eq, Default)]
        pub struct LimitsRequest { $($(#[$doc])* pub $field: Option<$type>,)* }

        /// Returns the limits of a plugin's module: the requested ones, or else the defaults.
        ///
        /// Values below the default are always granted, and larger ones up to `cap`. A default
        /// above the cap is lowered to it. The stack belongs to the engine, so its cap is the
        /// default.
        ///
        /// # Errors
        /// Returns a [`LimitError`] for the first limit above its cap, in the order of
        /// [`ModuleLimits`].
        pub fn effective_limits(
            request: &LimitsRequest,
            defaults: &ModuleLimits,
            cap: &ModuleLimits,
        ) -> Result<ModuleLimits, LimitError> {
            let cap = ModuleLimits { stack: cap.stack.min(defaults.stack), ..cap.clone() };
            Ok(ModuleLimits { $($field: grant($key, Unit::$unit, request.$field, defaults.$field, cap.$field)?,)* })
        }

        impl LimitsRequest {
            pub(super) fn read(mut section: Section) -> Result<Self, DefinitionError> {
                let request = Self {
                    $($field: limit(&mut section, $key, Unit::$unit)?.map(|n| $type::try_from(n).unwrap_or($type::MAX)),)*
                };
                let values = request.values();
                match NONZERO.into_iter().find(|key| values.iter().any(|(limit, _, n)| limit == key && *n == Some(0))) {
                    Some(key) => {
                        Err(section.invalid(key, format_args!("limit `{key}` must be greater than 0")))
                    }
                    None => Ok(request),
                }
            }

            /// Returns this request, with `other` filling in the limits that are not set.
            #[must_use]
            pub fn or(self, other: &Self) -> Self {
                Self { $($field: self.$field.or(other.$field),)* }
            }

            fn values(&self) -> Vec<(&'static str, Unit, Option<u64>)> {
                vec![$(($key, Unit::$unit, self.$field.map(u64::from)),)*]
            }
        }
    };
}

limits! {
    /// The wall-clock time of one call, in seconds.
    wall_seconds: u64 = "wall", Seconds;
    /// The linear memory, in bytes.
    memory: u64 = "memory", Bytes;
    /// The number of elements of all tables together.
    table_elements: u64 = "table-elements", Number;
    /// The stack of the guest, in bytes. It cannot exceed the default.
    stack: u64 = "stack", Bytes;
    /// The total size in bytes of the files that a call may read.
    input_bytes: u64 = "input-bytes", Bytes;
    /// The number of items that a call may emit.
    items: u64 = "items", Number;
    /// The total output of a call, in bytes.
    output_bytes: u64 = "output-bytes", Bytes;
    /// The size of one item, in bytes.
    item_bytes: u64 = "item-bytes", Bytes;
    /// The number of levels of the tree.
    depth: u32 = "depth", Number;
    /// The number of bytes that one host call may copy.
    hostcall_bytes: u64 = "hostcall-bytes", Bytes;
    /// The size in bytes of log lines and standard output.
    log_bytes: u64 = "log-bytes", Bytes;
}

fn grant<T: Copy + Ord + Into<u64>>(
    limit: &'static str,
    unit: Unit,
    request: Option<T>,
    default: T,
    cap: T,
) -> Result<T, LimitError> {
    match request {
        None => Ok(default.min(cap)),
        Some(request) if request > cap => {
            Err(LimitError { limit, request: unit.show(request.into()), cap: unit.show(cap.into()) })
        }
        Some(request) => Ok(request),
    }
}

impl Unit {
    fn show(self, n: u64) -> String {
        match self {
            Self::Seconds => format!("{n} s"),
            // After rounding, two different sizes could look the same.
            Self::Bytes if parse_size(&Bytes(n).to_string()) != Ok(n) => format!("{n} B"),
            Self::Bytes => Bytes(n).to_string(),
            Self::Number => n.to_string(),
        }
    }
}

impl LimitsRequest {
    /// Returns whether no limit is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the mapping that parses as this request.
    pub fn to_json(&self) -> Map<String, Value> {
        let written = |(key, unit, n): (&str, Unit, Option<u64>)| {
            let value = match unit {
                Unit::Seconds => Value::from(format_duration(Duration::from_secs(n?))),
                Unit::Bytes | Unit::Number => Value::from(n?),
            };
            Some((key.to_owned(), value))
        };
        self.values().into_iter().filter_map(written).collect()
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
        let section = Section::new("limits".to_owned(), value, schema::LIMITS, &mut Warnings::default());
        section.and_then(Self::read).map_err(serde::de::Error::custom)
    }
}

fn limit(section: &mut Section, key: &str, unit: Unit) -> Result<Option<u64>, DefinitionError> {
    match unit {
        Unit::Seconds => wall(section),
        Unit::Number => section.get(key, "a whole number", Value::as_u64),
        Unit::Bytes => match section.take(key) {
            Some(Value::String(text)) => parse_size(&text).map(Some).map_err(|error| section.invalid(key, error)),
            Some(value) => match value.as_u64() {
                Some(bytes) => Ok(Some(bytes)),
                None => Err(wrong_type(&section.at(key), "a number of bytes or a size such as `256MiB`", &value)),
            },
            None => Ok(None),
        },
    }
}

/// Reads `wall` or its alias, rounded up to seconds.
fn wall(section: &mut Section) -> Result<Option<u64>, DefinitionError> {
    let expected = "a whole number of seconds or a duration such as `90s`";
    let (wall, alias) = (duration(section, "wall", expected)?, duration(section, "wall-seconds", expected)?);
    if wall.is_some() && alias.is_some() {
        return Err(DefinitionError::Twice { first: section.at("wall"), second: section.at("wall-seconds") });
    }
    Ok(wall.or(alias).map(|wall| wall.as_secs().saturating_add(u64::from(wall.subsec_nanos() > 0))))
}

/// Reads a duration: text, or a number of seconds with the same limit, so that archives round-trip.
pub(super) fn duration(
    section: &mut Section,
    key: &str,
    expected: &'static str,
) -> Result<Option<Duration>, DefinitionError> {
    match section.take(key) {
        None => Ok(None),
        Some(Value::String(text)) => parse_duration(&text).map(Some).map_err(|error| section.invalid(key, error)),
        Some(value) => match value.as_u64().filter(|&seconds| seconds <= MAX_SECONDS) {
            Some(seconds) => Ok(Some(Duration::from_secs(seconds))),
            None => Err(wrong_type(&section.at(key), expected, &value)),
        },
    }
}

#[cfg(test)]
#[path = "limits_tests.rs"]
mod tests;
