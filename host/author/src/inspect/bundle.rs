//! A directory with a definition and its modules.

use std::fs;
use std::path::Path;

use plumbline_core::definition::Definition;
use serde::Serialize;

use super::component::{ModuleInspection, module_file};
use super::error::InspectionError;
use crate::golden::Project;

/// Modules of a bundle that are looked at; a host takes no more either.
const MAX_MODULES: usize = 64;
/// Files that are listed.
const MAX_FILES: usize = 10_000;

/// What a bundle is.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct BundleInspection {
    /// Its definition.
    pub definition: DefinitionSummary,
    /// What is odd about the definition.
    pub warnings: Vec<String>,
    /// Its modules.
    pub modules: Vec<ModuleInspection>,
    /// Modules that cannot be inspected: sentences.
    pub broken: Vec<String>,
    /// The files beside the definition, without those in directories.
    pub files: Vec<FileSize>,
}

/// The keys of a definition that say what the plugin is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct DefinitionSummary {
    /// The plugin's name.
    pub name: String,
    /// What it says of itself.
    pub description: Option<String>,
    /// `Job`, `DaemonSet` or `Process`.
    pub driver: String,
    /// Who reads its results.
    pub result_format: Option<String>,
    /// Who says which results must arrive.
    pub expectations: String,
    /// Who says what they come to.
    pub summarizer: Option<String>,
}

impl DefinitionSummary {
    /// Of this definition.
    #[must_use]
    pub fn of(definition: &Definition) -> Self {
        Self {
            name: definition.name.to_string(),
            description: definition.description.clone(),
            driver: definition.driver.as_str().to_owned(),
            result_format: definition.result_format.clone(),
            expectations: definition.expectations_module().to_owned(),
            summarizer: definition.plumbline.summarizer.clone(),
        }
    }
}

/// A file and its size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileSize {
    /// Its name.
    pub name: String,
    /// Bytes.
    pub bytes: u64,
}

/// Inspects the bundle in `dir`. A module that is broken is said, and the others are shown.
///
/// # Errors
/// When there is no definition, or the directory cannot be read.
pub fn bundle(dir: &Path) -> Result<BundleInspection, InspectionError> {
    let project = Project::open(dir)?;
    let failed = |source| InspectionError::Read { path: dir.to_owned(), source };
    let mut files = Vec::new();
    for entry in fs::read_dir(&project.dir).map_err(failed)?.take(MAX_FILES) {
        let entry = entry.map_err(failed)?;
        let metadata = entry.metadata().map_err(failed)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if metadata.is_file() && !name.starts_with('.') {
            files.push(FileSize { name, bytes: metadata.len() });
        }
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    let (mut modules, mut broken) = (Vec::new(), Vec::new());
    for file in files.iter().filter(|file| file.name.ends_with(".wasm")).take(MAX_MODULES) {
        match module_file(&project.dir.join(&file.name)) {
            Ok(module) => modules.push(module),
            Err(error) => broken.push(error.to_string()),
        }
    }
    let warnings = project.warnings.iter().map(ToString::to_string).collect();
    let definition = DefinitionSummary::of(&project.source.definition);
    Ok(BundleInspection { definition, warnings, modules, broken, files })
}
