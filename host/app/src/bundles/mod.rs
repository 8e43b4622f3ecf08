//! Bundles: push, pull, save, install and bake them.

mod bake;
pub mod describe;
mod transfer;

use std::path::{Path, PathBuf};

use plumbline_bundle::{Installed, Origin, SonobuoyCache};
use plumbline_core::size::Bytes;
use plumbline_core::text;
use plumbline_registry::{
    Cause, Digest, Entry, Kind, Layout, OpenedLayout, Pulled, Reference, load as load_one, open_layout,
    save as save_one, unwrap_entry, write_archive,
};

use crate::context::Context;
use crate::error::{AppError, quoted};
use crate::files;
use crate::images::lock;
use crate::sources::{self, registry};

pub use bake::{BakeOptions, BakedImage, bake};
pub use transfer::{PulledArtifact, PushedArtifact, pull, push};

/// Installs the bundle that `reference` names: a directory, a packed bundle, or `oci://…`.
pub fn install(context: &Context, reference: &str) -> Result<Installed, AppError> {
    let store = sources::store()?;
    let path = Path::new(reference);
    let mut origin = Origin { source: reference.to_owned(), ..Origin::default() };
    let put = |path: &Path, origin| {
        store
            .install(path, origin)
            .map_err(|error| sources::store_error(format!("failed to install `{reference}`"), &error))
    };
    if Reference::is_meant(reference) {
        let artifact = registry::pull(context, reference)?;
        (origin.version, origin.signatures) = (artifact.version(), artifact.signatures);
        return put(artifact.pulled.file.path(), origin);
    }
    // A relative path has no meaning in other directories.
    if let Ok(absolute) = path.canonicalize() {
        origin.source = absolute.display().to_string();
    }
    if path.is_file() && sources::is_packed(path) {
        origin.signatures = sources::read_signatures(path)?;
    } else if !path.is_dir() {
        return Err(AppError::usage(format!("`{reference}` is not a bundle")).hint(
            "pass a directory with `plugin.yaml`, a tar that `plumbline plugin pack` wrote, or `oci://…`; run a definition alone from its file: `-p FILE`",
        ));
    }
    put(path, origin)
}

/// Installs a definition, a file or a URL, as `sonobuoy plugin install NAME DEFINITION` does.
/// Returns its path.
pub fn install_for_sonobuoy(context: &Context, name: &str, definition: &str) -> Result<PathBuf, AppError> {
    let failed = || AppError::system(format!("failed to install plugin `{name}`"));
    let cache = SonobuoyCache::user().ok_or_else(|| failed().hint("set `HOME` or `SONOBUOY_DIR`"))?;
    let text = sources::definition_text(context, definition)?;
    cache.install(name, &text).map_err(|error| failed().because(&error))
}

/// Copies artifacts with their referrers into the layout `output`, or into an archive if the path
/// ends in `.tar`. Calls `saved` for each reference with its digest and the number of its
/// referrers. Returns the size of the archive.
pub fn save(
    context: &Context,
    references: &[String],
    output: &Path,
    saved: &mut dyn FnMut(&Reference, Digest, usize) -> Result<(), AppError>,
) -> Result<Option<Bytes>, AppError> {
    let references = references.iter().map(|text| registry::reference(text)).collect::<Result<Vec<_>, _>>()?;
    let client = registry::client(context)?;
    let is_archive = output.extension().is_some_and(|end| end.eq_ignore_ascii_case("tar"));
    let scratch;
    let dir: &Path = if is_archive {
        scratch = files::scratch()?;
        scratch.path()
    } else {
        output
    };
    let failed = |cause: Cause| AppError::from(cause.of(format!("write layout `{}`", output.display())));
    let layout = Layout::create(dir).map_err(failed)?;
    // Until the index has all references.
    let _lock = lock(dir, "artifacts")?;
    for reference in &references {
        let (root, copied) = registry::wait(save_one(&client, reference, &layout))?;
        saved(reference, root.digest, copied.referrers)?;
    }
    if !is_archive {
        return Ok(None);
    }
    write_archive(&layout, output).map(|bytes| Some(Bytes(bytes))).map_err(failed)
}

/// An open layout with artifacts.
pub struct ArtifactLayout {
    opened: OpenedLayout,
    /// Its entries.
    pub entries: Vec<Entry>,
}

impl ArtifactLayout {
    /// Opens the layout or archive at `path`.
    pub fn open(path: &Path) -> Result<Self, AppError> {
        let failed = |cause: Cause| AppError::from(cause.of(format!("read layout `{}`", path.display())));
        let opened = open_layout(path, None).map_err(failed)?;
        let entries = opened.layout().entries().map_err(failed)?;
        if entries.is_empty() {
            return Err(AppError::usage(format!("layout `{}` is empty", path.display()))
                .hint("write a layout with `plumbline plugin save`"));
        }
        Ok(Self { opened, entries })
    }

    /// Copies the entries to the reference `to`, or to references with their names if `to` ends in
    /// `/`. Calls `copied` for each reference, and says whether the registry had the artifact
    /// already.
    pub fn copy(
        &self,
        context: &Context,
        to: &str,
        copied: &mut dyn FnMut(&Reference, bool) -> Result<(), AppError>,
    ) -> Result<(), AppError> {
        let targets = targets(&self.entries, to)?;
        let client = registry::client(context)?;
        for (entry, target) in &targets {
            let done = registry::wait(load_one(self.opened.layout(), entry, &client, target))?;
            copied(&target.with_digest(entry.descriptor.digest), done.blobs == 0)?;
        }
        Ok(())
    }

    /// Installs the bundles among the entries. Calls `installed` for each, with the name of its
    /// entry. After an error, bundles before it stay installed.
    pub fn install(
        &self,
        context: &Context,
        installed: &mut dyn FnMut(&str, &Installed) -> Result<(), AppError>,
    ) -> Result<(), AppError> {
        let mut count = 0;
        for entry in &self.entries {
            let pulled = registry::wait(unwrap_entry(self.opened.layout(), entry))?;
            if pulled.kind == Kind::Bundle {
                installed(&name_of(entry), &self.install_one(context, entry, &pulled)?)?;
                count += 1;
            } else {
                context.reporter.warning(&format!(
                    "`{}` is a single WebAssembly file, not a bundle: not installed",
                    name_of(entry)
                ));
            }
        }
        if count == 0 {
            return Err(AppError::usage("the layout has no bundle").hint("write a layout with `plumbline plugin save`"));
        }
        Ok(())
    }

    fn install_one(&self, context: &Context, entry: &Entry, pulled: &Pulled) -> Result<Installed, AppError> {
        let name = name_of(entry);
        let origin = Origin {
            source: own_name(entry)
                .map_or_else(|| name.clone(), |own| own.with_digest(entry.descriptor.digest).to_string()),
            version: own_name(entry).and_then(|own| own.tag().map(str::to_owned)),
            signatures: registry::signatures_in(context, self.opened.layout(), pulled.manifest),
        };
        sources::store()?
            .install(pulled.file.path(), origin)
            .map_err(|error| sources::store_error(format!("failed to install `{name}`"), &error))
    }
}

/// The name of an entry, for messages. It is untrusted text.
pub fn name_of(entry: &Entry) -> String {
    let name = entry.name.as_deref().unwrap_or("(no name)");
    text::excerpt(name, 300)
}

fn targets<'a>(entries: &'a [Entry], to: &str) -> Result<Vec<(&'a Entry, Reference)>, AppError> {
    if let Some(prefix) = to.strip_suffix('/') {
        return entries.iter().map(|entry| Ok((entry, below(prefix, entry)?))).collect();
    }
    let [entry] = entries else {
        let names = quoted(entries.iter().take(5).map(name_of));
        return Err(AppError::usage(format!(
            "the layout has {}, but `{to}` is the name of one: {names}",
            entries.len()
        ))
        .hint(format!("to copy all under their own names, add a `/`: `--to {to}/`")));
    };
    let target = registry::reference(to)?;
    let own = own_name(entry);
    let target = match (target.tag(), own.as_ref().and_then(Reference::tag)) {
        (None, Some(tag)) => target.with_tag(tag).unwrap_or(target),
        (None, None) => target.with_tag(target.tag_or_default()).unwrap_or(target),
        _ => target,
    };
    Ok(vec![(entry, target)])
}

fn own_name(entry: &Entry) -> Option<Reference> {
    format!("oci://{}", entry.name.as_deref()?).parse().ok()
}

/// The reference of an entry in another registry, with its repository and tag.
fn below(prefix: &str, entry: &Entry) -> Result<Reference, AppError> {
    let own = own_name(entry).ok_or_else(|| {
        AppError::usage(format!("`{}` in the layout has no name", name_of(entry)))
            .hint("copy it alone, with a name: `--to oci://HOST/NAME:TAG`")
    })?;
    let text = format!("{prefix}/{}", own.repository());
    let reference = registry::reference(&text)?;
    Ok(own.tag().and_then(|tag| reference.with_tag(tag).ok()).unwrap_or(reference))
}
