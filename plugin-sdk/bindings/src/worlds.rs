//! The worlds with bindings in the SDKs of C and Go, and a function to run a generator.

use std::collections::BTreeMap;

use wit_bindgen_core::{Files, WorldGenerator};
use wit_parser::{PackageId, Resolve};

use crate::error::BindingsError;

/// The worlds, with one role each. Authors of modules with more roles generate their own bindings.
pub(crate) const SDK_WORLDS: [&str; 5] =
    ["post-processor-module", "expectations-module", "summarizer-module", "judge-module", "check-module"];

/// Runs `generator` for `world`. Returns texts by file name. `what` is for messages.
pub(crate) fn generate(
    what: &'static str,
    mut generator: Box<dyn WorldGenerator>,
    resolve: &Resolve,
    package: PackageId,
    world: &str,
) -> Result<BTreeMap<String, String>, BindingsError> {
    let failed = |cause: String| BindingsError::Generator { what, cause: format!("world `{world}`: {cause}") };
    let id = resolve.select_world(&[package], Some(world)).map_err(|error| failed(format!("{error:#}")))?;
    let mut files = Files::default();
    // Clone the input, because generators add their own IDs to it.
    generator.generate(&mut resolve.clone(), id, &mut files).map_err(|error| failed(format!("{error:#}")))?;
    files
        .iter()
        .map(|(name, content)| {
            let text = std::str::from_utf8(content).map_err(|error| failed(format!("{name}: {error}")))?;
            Ok((name.to_owned(), text.to_owned()))
        })
        .collect()
}
