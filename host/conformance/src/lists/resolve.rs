//! Lists that are stored as differences to other lists.

use std::collections::BTreeSet;

use super::error::ListError;
use super::list::TestList;
use super::text::{StoredList, kept};
use super::version::Version;

/// Maximum length of a chain of deltas.
pub const MAX_DELTAS: usize = 16;

/// Function that returns the bytes of the list of a version, or `None` if it does not exist.
pub type Read<'a> = dyn FnMut(&str) -> Result<Option<Vec<u8>>, ListError> + 'a;

/// Reads the list of `version` from a storage of lists by version. `read` returns the bytes of a
/// version, or `None` if it does not exist. `place` is for messages.
///
/// # Errors When `version` or a list is invalid, `read` fails or finds no list, or a chain of deltas is cyclic or too long.
pub fn resolve(version: &str, place: &str, read: &mut Read<'_>) -> Result<TestList, ListError> {
    let asked = Version::parse(version).ok_or_else(|| ListError::Version(version.to_owned()))?.name();
    let mut chain = vec![asked.clone()];
    let mut deltas = Vec::new();
    let mut wanted = asked.clone();
    let whole = loop {
        let Some(bytes) = read(&wanted)? else {
            return Err(ListError::Unknown { version: wanted, place: place.to_owned(), known: told(&chain) });
        };
        match kept(&bytes, &format!("{wanted} in {place}"))? {
            StoredList::Whole(names) => break names,
            StoredList::Delta { of, added, removed } => {
                let lost = |how| ListError::Deltas {
                    version: asked.clone(),
                    place: place.to_owned(),
                    how,
                    chain: chain.join(", "),
                };
                if chain.contains(&of) {
                    return Err(lost("in a circle"));
                }
                if chain.len() >= MAX_DELTAS {
                    return Err(lost("too far"));
                }
                deltas.push((added, removed));
                chain.push(of.clone());
                wanted = of;
            }
        }
    };
    let mut names: BTreeSet<String> = whole.into_iter().collect();
    // Apply deltas from the full list back to the requested one.
    for (added, removed) in deltas.into_iter().rev() {
        names.extend(added);
        for name in &removed {
            names.remove(name);
        }
    }
    Ok(TestList::new(&asked, names.iter().map(String::as_str), place))
}

fn told(chain: &[String]) -> String {
    match chain {
        [_] => "others".to_owned(),
        chain => format!("those that it was reached by: {}", chain.join(", ")),
    }
}
