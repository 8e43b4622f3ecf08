//! The list of all generators.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use wit_parser::{PackageId, Resolve};

use crate::contract::Contract;
use crate::error::BindingsError;
use crate::excerpts::excerpts;
use crate::{c, go, page};

/// The directory of the current contract, relative to the root of the workspace.
pub const WIT_DIR: &str = "wit";

/// Generated files: paths relative to the root of the workspace, with their contents.
pub type Files = BTreeMap<PathBuf, Vec<u8>>;

/// A function that generates files from the contract.
type Generator = fn(&Resolve, PackageId) -> Result<Files, BindingsError>;

/// One generator for each kind of output: bindings of a language, a page. The output must depend
/// only on the sources.
const GENERATORS: &[Generator] = &[c::files, go::files, page::files];

/// Generates all files for the workspace at `root`.
///
/// # Errors
/// [`BindingsError`]: the WIT cannot be read, or a generator fails.
pub fn generate(root: &Path) -> Result<Files, BindingsError> {
    let contract = Contract::read(&root.join(WIT_DIR))?;
    let mut all = excerpts(root)?;
    for generator in GENERATORS {
        for (path, content) in generator(contract.resolve(), contract.id())? {
            if all.insert(path.clone(), content).is_some() {
                return Err(BindingsError::Twice(path));
            }
        }
    }
    Ok(all)
}
