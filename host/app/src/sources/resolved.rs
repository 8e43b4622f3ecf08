//! A plugin that was found.

use std::path::PathBuf;
use std::sync::Arc;

use plumbline_aggregator::Source;
use plumbline_bundle::{Bundle, BundleWarning, Digest};
use plumbline_core::PluginName;
use plumbline_core::definition::{Definition, DefinitionError, Parsed, Warning};
use plumbline_registry::Reference;
use plumbline_worker::check_log_progress;

use crate::error::{AppError, Explain as _, bundle_error};

/// A plugin with its origin and the warnings about its definition.
#[derive(Clone)]
pub struct ResolvedPlugin {
    /// The definition, and the directory of the bundle.
    pub source: Source,
    /// The directory of the definition, if it came from a file. Relative paths in it start there.
    pub directory: Option<PathBuf>,
    /// Warnings about the definition.
    pub warnings: Vec<Warning>,
    /// The reference, for messages.
    pub origin: String,
    /// The digest of the definition as it was read. `None` if it was made of options.
    pub digest: Option<Digest>,
    /// The kind of its source.
    pub kind: SourceKind,
    /// The signatures that came with it from a registry, a URL or the store, unread.
    pub signatures: Option<Vec<u8>>,
    /// The reference with a digest, for a plugin from a registry.
    pub pinned: Option<Reference>,
}

/// The kind of source of a plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceKind {
    /// This program.
    BuiltIn,
    /// A file, a directory, a tar, the URL of a definition, or standard input.
    Named,
    /// The URL of a packed bundle.
    Url,
    /// A registry.
    Registry,
    /// The user's installed bundles.
    Installed,
    /// Sonobuoy's directory.
    Sonobuoy,
}

impl ResolvedPlugin {
    /// A plugin whose definition was made here.
    pub(crate) fn of_definition(definition: Definition, origin: String) -> Self {
        Self {
            source: Source { definition: Arc::new(definition), bundle: None },
            directory: None,
            warnings: Vec::new(),
            origin,
            digest: None,
            kind: SourceKind::Named,
            signatures: None,
            pinned: None,
        }
    }

    pub(crate) fn of_bundle(bundle: Bundle, origin: &str, kind: SourceKind) -> Self {
        let warnings = bundle.warnings.into_iter().filter_map(|warning| match warning {
            BundleWarning::Definition(warning) => Some(warning),
            // The other warnings concern packing.
            _ => None,
        });
        let plugin = Self::of_definition(bundle.definition, origin.to_owned());
        Self {
            warnings: warnings.collect(),
            source: Source { bundle: Some(bundle.dir.clone()), ..plugin.source },
            directory: Some(bundle.dir),
            digest: Some(bundle.definition_digest),
            kind,
            ..plugin
        }
    }

    /// Opens the plugin's bundle. `None` if the plugin is a definition alone.
    pub fn bundle(&self) -> Result<Option<Bundle>, AppError> {
        self.source
            .bundle
            .as_deref()
            .map(Bundle::open)
            .transpose()
            .map_err(|error| bundle_error(format!("plugin `{}` is not a complete bundle", self.origin), &error))
    }

    pub(crate) fn with_name(mut self, name: PluginName) -> Self {
        let mut definition = self.source.definition.as_ref().clone();
        definition.name = name;
        self.source.definition = Arc::new(definition);
        self
    }
}

/// Parses and validates a definition.
pub(super) fn parse(text: Vec<u8>, origin: &str, bundle: Option<PathBuf>) -> Result<ResolvedPlugin, AppError> {
    let Parsed { definition, warnings } = Definition::parse_bytes(&text).map_err(|error| {
        let hint = match error {
            DefinitionError::Yaml(_) => "correct the YAML at this place",
            _ => "see docs/definition.md for all keys",
        };
        AppError::usage(format!("invalid definition `{origin}`")).because(&error).hint(hint)
    })?;
    if let Some(progress) = &definition.plumbline.progress {
        // Otherwise, a worker would report the mistake hours later, and only in its log.
        check_log_progress(progress)
            .usage_error(format_args!("invalid definition `{origin}`"))
            .hint("see docs/definition.md for all keys")?;
    }
    let plugin = ResolvedPlugin::of_definition(definition, origin.to_owned());
    let (directory, source) = (bundle.clone(), Source { bundle, ..plugin.source });
    Ok(ResolvedPlugin { source, directory, warnings, digest: Some(Digest::of(&text)), ..plugin })
}
