//! `plumbline plugin load`

use std::io::Write;
use std::process::ExitCode;

use plumbline_app::sources::{registry, registry_error};
use plumbline_app::{AppError, sources};
use plumbline_bundle::Origin;
use plumbline_core::text;
use plumbline_registry::{Entry, Kind, Layout, Pulled, Reference, load as load_one, open_layout, unwrap_entry};

use crate::args::{Global, LoadArgs};
use crate::context::context;
use crate::logging;
use crate::ui::say;
use plumbline_app::Context;

/// Takes what is in a layout into a registry, or installs it; or tells what there is.
pub(crate) fn load(args: &LoadArgs, global: &Global) -> Result<ExitCode, AppError> {
    logging::init(global);
    let context = context(&args.registry);
    let failed =
        |cause: plumbline_registry::Cause| registry_error(&cause.of(format!("read layout `{}`", args.from.display())));
    let opened = open_layout(&args.from, None).map_err(failed)?;
    let layout = opened.layout();
    let entries = layout.entries().map_err(failed)?;
    if entries.is_empty() {
        return Err(AppError::usage(format!("layout `{}` is empty", args.from.display())));
    }
    if let Some(to) = &args.to {
        copy(&context, layout, &entries, to)?;
    } else if args.install {
        install_all(&context, layout, &entries)?;
    } else {
        say("next: `--to oci://…` copies it into a registry, `--install` installs it here");
        for entry in &entries {
            print(&format!("{} {}", entry.descriptor.digest, named(entry)))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// At once: what was done is told also when the next fails.
fn print(line: &str) -> Result<(), AppError> {
    writeln!(anstream::stdout().lock(), "{line}")
        .map_err(|error| AppError::printing("what was loaded cannot be printed", &error))
}

/// For messages: a name from a layout is anybody's text.
fn named(entry: &Entry) -> String {
    let name = entry.name.as_deref().unwrap_or("(no name)");
    text::excerpt(name, 300)
}

fn copy(context: &Context, layout: &Layout, entries: &[Entry], to: &str) -> Result<(), AppError> {
    let targets = targets(entries, to)?;
    let client = registry::client(context)?;
    for (entry, target) in &targets {
        let copied = registry::wait(load_one(layout, entry, &client, target))?;
        let there = match copied.blobs {
            0 => " (was there already)",
            _ => "",
        };
        print(&format!("loaded: {}{there}", target.with_digest(entry.descriptor.digest)))?;
    }
    Ok(())
}

/// Where each goes.
fn targets<'a>(entries: &'a [Entry], to: &str) -> Result<Vec<(&'a Entry, Reference)>, AppError> {
    if let Some(prefix) = to.strip_suffix('/') {
        return entries.iter().map(|entry| Ok((entry, below(prefix, entry)?))).collect();
    }
    let [entry] = entries else {
        let names = entries.iter().take(5).map(|entry| format!("`{}`", named(entry))).collect::<Vec<_>>().join(", ");
        return Err(AppError::usage(format!(
            "the layout holds {}, and `{to}` is the name of one: {names}",
            entries.len()
        ))
        .hint(format!("with a `/` at the end, all are copied under the names that they have: `--to {to}/`")));
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

/// The reference that an entry was saved under.
fn own_name(entry: &Entry) -> Option<Reference> {
    format!("oci://{}", entry.name.as_deref()?).parse().ok()
}

/// The name of an entry below another registry: its repository and its tag stay.
fn below(prefix: &str, entry: &Entry) -> Result<Reference, AppError> {
    let own = own_name(entry).ok_or_else(|| {
        AppError::usage(format!("`{}` in the layout has no name that could be kept", named(entry)))
            .hint("copy it alone, and say how it is to be called: `--to oci://HOST/NAME:TAG`")
    })?;
    let text = format!("{prefix}/{}", own.repository());
    let reference = registry::reference(&text)?;
    Ok(own.tag().and_then(|tag| reference.with_tag(tag).ok()).unwrap_or(reference))
}

/// The bundles among them. The first that cannot be installed ends it, and what was installed before stays.
fn install_all(context: &Context, layout: &Layout, entries: &[Entry]) -> Result<(), AppError> {
    let mut installed = 0;
    for entry in entries {
        let pulled = registry::wait(unwrap_entry(layout, entry))?;
        if pulled.kind == Kind::Bundle {
            install(context, layout, entry, &pulled)?;
            installed += 1;
        } else {
            say(&format!("warning: `{}` is a single WebAssembly file, and no bundle: not installed", named(entry)));
        }
    }
    if installed == 0 {
        return Err(AppError::usage("there is no bundle in the layout"));
    }
    Ok(())
}

fn install(context: &Context, layout: &Layout, entry: &Entry, pulled: &Pulled) -> Result<(), AppError> {
    let name = named(entry);
    let origin = Origin {
        source: own_name(entry)
            .map_or_else(|| name.clone(), |own| own.with_digest(entry.descriptor.digest).to_string()),
        version: own_name(entry).and_then(|own| own.tag().map(str::to_owned)),
        signatures: registry::signatures_in(context, layout, pulled.manifest),
    };
    let installed = sources::store()?
        .install(pulled.file.path(), origin)
        .map_err(|error| sources::store_error(format!("failed to install `{name}`"), &error))?;
    print(&format!("installed: `{}` from {name}: {}", installed.bundle.name(), installed.bundle.digest()))
}
