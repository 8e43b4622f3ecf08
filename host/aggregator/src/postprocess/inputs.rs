//! The files of a plugin's directory that a module gets.

use std::io;
use std::path::{Path, PathBuf};

use plumbline_sandbox::ModuleInfo;

use super::error::PostProcessError;
use super::outcome::Subject;
use super::process::io_error;
use super::select::{Selection, SetDirectory, result_sets};

/// The files of one result set, for one call of a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleInput {
    /// Node of the results, if the plugin runs per node.
    pub node: Option<String>,
    /// Path for the module, and path on disk. In lexical order, never empty.
    pub files: Vec<(String, PathBuf)>,
}

/// Returns the inputs with which [`post_process`](super::post_process) would call a module, for
/// `subject` in the directory `dir`.
///
/// # Errors
/// When the directory cannot be listed, or a default pattern of the module is not a glob.
pub fn module_inputs(
    subject: &Subject<'_>,
    dir: &Path,
    module: &ModuleInfo,
) -> Result<Vec<ModuleInput>, PostProcessError> {
    let selection = Selection::new(subject.result_files, &module.default_files).map_err(|source| {
        PostProcessError::Pattern { module: module.name.clone().unwrap_or_else(|| "module".to_owned()), source }
    })?;
    let listed = result_sets(dir, "results", subject.per_node)
        .and_then(|sets| sets.iter().map(SetDirectory::list).collect::<io::Result<Vec<_>>>());
    let listed = listed.map_err(io_error(format!("failed to list the results of plugin `{}`", subject.plugin.name)))?;
    let inputs = listed.into_iter().map(|set| {
        let files = set.files.into_iter().filter(|file| selection.takes(file));
        ModuleInput { node: set.node, files: files.map(|file| (file.path, file.absolute)).collect() }
    });
    Ok(inputs.filter(|input| !input.files.is_empty()).collect())
}
