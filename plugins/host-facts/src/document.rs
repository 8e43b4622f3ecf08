//! Reads a file as a document of facts.

use plumbline_sdk::InputFile;
use serde_json::{Map, Value};

/// Maximum size of a document in bytes. That of a large machine has a few hundred KiB.
pub const MAX_DOCUMENT: u64 = 8 << 20;

/// The facts of one machine.
#[derive(Debug, Default)]
pub(crate) struct Document {
    /// The facts in the format of Ansible's `setup`.
    facts: Map<String, Value>,
    /// The facts under Plumbline's own key.
    own: Map<String, Value>,
    /// The facts that could not be read.
    pub(crate) errors: Vec<Value>,
}

impl Document {
    /// Reads the whole file. Facts are compared with each other, and a document is small.
    pub(crate) fn read(mut file: InputFile) -> Result<Self, String> {
        let bytes = file.read_within(MAX_DOCUMENT).map_err(|error| error.to_string())?;
        let too_large = || format!("it is larger than {} MiB, the limit for facts", MAX_DOCUMENT >> 20);
        Self::parse(&bytes.ok_or_else(too_large)?)
    }

    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let value: Value = serde_json::from_slice(bytes).map_err(|error| format!("it is not JSON: {error}"))?;
        let Value::Object(mut top) = value else { return Err("it is not a JSON object".to_owned()) };
        if !top.contains_key("ansible_facts") && !top.contains_key("plumbline_facts") {
            return Err("it has neither `ansible_facts` nor `plumbline_facts`".to_owned());
        }
        let errors = match top.remove("errors") {
            Some(Value::Array(errors)) => errors,
            _ => Vec::new(),
        };
        Ok(Self { facts: object(&mut top, "ansible_facts")?, own: object(&mut top, "plumbline_facts")?, errors })
    }

    /// Returns a fact, whose key may have Ansible's prefix.
    pub(crate) fn fact(&self, name: &str) -> Option<&Value> {
        self.facts.get(&format!("ansible_{name}")).or_else(|| self.facts.get(name)).filter(|value| !value.is_null())
    }

    /// Returns a value under Plumbline's own key.
    pub(crate) fn own(&self, name: &str) -> Option<&Value> {
        self.own.get(name).filter(|value| !value.is_null())
    }

    /// Returns the keys under Plumbline's own key.
    pub(crate) fn own_keys(&self) -> impl Iterator<Item = &str> {
        self.own.keys().map(String::as_str)
    }

    /// Returns the time of collection in seconds since 1970, by the machine's own clock. Modules
    /// have no clock.
    pub(crate) fn gathered(&self) -> Option<f64> {
        let own = self.own("time").and_then(|time| time.get("epoch"));
        own.or_else(|| self.fact("date_time").and_then(|time| time.get("epoch"))).and_then(number)
    }
}

fn object(top: &mut Map<String, Value>, key: &str) -> Result<Map<String, Value>, String> {
    match top.remove(key) {
        Some(Value::Object(fields)) => Ok(fields),
        None | Some(Value::Null) => Ok(Map::new()),
        Some(_) => Err(format!("its `{key}` is not a JSON object")),
    }
}

/// Returns a number, which may be written as a string.
pub(crate) fn number(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    number.filter(|number| number.is_finite())
}
