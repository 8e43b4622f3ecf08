//! An entry of a list.

use plumbline_sdk::text::shortened;
use serde_json::{Map, Value};

use crate::date::Date;
use crate::name::plain;

/// Maximum size in bytes of a reason or a source. The host accepts 4 KiB for what is made from
/// them.
const MAX_TEXT: usize = 3000;

/// The keys of an entry.
const KEYS: [&str; 6] = ["test", "pattern", "cause", "reason", "source", "until"];

/// Maximum length of the id of a cause.
const MAX_CAUSE: usize = 64;

/// The tests that an entry applies to.
#[derive(Debug, PartialEq)]
pub(crate) enum Which {
    /// Exactly this plain name.
    Test(String),
    /// The names that the regular expression matches.
    Pattern(String),
    /// The failures of the cause with this id, whatever their names are.
    Cause(String),
}

/// An entry as written in the list.
#[derive(Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) which: Which,
    pub(crate) reason: String,
    pub(crate) source: String,
    pub(crate) until: Option<Date>,
}

impl Entry {
    /// Reads an entry. The errors are fragments that follow its place.
    pub(crate) fn read(value: Value) -> Result<Self, String> {
        let fields = match value {
            Value::String(name) => {
                return Ok(Self { which: test(&name)?, reason: String::new(), source: String::new(), until: None });
            }
            Value::Object(fields) => fields,
            Value::Array(_) => return Err("it is a list: put names that begin with `[` in quotes".to_owned()),
            _ => return Err("it is neither a name nor a mapping".to_owned()),
        };
        if let Some(key) = fields.keys().find(|key| !KEYS.contains(&key.as_str())) {
            return Err(format!("unknown key `{}`: the keys are `{}`", shortened(key, 60), KEYS.join("`, `")));
        }
        let which = match (text(&fields, "test")?, text(&fields, "pattern")?, text(&fields, "cause")?) {
            (Some(name), None, None) => test(name)?,
            (None, Some(pattern), None) if !pattern.is_empty() => Which::Pattern(pattern.to_owned()),
            (None, Some(_), None) => return Err("`pattern` is empty".to_owned()),
            (None, None, Some(id)) => cause(id)?,
            (None, None, None) => return Err("it has none of `test`, `pattern` and `cause`".to_owned()),
            _ => return Err("it has more than one of `test`, `pattern` and `cause`".to_owned()),
        };
        let until = match text(&fields, "until")? {
            None => None,
            Some(day) => Some(
                Date::parse(day)
                    .ok_or_else(|| format!("`until` is not a day such as 2027-03-31, but `{}`", shortened(day, 60)))?,
            ),
        };
        let short = |key| Ok::<_, String>(shortened(text(&fields, key)?.unwrap_or_default().trim(), MAX_TEXT));
        Ok(Self { which, reason: short("reason")?, source: short("source")?, until })
    }
}

fn test(name: &str) -> Result<Which, String> {
    match plain(name) {
        "" => Err("the name is empty".to_owned()),
        name => Ok(Which::Test(name.to_owned())),
    }
}

fn cause(id: &str) -> Result<Which, String> {
    let is_valid = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    match id.trim() {
        id if (1..=MAX_CAUSE).contains(&id.len()) && id.bytes().all(is_valid) => Ok(Which::Cause(id.to_owned())),
        other => Err(format!("`cause` is not an id, such as 0a653b4a0a4b, but `{}`", shortened(other, 60))),
    }
}

fn text<'a>(fields: &'a Map<String, Value>, key: &str) -> Result<Option<&'a str>, String> {
    match fields.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(Value::Array(_)) => Err(format!("`{key}` is a list: put texts that begin with `[` in quotes")),
        Some(_) => Err(format!("`{key}` is not a string")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_entry_is_a_name_or_a_mapping() {
        let name = Which::Test("[sig-a] b".to_owned());
        assert_eq!(Entry::read(json!("[It] [sig-a] b")).unwrap().which, name);
        let entry = Entry::read(json!({"test": "[sig-a] b ", "reason": " r\n", "until": "2027-03-31"})).unwrap();
        assert_eq!((entry.which, entry.reason.as_str(), entry.until), (name, "r", Date::parse("2027-03-31")));
        assert_eq!(Entry::read(json!({"pattern": "^x"})).unwrap().which, Which::Pattern("^x".to_owned()));
        assert_eq!(Entry::read(json!({"cause": "0a65 "})).unwrap().which, Which::Cause("0a65".to_owned()));
    }

    #[test]
    fn invalid_entries_are_reported() {
        for (value, says) in [
            (json!(1), "neither a name nor a mapping"),
            (json!(["sig-a"]), "in quotes"),
            (json!({"test": ["sig-a"]}), "in quotes"),
            (json!({"test": 7}), "`test` is not a string"),
            (json!(" "), "name is empty"),
            (json!({"reason": "r"}), "none of `test`, `pattern` and `cause`"),
            (json!({"test": "a", "pattern": "b"}), "more than one"),
            (json!({"cause": "a", "pattern": "b"}), "more than one"),
            (json!({"cause": "No space"}), "not an id, such as 0a653b4a0a4b, but `No space`"),
            (json!({"cause": 12}), "`cause` is not a string"),
            (json!({"pattern": ""}), "`pattern` is empty"),
            (json!({"test": "a", "untill": "2027-03-31"}), "unknown key `untill`: the keys are `test`"),
            (json!({"test": "a", "until": "next year"}), "not a day such as 2027-03-31, but `next year`"),
        ] {
            let error = Entry::read(value).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }
}
