//! The definitions of one run together.

use std::collections::BTreeSet;

use crate::definition::error::DefinitionError;
use crate::definition::model::Definition;

/// Checks that definitions can be in one run: their names are unique.
///
/// # Errors
/// [`DefinitionError::DuplicatePlugin`] with the first name that is used twice.
pub fn check_set(definitions: &[Definition]) -> Result<(), DefinitionError> {
    let mut names = BTreeSet::new();
    match definitions.iter().find(|definition| !names.insert(&definition.name)) {
        Some(second) => Err(DefinitionError::DuplicatePlugin(second.name.clone())),
        None => Ok(()),
    }
}
