//! Errors of modules, with hints for their fixes.

use std::path::PathBuf;

use plumbline_core::{Rights, closest};
use plumbline_sandbox::LoadError;

/// Maximum number of modules in a bundle.
pub(super) const MAX_BUNDLE_MODULES: usize = 64;

/// Error while loading a module.
#[derive(Debug, thiserror::Error)]
pub enum ModuleError {
    /// The file is not readable.
    #[error("failed to read module `{path}`: {source}")]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// The underlying I/O error.
        source: std::io::Error,
    },
    /// The file is not a module that this host accepts.
    #[error("failed to load module `{path}`: {source}")]
    Load {
        /// Path of the file.
        path: PathBuf,
        /// The underlying error.
        source: LoadError,
    },
    /// No module of this name implements this role.
    #[error("unknown {role} `{name}`: no built-in module and no module of the plugin's bundle has this name")]
    Unknown {
        /// The role: `result format`, `summarizer`, `expectations` or `judge`.
        role: &'static str,
        /// The name, truncated to 128 characters.
        name: String,
        /// Names of the built-in modules with this role.
        known: Vec<String>,
        /// Directory of the plugin's project, if its module is not built yet.
        unbuilt: Option<PathBuf>,
    },
    /// The module is not a post-processor.
    #[error("module `{0}` is not a post-processor: it does not read results")]
    Role(PathBuf),
    /// The bundle has no file with the check.
    #[error("check `{file}` not found in the plugin's bundle")]
    NoCheck {
        /// The name of the file.
        file: String,
        /// Directory of the plugin's project, if the check is not built yet.
        unbuilt: Option<PathBuf>,
    },
    /// The module of `plumbline.component` is not a check.
    #[error("module `{0}` is not a check: it does not have the role `check`")]
    NotACheck(PathBuf),
    /// The definition does not grant what the check needs.
    #[error("check `{file}` needs rights that the definition does not grant: {missing}")]
    Rights {
        /// The name of the file.
        file: String,
        /// The rights, at least one.
        missing: Box<Rights>,
    },
    /// The bundle has too many modules.
    #[error("bundle `{0}` has more than {MAX_BUNDLE_MODULES} modules")]
    TooMany(PathBuf),
}

impl ModuleError {
    /// Returns a hint with the fix, if there is one.
    pub fn hint(&self) -> Option<String> {
        let (name, known) = match self {
            Self::Unknown { unbuilt: Some(project), .. } | Self::NoCheck { unbuilt: Some(project), .. } => {
                let project = project.display();
                return Some(format!(
                    "the module of this project is not built yet: `plumbline plugin build {project}` builds it"
                ));
            }
            Self::NoCheck { file, .. } => {
                return Some(format!("put `{file}` next to the definition, and pass the directory to `--plugin`"));
            }
            Self::Rights { missing, .. } => {
                let lines = missing.to_yaml();
                return Some(format!("check what it reads, and add this to the definition:\n{lines}"));
            }
            Self::Unknown { name, known, .. } => (name, known),
            Self::Read { .. } | Self::Load { .. } | Self::Role(_) | Self::NotACheck(_) | Self::TooMany(_) => {
                return None;
            }
        };
        let known_names = format!("built-in: {}", known.join(", "));
        Some(match closest(name, known.iter().map(String::as_str)) {
            Some(meant) => format!("did you mean `{meant}`? ({known_names})"),
            None => known_names,
        })
    }
}
