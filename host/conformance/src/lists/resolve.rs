//! Lists that are told by their differences to others.

use std::collections::BTreeSet;

use super::error::ListError;
use super::list::TestList;
use super::text::{Kept, kept};
use super::version::Version;

/// Lists that are read for one: deltas of deltas are followed so far.
pub const MAX_DELTAS: usize = 16;

/// The list of `version` out of a place that keeps lists by version. `read` gives the bytes of the list of a version, `None` if there is none; `place` is for messages.
///
/// # Errors
/// When `version` is none, `read` fails or has no such list, what it gives is no list, or deltas lead in a circle or too far.
pub fn resolve(
    version: &str,
    place: &str,
    read: &mut dyn FnMut(&str) -> Result<Option<Vec<u8>>, ListError>,
) -> Result<TestList, ListError> {
    let asked = Version::parse(version).ok_or_else(|| ListError::Version(version.to_owned()))?.name();
    let mut chain = vec![asked.clone()];
    let mut deltas = Vec::new();
    let mut wanted = asked.clone();
    let whole = loop {
        let Some(bytes) = read(&wanted)? else {
            return Err(ListError::Unknown { version: wanted, place: place.to_owned(), known: told(&chain) });
        };
        match kept(&bytes, &format!("{wanted} in {place}"))? {
            Kept::Whole(names) => break names,
            Kept::Delta { of, added, removed } => {
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
    // From the list that is whole back to the one that was asked for.
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
