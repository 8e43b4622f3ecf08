//! The project in a directory.

use std::path::{Path, PathBuf};

use plumbline_sandbox::Roles;
use plumbline_sandbox::componentize::{DEFAULT_WORLD, Metadata, Recipe, Wit};
use serde_json::Value;

use super::manifest::MAX_BYTES;
use super::{AuthorError, Language, MANIFEST_FILE, Manifest, read_bounded, read_text};

/// Bytes of a schema: more does not fit into the section that carries it.
const MAX_SCHEMA_BYTES: u64 = 60 << 10;

/// A project.
#[derive(Debug, Clone, PartialEq)]
pub struct Project {
    /// Where it is: an absolute path, so that tools which run elsewhere understand it.
    pub directory: PathBuf,
    /// What it says of itself.
    pub manifest: Manifest,
}

impl Project {
    /// The project in `directory`.
    ///
    /// # Errors
    /// When there is no `module.yaml`, or it cannot be used.
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

    /// The module's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.manifest.name
    }

    /// Where the built module goes: beside the definition, so that the project's directory is a bundle.
    #[must_use]
    pub fn module(&self) -> PathBuf {
        self.directory.join(format!("{}.wasm", self.name()))
    }

    /// Where everything goes that a build leaves behind.
    #[must_use]
    pub fn build_directory(&self) -> PathBuf {
        self.directory.join("build")
    }

    /// The directory of the SDK.
    #[must_use]
    pub fn sdk(&self) -> PathBuf {
        let default = || Path::new("sdk").join(self.manifest.language.as_str());
        self.directory.join(self.manifest.sdk.clone().unwrap_or_else(default))
    }

    /// The world that it is built for.
    #[must_use]
    pub fn world(&self) -> &str {
        self.manifest.world.as_deref().unwrap_or(DEFAULT_WORLD)
    }

    /// Its own copy of the contract, if it has one.
    #[must_use]
    pub fn wit(&self) -> Option<PathBuf> {
        Some(self.directory.join("wit")).filter(|wit| wit.is_dir())
    }

    /// How its core module becomes a component; `wit` is [`Project::wit`].
    #[must_use]
    pub fn recipe<'a>(&'a self, wit: Option<&'a Path>) -> Recipe<'a> {
        Recipe { world: Some(self.world()), wit: wit.map_or(Wit::Embedded, Wit::Directory) }
    }

    /// The JSON Schema of its options.
    ///
    /// # Errors
    /// When the file that `schema` names cannot be read or is no JSON object.
    pub fn schema(&self) -> Result<Option<Value>, AuthorError> {
        let Some(file) = &self.manifest.schema else { return Ok(None) };
        let path = self.directory.join(file);
        let bytes = read_bounded(&path, MAX_SCHEMA_BYTES)?;
        let wrong = || AuthorError::input(format!("schema `{}` is not a JSON object", file.display()));
        let schema: Value = serde_json::from_slice(&bytes).map_err(|error| wrong().because(error))?;
        if schema.is_object() { Ok(Some(schema)) } else { Err(wrong()) }
    }

    /// What the module is to say of itself, if it plays these roles.
    ///
    /// # Errors
    /// As [`Project::schema`].
    pub fn metadata(&self, roles: Roles) -> Result<Metadata, AuthorError> {
        let manifest = &self.manifest;
        // Who reads no results answers to no format.
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
