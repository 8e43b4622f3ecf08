//! The parsed contract.

use std::fs;
use std::path::Path;

use wit_parser::{Package, PackageId, Resolve, SourceMap};

use crate::error::BindingsError;

/// One version of the contract: a WIT package.
#[derive(Debug, Clone)]
pub struct Contract {
    resolve: Resolve,
    package: PackageId,
}

impl Contract {
    /// Reads the package in the directory: its `.wit` files, in the order of their names, so that
    /// generated files are the same on every file system. Subdirectories are ignored.
    ///
    /// # Errors
    /// [`BindingsError::Io`], [`BindingsError::NoWit`], [`BindingsError::Wit`].
    pub fn read(dir: &Path) -> Result<Self, BindingsError> {
        let mut files = Vec::new();
        for entry in fs::read_dir(dir).map_err(BindingsError::io("read", dir))? {
            let path = entry.map_err(BindingsError::io("read", dir))?.path();
            if path.extension().is_some_and(|extension| extension == "wit") && path.is_file() {
                files.push(path);
            }
        }
        files.sort();
        let mut sources = Vec::new();
        for file in &files {
            let text = fs::read_to_string(file).map_err(BindingsError::io("read", file))?;
            // Omit the directory, because generated files must not depend on where they are
            // generated.
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            sources.push((name, text));
        }
        if sources.is_empty() {
            return Err(BindingsError::NoWit(dir.to_path_buf()));
        }
        Self::parse(dir, &sources)
    }

    /// Parses the package from texts, each with the name of its file. `origin` is for messages.
    ///
    /// # Errors
    /// [`BindingsError::Wit`].
    pub fn parse(origin: &Path, sources: &[(String, String)]) -> Result<Self, BindingsError> {
        let wit = |cause: String| BindingsError::Wit { path: origin.to_path_buf(), cause };
        let mut map = SourceMap::default();
        for (name, text) in sources {
            map.push_str(name, text.as_str());
        }
        let group = map.parse().map_err(|(map, error)| wit(error.render(&map)))?;
        let mut resolve = Resolve::default();
        let package = resolve.push_group(group).map_err(|error| wit(format!("{error:#}")))?;
        Ok(Self { resolve, package })
    }

    /// Returns everything that was parsed.
    #[must_use]
    pub fn resolve(&self) -> &Resolve {
        &self.resolve
    }

    /// Returns the ID of the package, for generators.
    #[must_use]
    pub fn id(&self) -> PackageId {
        self.package
    }

    /// Returns the package.
    #[expect(clippy::indexing_slicing, reason = "the identifier comes from the same arena")]
    pub(crate) fn package(&self) -> &Package {
        &self.resolve.packages[self.package]
    }
}
