//! A directory with a definition and its modules.

use std::fs;
use std::path::Path;

use plumbline_bundle::{Bundle, InstallRecord, Installed, unpack};
use plumbline_core::definition::Definition;
use serde::Serialize;

use super::component::{ModuleInspection, module_file};
use super::error::InspectionError;
use crate::golden::Project;

/// Modules of a bundle that are looked at; a host takes no more either.
const MAX_MODULES: usize = 64;
/// What the signatures of a packed bundle are called, beside it: the tar's name and this.
const SIGNATURES: &str = ".dsse.json";

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
    /// `sha256:` and 64 hexadecimal digits: the digest of the tar that it is packed as. `None`: it cannot be packed.
    pub digest: Option<String>,
    /// Why it cannot be packed.
    pub unfit: Option<String>,
    /// The files that belong to it: those that are packed.
    pub files: Vec<FileSize>,
    /// Where it came from, if it was installed.
    pub source: Option<Source>,
    /// Bytes of the signatures that came with it. That there are some does not say whose they are, or that they are valid.
    pub signatures: Option<u64>,
}

/// Where an installed bundle came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Source {
    /// The reference, or the path.
    pub reference: String,
    /// RFC 3339.
    pub installed: String,
    /// Its version, if it was said.
    pub version: Option<String>,
}

impl From<&InstallRecord> for Source {
    fn from(record: &InstallRecord) -> Self {
        Self { reference: record.source.clone(), installed: record.when.to_string(), version: record.version.clone() }
    }
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

/// Inspects the packed bundle in the file `tar`. It is unpacked into a temporary directory, within the limits for bundles of strangers.
///
/// # Errors
/// When it cannot be unpacked, or [`bundle`] fails.
pub fn packed(tar: &Path) -> Result<BundleInspection, InspectionError> {
    let failed = |source| InspectionError::Read { path: tar.to_owned(), source };
    let file = fs::File::open(tar).map_err(failed)?;
    let scratch = tempfile::tempdir().map_err(failed)?;
    let dir = scratch.path().join("bundle");
    let digest = unpack(file, &dir)
        .map_err(|error| InspectionError::Broken { path: tar.to_owned(), reason: error.to_string() })?;
    let mut beside = tar.as_os_str().to_owned();
    beside.push(SIGNATURES);
    let signatures = fs::metadata(beside).ok().filter(fs::Metadata::is_file).map(|metadata| metadata.len());
    Ok(BundleInspection { digest: Some(digest.to_string()), signatures, ..bundle(&dir)? })
}

/// Inspects a bundle that was installed.
///
/// # Errors
/// As for [`bundle`].
pub fn installed(installed: &Installed) -> Result<BundleInspection, InspectionError> {
    let signatures = installed.signatures.as_ref().map(|bytes| bytes.len() as u64);
    Ok(BundleInspection { source: Some((&installed.record).into()), signatures, ..bundle(&installed.bundle.dir)? })
}

/// Inspects the bundle in `dir`. A module that is broken is said, and the others are shown.
///
/// # Errors
/// When there is no definition, or the directory cannot be read.
pub fn bundle(dir: &Path) -> Result<BundleInspection, InspectionError> {
    let project = Project::open(dir)?;
    let failed = |source| InspectionError::Read { path: dir.to_owned(), source };
    let mut names = Vec::new();
    for entry in fs::read_dir(&project.dir).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        if Path::new(&name).extension().is_some_and(|extension| extension == "wasm") && names.len() < MAX_MODULES {
            names.push(name);
        }
    }
    names.sort();
    let (mut modules, mut broken) = (Vec::new(), Vec::new());
    for name in names {
        match module_file(&project.dir.join(&name)) {
            Ok(module) => modules.push(module),
            Err(error) => broken.push(error.to_string()),
        }
    }
    let warnings = project.warnings.iter().map(ToString::to_string).collect();
    let definition = DefinitionSummary::of(&project.source.definition);
    let mut inspection = BundleInspection {
        definition,
        warnings,
        modules,
        broken,
        digest: None,
        unfit: None,
        files: Vec::new(),
        source: None,
        signatures: None,
    };
    // A bundle that cannot be packed, for a module that is broken for instance, is shown as far as it goes.
    match Bundle::open(&project.dir) {
        Ok(bundle) => {
            inspection.digest = Some(bundle.digest().to_string());
            inspection.files =
                bundle.files.into_iter().map(|file| FileSize { name: file.name, bytes: file.bytes }).collect();
        }
        Err(error) => inspection.unfit = Some(error.to_string()),
    }
    Ok(inspection)
}
