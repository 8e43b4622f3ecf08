//! Events of `go test -json`, which `go doc test2json` describes.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Number of seconds from which a duration is considered invalid: 30,000 years.
const MAX_SECONDS: f64 = 1e12;

/// The parts of an event that the module uses. They are empty if absent or null.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Event<'a> {
    /// The action, such as `pass` or `output`.
    pub(crate) action: Cow<'a, str>,
    pub(crate) package: Cow<'a, str>,
    pub(crate) test: Cow<'a, str>,
    pub(crate) output: Cow<'a, str>,
    /// The name and the value of an attribute.
    pub(crate) key: Cow<'a, str>,
    pub(crate) value: Cow<'a, str>,
    /// The import path, in events of a build.
    pub(crate) import_path: Cow<'a, str>,
    /// The import path of the failed build that made the package fail.
    pub(crate) failed_build: Cow<'a, str>,
    /// The time of the event.
    pub(crate) time: Cow<'a, str>,
    /// The duration in seconds; `None` if it is not a number or is negative.
    pub(crate) elapsed: Option<f64>,
}

impl<'a> Event<'a> {
    /// Reads an event from a JSON object.
    pub(crate) fn read(json: &'a [u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(json)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Event<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Event<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an event")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Event<'de>, M::Error> {
                let mut event = Event::default();
                while let Some(Text(key)) = map.next_key::<Text<'de>>()? {
                    // Go matches keys without regard to case, and the last duplicate wins.
                    let place = match key.to_ascii_lowercase().as_str() {
                        "action" => &mut event.action,
                        "package" => &mut event.package,
                        "test" => &mut event.test,
                        "output" => &mut event.output,
                        "key" => &mut event.key,
                        "value" => &mut event.value,
                        "importpath" => &mut event.import_path,
                        "failedbuild" => &mut event.failed_build,
                        "time" => &mut event.time,
                        "elapsed" => {
                            event.elapsed = map.next_value::<Seconds>()?.0;
                            continue;
                        }
                        _ => {
                            map.next_value::<IgnoredAny>()?;
                            continue;
                        }
                    };
                    if let Some(Text(text)) = map.next_value::<Option<Text<'de>>>()? {
                        *place = text;
                    }
                }
                Ok(event)
            }
        }
        deserializer.deserialize_map(Object)
    }
}

/// A number of seconds. Any other value is ignored: no result is lost because of a duration.
struct Seconds(Option<f64>);

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Number;
        impl<'de> Visitor<'de> for Number {
            type Value = Seconds;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of seconds")
            }

            fn visit_f64<E>(self, seconds: f64) -> Result<Seconds, E> {
                Ok(Seconds((0.0..MAX_SECONDS).contains(&seconds).then_some(seconds.abs())))
            }

            fn visit_u64<E: Error>(self, seconds: u64) -> Result<Seconds, E> {
                self.visit_f64(seconds as f64)
            }

            fn visit_i64<E: Error>(self, seconds: i64) -> Result<Seconds, E> {
                self.visit_f64(seconds as f64)
            }

            fn visit_bool<E>(self, _: bool) -> Result<Seconds, E> {
                Ok(Seconds(None))
            }

            fn visit_unit<E>(self) -> Result<Seconds, E> {
                Ok(Seconds(None))
            }

            fn visit_str<E>(self, _: &str) -> Result<Seconds, E> {
                Ok(Seconds(None))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Seconds, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Seconds(None))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Seconds, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Seconds(None))
            }
        }
        deserializer.deserialize_any(Number)
    }
}

/// A string that is read as bytes. Invalid UTF-8 and unpaired surrogates are replaced instead of
/// ending the file.
struct Text<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl<'de> Visitor<'de> for Bytes {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text")
            }

            fn visit_borrowed_bytes<E>(self, bytes: &'de [u8]) -> Result<Text<'de>, E> {
                Ok(Text(String::from_utf8_lossy(bytes)))
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(String::from_utf8_lossy(bytes).into_owned())))
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_bytes(Bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_without_regard_to_case_and_the_last_counts() {
        let event =
            Event::read(br#"{"ACTION":"run","action":"pass","Time":"x","tEsT":"T","Elapsed":0.1,"Package":null}"#);
        assert_eq!(
            event.unwrap(),
            Event { action: "pass".into(), test: "T".into(), time: "x".into(), elapsed: Some(0.1), ..Event::default() }
        );
    }

    #[test]
    fn an_invalid_duration_is_ignored() {
        for (json, want) in [
            ("1.5", Some(1.5)),
            ("0", Some(0.0)),
            ("-1", None),
            ("-0.0", Some(0.0)),
            ("1e300", None),
            ("\"1\"", None),
            ("null", None),
            ("true", None),
            ("[1,[2]]", None),
            ("{\"a\":1}", None),
        ] {
            let event = format!("{{\"Action\":\"pass\",\"Elapsed\":{json},\"Test\":\"T\"}}");
            let event = Event::read(event.as_bytes()).unwrap();
            assert_eq!((event.elapsed, &*event.test), (want, "T"), "{json}");
        }
    }

    #[test]
    fn escapes_are_resolved_and_rubbish_replaced() {
        let event = Event::read(b"{\"Output\":\"a\\n\\u00e4\\ud800\",\"Test\":\"\xFFx\"}").unwrap();
        assert!(event.output.starts_with("a\nä"), "{event:?}");
        assert!(event.output.contains('\u{FFFD}'), "{event:?}");
        assert_eq!(event.test, "\u{FFFD}x");
    }

    #[test]
    fn other_types_are_errors() {
        for json in
            [r#"{"Action":5}"#, r#"{"Action":["pass"]}"#, r#"{"Test":{}}"#, r#"{"Action"}"#, "{]", r#"{"a":1,}"#]
        {
            assert!(Event::read(json.as_bytes()).is_err(), "{json}");
        }
        assert_eq!(Event::read(b"{}").unwrap(), Event::default());
    }
}
