//! A definition that was found, and where.

use std::path::PathBuf;
use std::sync::Arc;

use plumbline_aggregator::Source;
use plumbline_bundle::{Bundle, BundleWarning, Digest};
use plumbline_core::PluginName;
use plumbline_core::definition::Warning;
use plumbline_registry::Reference;

use super::failure::bundle_error;
use crate::error::CliError;

/// A definition, where it came from, and what is odd about it.
pub(crate) struct Found {
    pub(crate) source: Source,
    /// The directory of the definition, if it came from a file: relative paths in it start there.
    pub(crate) directory: Option<PathBuf>,
    pub(crate) warnings: Vec<Warning>,
    /// For messages: the file or the name.
    pub(crate) origin: String,
    /// The digest of the definition as it was read. `None`: it was made of options.
    pub(crate) digest: Option<Digest>,
    /// What kind of place it came from.
    pub(crate) place: Where,
    /// The signatures that came with it from a registry, an address or a store, as they came.
    pub(crate) signatures: Option<Vec<u8>>,
    /// Of a plugin from a registry: the reference with the digest of what it stood for.
    pub(crate) pinned: Option<Reference>,
}

/// What kind of place a plugin came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Where {
    /// This program.
    BuiltIn,
    /// A file, a directory, a tar, the address of a definition, standard input.
    Named,
    /// The address of a packed bundle.
    Address,
    /// A registry.
    Registry,
    /// The user's installed bundles.
    Installed,
    /// Sonobuoy's directory.
    Sonobuoy,
}

impl Found {
    /// The plugin of a bundle that was opened, and verified where there was something to verify it against.
    pub(crate) fn of_bundle(bundle: Bundle, origin: &str, place: Where) -> Self {
        let warnings = bundle.warnings.into_iter().filter_map(|warning| match warning {
            BundleWarning::Definition(warning) => Some(warning),
            // The others are about packing.
            _ => None,
        });
        Self {
            warnings: warnings.collect(),
            directory: Some(bundle.dir.clone()),
            source: Source { definition: Arc::new(bundle.definition), bundle: Some(bundle.dir) },
            origin: origin.to_owned(),
            digest: Some(bundle.definition_digest),
            place,
            signatures: None,
            pinned: None,
        }
    }

    /// The bundle that the plugin came as, if it came as one.
    pub(crate) fn bundle(&self) -> Result<Option<Bundle>, CliError> {
        self.source
            .bundle
            .as_deref()
            .map(Bundle::open)
            .transpose()
            .map_err(|error| bundle_error(format!("plugin `{}` is not a complete bundle", self.origin), &error))
    }

    /// The same plugin under another name.
    pub(crate) fn called(mut self, name: PluginName) -> Self {
        let mut definition = self.source.definition.as_ref().clone();
        definition.name = name;
        self.source.definition = Arc::new(definition);
        self
    }
}
