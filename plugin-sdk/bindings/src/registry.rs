//! All generators.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use wit_parser::{PackageId, Resolve};

use crate::contract::Contract;
use crate::error::BindingsError;
use crate::excerpts::excerpts;
use crate::{c, definition, go, page};

/// Where the current generation of the contract is, below the root of the workspace.
pub const WIT_DIR: &str = "wit";

/// Generated files: paths below the root of the workspace, with their contents.
pub type Files = BTreeMap<PathBuf, Vec<u8>>;

/// Makes files of the contract.
type Generator = fn(&Resolve, PackageId) -> Result<Files, BindingsError>;

/// One for each kind of output: a language's bindings, a page. What they make must depend on nothing but the sources.
const GENERATORS: &[Generator] = &[c::files, go::files, page::files, definition::files];

/// Everything that is generated from the workspace at `root`.
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
