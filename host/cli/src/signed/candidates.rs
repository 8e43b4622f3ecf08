//! From what `--plugin` found to what can be judged.

use std::path::Path;

use plumbline_aggregator::Provenance;
use plumbline_bundle::signing::{Envelope, SignatureFile};
use plumbline_bundle::{Bundle, Digest};
use plumbline_core::PluginName;
use plumbline_registry::Reference;

use super::require::{Candidate, Warrant, require_locked, require_signed};
use super::target::{file_error, readable};
use crate::args::RunOptions;
use crate::error::CliError;
use crate::sources::{Found, Where};
use crate::sources::{is_packed, store, store_error};

/// Refuses a run of `found` that `--require-signed` or `--locked` does not allow. Nothing was started then.
pub(crate) fn judge(found: &[Found], args: &RunOptions) -> Result<(), CliError> {
    if args.policy.policy.is_some() && !args.require_signed {
        return Err(CliError::usage("`--policy` says whose signatures count, and none is asked for")
            .hint("add `--require-signed`"));
    }
    if !args.require_signed && args.locked.is_none() {
        return Ok(());
    }
    let bundles = found.iter().map(Found::bundle).collect::<Result<Vec<_>, _>>()?;
    let mut candidates = Vec::new();
    for (one, bundle) in found.iter().zip(&bundles) {
        let warrant = if args.require_signed { warrant(one)? } else { Warrant::None("not looked at") };
        candidates.push(candidate(one, bundle.as_ref(), warrant));
    }
    if let Some(file) = &args.locked {
        require_locked(&candidates, file)?;
    }
    if args.require_signed {
        require_signed(&candidates, &args.policy)?;
    }
    Ok(())
}

fn candidate<'a>(found: &'a Found, bundle: Option<&'a Bundle>, warrant: Warrant) -> Candidate<'a> {
    let definition = &found.source.definition;
    Candidate {
        plugin: definition.name.as_str(),
        origin: &found.origin,
        definition: found.digest.unwrap_or_else(|| Digest::of(definition.to_json().to_string().as_bytes())),
        bundle,
        warrant,
    }
}

/// What could vouch for a plugin. What is signed is packed: a directory may change between a look and a run.
fn warrant(found: &Found) -> Result<Warrant, CliError> {
    Ok(match found.place {
        Where::BuiltIn => Warrant::BuiltIn,
        Where::Sonobuoy => Warrant::None("a definition that Sonobuoy has installed"),
        Where::Installed => {
            Warrant::Signatures { envelopes: came_along(found)?, reference: installed_from(&found.origin)? }
        }
        Where::Registry => Warrant::Signatures { envelopes: came_along(found)?, reference: Some(found.origin.clone()) },
        Where::Address => Warrant::Signatures { envelopes: came_along(found)?, reference: None },
        Where::Named if is_tar(found) => {
            let envelopes =
                SignatureFile::beside(Path::new(&found.origin)).read().map_err(|error| file_error(&error))?;
            Warrant::Signatures { envelopes, reference: None }
        }
        Where::Named if found.source.bundle.is_some() => Warrant::None("a directory"),
        Where::Named => Warrant::None("a definition alone"),
    })
}

/// Whether the plugin came as a tar. Of a directory, the origin is the definition in it.
fn is_tar(found: &Found) -> bool {
    let origin = Path::new(&found.origin);
    let parent = origin.canonicalize().ok().and_then(|path| Some(path.parent()?.to_owned()));
    found.source.bundle.is_some() && found.source.bundle != parent && origin.is_file() && is_packed(origin)
}

fn came_along(found: &Found) -> Result<Vec<Envelope>, CliError> {
    readable(found.signatures.as_deref(), &found.origin)
}

/// The reference that an installed bundle was pulled from, if it was.
fn installed_from(name: &str) -> Result<Option<String>, CliError> {
    let failed = |error| store_error(format!("failed to load plugin `{name}`"), &error);
    let Some(installed) = store()?.find(name).map_err(failed)? else {
        return Err(CliError::system(format!("plugin `{name}` was uninstalled a moment ago")));
    };
    Ok(Some(installed.record.source).filter(|source| Reference::is_meant(source)))
}

/// Source and digest of a plugin that came as a packed bundle.
pub(crate) fn packed_provenance(found: &Found) -> Option<(String, String)> {
    let packed = match found.place {
        Where::Installed | Where::Registry | Where::Address => true,
        Where::Named => is_tar(found),
        Where::BuiltIn | Where::Sonobuoy => false,
    };
    let bundle = packed.then(|| found.bundle().ok().flatten()).flatten()?;
    Some((found.origin.clone(), bundle.digest().to_string()))
}

/// Where plugins come from, for the archive. A bundle that cannot be opened is told without its digest: only whoever asks for signatures or
/// a lock insists on one.
pub(crate) fn provenance(found: &[Found]) -> impl Iterator<Item = (PluginName, Provenance)> {
    found.iter().map(|one| {
        let bundle = one.bundle().ok().flatten().map(|bundle| bundle.digest().to_string());
        let definition_file = one.digest.map(|digest| digest.to_string());
        let provenance = Provenance { reference: Some(one.origin.clone()), bundle, definition_file };
        (one.source.definition.name.clone(), provenance)
    })
}
