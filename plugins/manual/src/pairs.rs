//! A mapping as a list, in the order of the document.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

/// The name of the key `null`, which YAML allows and people sometimes mean as a word.
const NULL: &str = "null";

/// Keys and values. Keys are strings: a number stays as it is written.
#[derive(Debug)]
pub(crate) struct Pairs<T>(pub(crate) Box<[(Box<str>, T)]>);

/// Reads the next key of a mapping.
pub(crate) fn next_key<'de, M: MapAccess<'de>>(map: &mut M) -> Result<Option<Box<str>>, M::Error> {
    Ok(map.next_key::<Option<Box<str>>>()?.map(|key| key.unwrap_or_else(|| NULL.into())))
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Pairs<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Mapping<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Mapping<T> {
            type Value = Pairs<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a mapping")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Pairs<T>, M::Error> {
                let mut pairs = Vec::new();
                while let Some(key) = next_key(&mut map)? {
                    pairs.push((key, map.next_value()?));
                }
                Ok(Pairs(pairs.into_boxed_slice()))
            }
        }
        deserializer.deserialize_map(Mapping(PhantomData))
    }
}
