//! Inspects a directory with a definition and its modules.

use std::fs;
use std::path::Path;

use plumbline_bundle::signing::SignatureFile;
use plumbline_bundle::{Bundle, Installed, unpack};
use plumbline_core::Rights;
use serde::Serialize;

use super::module::{ModuleInspection, NamedSize, module_file};
use crate::error::AuthorError;
use crate::golden::Project;

/// Maximum number of modules to inspect, which is also the host's limit.
const MAX_MODULES: usize = 64;

/// A description of a bundle.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct BundleInspection {
    /// The definition.
    pub definition: DefinitionSummary,
    /// Warnings about the definition.
    pub warnings: Vec<String>,
    /// The modules.
    pub modules: Vec<ModuleInspection>,
    /// Errors of modules that cannot be inspected, as sentences.
    pub broken: Vec<String>,
    /// The digest of the packed tar: `sha256:` and 64 hexadecimal digits. `None` if the bundle
    /// cannot be packed.
    pub digest: Option<String>,
    /// Why the bundle cannot be packed.
    pub unfit: Option<String>,
    /// The files that packing includes.
    pub files: Vec<NamedSize>,
    /// The origin of an installed bundle.
    pub source: Option<Source>,
    /// The size in bytes of the signatures that came with the bundle. Their presence does not mean
    /// that they are valid, or whose they are.
    pub signatures: Option<u64>,
}

/// The origin of an installed bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Source {
    /// The reference or path that it was installed from.
    pub reference: String,
    /// The time of the installation (RFC 3339).
    pub installed: String,
    /// The version, if it is known.
    pub version: Option<String>,
}

/// The keys of a definition that identify the plugin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct DefinitionSummary {
    /// The name of the plugin.
    pub name: String,
    /// The description in the definition.
    pub description: Option<String>,
    /// The driver: `Job`, `DaemonSet` or `Process`.
    pub driver: String,
    /// The result format, which selects the post-processor.
    pub result_format: Option<String>,
    /// The module that returns the expected results.
    pub expectations: String,
    /// The summarizer, if there is one.
    pub summarizer: Option<String>,
    /// The file of the check, if the plugin runs one.
    pub component: Option<String>,
    /// The rights that the check gets.
    #[serde(skip_serializing_if = "Rights::is_empty")]
    pub grants: Rights,
}

/// Inspects the packed bundle in the file `tar`. It is unpacked into a temporary directory, with
/// the limits for untrusted bundles.
pub fn packed(tar: &Path) -> Result<BundleInspection, AuthorError> {
    let failed = AuthorError::unreadable(tar);
    let file = fs::File::open(tar).map_err(&failed)?;
    let scratch = tempfile::tempdir().map_err(&failed)?;
    let dir = scratch.path().join("bundle");
    let digest = unpack(file, &dir)
        .map_err(|error| AuthorError::input(format!("`{}` is damaged", tar.display())).because(error))?;
    let signature_file = SignatureFile::next_to(tar);
    let signatures =
        fs::metadata(signature_file.path()).ok().filter(fs::Metadata::is_file).map(|metadata| metadata.len());
    Ok(BundleInspection { digest: Some(digest.to_string()), signatures, ..bundle(&dir)? })
}

/// Inspects an installed bundle.
pub fn installed(installed: &Installed) -> Result<BundleInspection, AuthorError> {
    let record = &installed.record;
    let source = Source {
        reference: record.source.clone(),
        installed: record.when.to_string(),
        version: record.version.clone(),
    };
    let signatures = installed.signatures.as_ref().map(|bytes| bytes.len() as u64);
    Ok(BundleInspection { source: Some(source), signatures, ..bundle(&installed.bundle.dir)? })
}

/// Inspects the bundle in `dir`. Modules with errors are listed, and the others are described.
pub fn bundle(dir: &Path) -> Result<BundleInspection, AuthorError> {
    let project = Project::open(dir)?;
    let failed = AuthorError::unreadable(dir);
    let mut names = Vec::new();
    for entry in fs::read_dir(&project.dir).map_err(&failed)? {
        let name = entry.map_err(&failed)?.file_name();
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
    let definition = &project.source.definition;
    let mut inspection = BundleInspection {
        definition: DefinitionSummary {
            name: definition.name.to_string(),
            description: definition.description.clone(),
            driver: definition.driver.as_str().to_owned(),
            result_format: definition.result_format.clone(),
            expectations: definition.expectations_module().to_owned(),
            summarizer: definition.plumbline.summarizer.clone(),
            component: definition.plumbline.component.clone(),
            grants: definition.plumbline.grants.clone(),
        },
        warnings: project.warnings.iter().map(ToString::to_string).collect(),
        modules,
        broken,
        digest: None,
        unfit: None,
        files: Vec::new(),
        source: None,
        signatures: None,
    };
    // A bundle that cannot be packed, for example because of an invalid module, is described as far
    // as possible.
    match Bundle::open(&project.dir) {
        Ok(bundle) => {
            inspection.digest = Some(bundle.digest().to_string());
            inspection.files =
                bundle.files.into_iter().map(|file| NamedSize { name: file.name, bytes: file.bytes }).collect();
        }
        Err(error) => inspection.unfit = Some(error.to_string()),
    }
    Ok(inspection)
}
