//! Opens the project in a directory.

use std::path::{Path, PathBuf};

use plumbline_sandbox::Roles;
use plumbline_sandbox::componentize::{DEFAULT_WORLD, Metadata, Recipe, Wit};
use serde_json::Value;

use super::manifest::MAX_BYTES;
use super::{AuthorError, Language, MANIFEST_FILE, Manifest, read_bounded, read_text};

/// Maximum size of a schema in bytes. A larger one does not fit into the section that holds it.
const MAX_SCHEMA_BYTES: u64 = 60 << 10;

/// A project.
#[derive(Debug, Clone, PartialEq)]
pub struct Project {
    /// The directory, as an absolute path, so that tools that run elsewhere understand it.
    pub directory: PathBuf,
    /// The content of its `module.yaml`.
    pub manifest: Manifest,
}

impl Project {
    /// Opens the project in `directory`.
    ///
    /// # Errors
    /// There is no `module.yaml`, or it is invalid.
    pub fn open(directory: &Path) -> Result<Self, AuthorError> {
        let absolute = directory.canonicalize().map_err(|error| {
            AuthorError::input(format!("failed to open directory `{}`", directory.display())).because(error)
        })?;
        let file = directory.join(MANIFEST_FILE);
        if !absolute.join(MANIFEST_FILE).exists() {
            let language = Language::detect(&absolute);
            let hint = match language {
                Some((language, sign)) => format!(
                    "it looks like {language} (`{sign}`): write `{MANIFEST_FILE}` with the keys `name` and `language: {language}`"
                ),
                None => {
                    "name a project's directory, or begin one: `plumbline plugin new NAME --lang LANGUAGE`".to_owned()
                }
            };
            let what = format!("directory `{}` is not a project: it has no `{MANIFEST_FILE}`", directory.display());
            return Err(AuthorError::input(what).hint(hint));
        }
        let text = read_text(&file, MAX_BYTES)?;
        Ok(Self { directory: absolute, manifest: Manifest::parse(&text, &file.display().to_string())? })
    }

    /// Returns the name of the module.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.manifest.name
    }

    /// Returns the path of the built module. It is next to the definition, so that the project's
    /// directory is a bundle.
    #[must_use]
    pub fn module(&self) -> PathBuf {
        self.directory.join(format!("{}.wasm", self.name()))
    }

    /// Returns the directory for everything that a build produces.
    #[must_use]
    pub fn build_directory(&self) -> PathBuf {
        self.directory.join("build")
    }

    /// Returns the directory of the SDK.
    #[must_use]
    pub fn sdk(&self) -> PathBuf {
        let default = || Path::new("sdk").join(self.manifest.language.as_str());
        self.directory.join(self.manifest.sdk.clone().unwrap_or_else(default))
    }

    /// Returns the world that the module is built for.
    #[must_use]
    pub fn world(&self) -> &str {
        self.manifest.world.as_deref().unwrap_or(DEFAULT_WORLD)
    }

    /// Returns the project's own copy of the contract, if it has one.
    #[must_use]
    pub fn wit(&self) -> Option<PathBuf> {
        Some(self.directory.join("wit")).filter(|wit| wit.is_dir())
    }

    /// Returns the recipe that makes a component from its core module. `wit` is [`Project::wit`].
    #[must_use]
    pub fn recipe<'a>(&'a self, wit: Option<&'a Path>) -> Recipe<'a> {
        Recipe { world: Some(self.world()), wit: wit.map_or(Wit::Embedded, Wit::Directory) }
    }

    /// Returns the JSON Schema of the module's options.
    ///
    /// # Errors
    /// The file that `schema` refers to cannot be read, or is not a JSON object.
    pub fn schema(&self) -> Result<Option<Value>, AuthorError> {
        let Some(file) = &self.manifest.schema else { return Ok(None) };
        let path = self.directory.join(file);
        let bytes = read_bounded(&path, MAX_SCHEMA_BYTES)?;
        let wrong = || AuthorError::input(format!("schema `{}` is not a JSON object", file.display()));
        let schema: Value = serde_json::from_slice(&bytes).map_err(|error| wrong().because(error))?;
        if schema.is_object() { Ok(Some(schema)) } else { Err(wrong()) }
    }

    /// Returns the metadata for a module with these roles.
    ///
    /// # Errors
    /// The same as for [`Project::schema`].
    pub fn metadata(&self, roles: Roles) -> Result<Metadata, AuthorError> {
        let manifest = &self.manifest;
        // A module that reads no results has no format.
        let default = || if roles.post_processor { vec![manifest.name.clone()] } else { Vec::new() };
        Ok(Metadata {
            name: manifest.name.clone(),
            formats: manifest.formats.clone().unwrap_or_else(default),
            default_files: manifest.default_files.clone().unwrap_or_default(),
            detect: manifest.detect.clone(),
            limits: manifest.limits.clone(),
            schema: self.schema()?,
        })
    }
}
