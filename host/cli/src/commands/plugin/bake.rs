//! `plumbline plugin bake`

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use plumbline_app::AppError;
use plumbline_app::report::print_json;
use plumbline_app::runtime::runtime;
use plumbline_app::sources;
use plumbline_app::sources::{registry, registry_error};
use plumbline_bundle::Bundle;
use plumbline_bundle::built_in::Place;
use plumbline_core::size::Bytes;
use plumbline_kubernetes::names::BAKED_BUNDLES_DIR;
use plumbline_registry::{
    Addition, Cause, Client, Image, LayerBuilder, Layout, Place as ImagePlace, RawManifest, Reference, RegistryError,
    list_image, open_layout, write_archive,
};
use serde_json::json;

use crate::args::{BakeArgs, Global};
use crate::context::context;
use crate::logging;
use crate::ui::say;
use plumbline_app::Context;

/// The label that says which bundles an image has: `NAME@sha256:…`, parted by commas.
const LABEL: &str = "org.plumbline.bundles";

/// Puts bundles into an image.
pub(crate) fn bake(args: &BakeArgs, global: &Global) -> Result<ExitCode, AppError> {
    logging::init(global);
    let context = context(&args.registry);
    let bundles = bundles(&context, &args.references)?;
    let client = registry::client(&context)?;
    let (image, bytes) = runtime()?.block_on(baked(args, &client, &bundles))?;
    let listed: Vec<_> = bundles.iter().map(|bundle| (bundle.name(), bundle.digest().to_string())).collect();
    let mut out = anstream::stdout().lock();
    let printed = match args.json {
        true => {
            let bundles: Vec<_> = listed.iter().map(|(name, digest)| json!({"name": name, "digest": digest})).collect();
            let push = args.push.as_deref();
            print_json(
                &json!({"digest": image.digest, "path": args.output, "reference": push, "bundles": bundles}),
                &mut out,
            )
        }
        false => {
            let lines: String = listed.iter().map(|(name, digest)| format!("baked: {name} {digest}\n")).collect();
            let end = match (&args.output, &args.push) {
                (Some(path), _) => format!("written: {} ({})\n", path.display(), Bytes(bytes)),
                (None, Some(to)) => format!("pushed: {to}@{}\n", image.digest),
                (None, None) => String::new(),
            };
            write!(out, "{lines}image: {}\n{end}", image.digest)
        }
    };
    printed.map_err(|error| AppError::printing("what was baked cannot be printed", &error))?;
    Ok(ExitCode::SUCCESS)
}

/// The bundles, each of which an aggregator finds by its name.
fn bundles(context: &Context, references: &[String]) -> Result<Vec<Bundle>, AppError> {
    let mut bundles: BTreeMap<String, Bundle> = BTreeMap::new();
    for reference in references {
        let found = sources::find(context, reference, Place::Cluster)?;
        let Some(bundle) = found.bundle()? else {
            return Err(AppError::usage(format!("`{reference}` is not a bundle, so there is nothing to bake"))
                .hint("name a directory with `plugin.yaml`, a packed bundle, `oci://…`, or an installed bundle"));
        };
        for warning in &bundle.warnings {
            say(&format!("warning: `{reference}`: {warning}"));
        }
        if bundles.insert(bundle.name().to_owned(), bundle).is_some() {
            return Err(AppError::usage(format!("`{reference}` is a second bundle of the same name"))
                .hint("an image has one bundle of each name"));
        }
    }
    Ok(bundles.into_values().collect())
}

/// The image, and the size of its archive, if it is one.
async fn baked(args: &BakeArgs, client: &Client, bundles: &[Bundle]) -> Result<(RawManifest, u64), AppError> {
    let told = |error: RegistryError| registry_error(&error);
    if Path::new(&args.base).exists() {
        let opened = open_layout(Path::new(&args.base), None)
            .map_err(|cause| told(cause.of(format!("read the base image `{}`", args.base))))?;
        let layout = opened.layout().clone();
        let entries =
            layout.entries().map_err(|cause| told(cause.of(format!("read the base image `{}`", args.base))))?;
        let [entry] = entries.as_slice() else {
            return Err(AppError::usage(format!("`{}` holds {} images, and one is wanted", args.base, entries.len()))
                .hint("save the one that is meant alone, for example with `skopeo copy`"));
        };
        let place = ImagePlace::Layout(layout);
        let root = place.manifest(&entry.descriptor).await.map_err(told)?;
        return extended(args, client, bundles, &place, root).await;
    }
    let reference: Reference = args.base.parse().map_err(|error| {
        AppError::usage(format!("the base image `{}` is neither a file nor a reference to a registry", args.base))
            .because(&error)
            .hint("name an OCI archive, or an image with its registry, such as `registry.example.com/plumbline:v1`")
    })?;
    let root = client.manifest(&reference).await.map_err(told)?;
    extended(args, client, bundles, &ImagePlace::Registry(client.clone(), reference), root).await
}

async fn extended(
    args: &BakeArgs,
    client: &Client,
    bundles: &[Bundle],
    place: &ImagePlace,
    root: RawManifest,
) -> Result<(RawManifest, u64), AppError> {
    let told = |error: RegistryError| registry_error(&error);
    let base = Image::read(place, root, args.platform.as_ref()).await.map_err(|error| {
        told(error).hint("the base is an image of plumbline: the one that runs name with `--image`; `--platform linux/amd64` chooses one of several")
    })?;
    let addition = addition(&base, bundles).map_err(|cause| told(cause.of("put the bundles into a layer")))?;
    if let Some(to) = &args.push {
        let to = registry::reference(to)?;
        let named = to
            .with_tag(to.tag_or_default())
            .map_err(|error| AppError::usage(format!("failed to push to `{to}`")).because(&error))?;
        let image = base.append(&addition, &ImagePlace::Registry(client.clone(), named.clone())).await.map_err(told)?;
        client.put_manifest(&named, &image).await.map_err(told)?;
        return Ok((image, 0));
    }
    let Some(output) = &args.output else { return Err(AppError::usage("nothing says where the image is to go")) };
    let scratch = tempfile::tempdir().map_err(|error| AppError::system("nothing can be baked").because(&error))?;
    let failed = |cause: Cause| told(cause.of(format!("write the image `{}`", output.display())));
    let layout = Layout::create(scratch.path()).map_err(failed)?;
    let image = base.append(&addition, &ImagePlace::Layout(layout.clone())).await.map_err(told)?;
    list_image(&layout, &image, &base, &args.tag).map_err(failed)?;
    let bytes = write_archive(&layout, output).map_err(failed)?;
    Ok((image, bytes))
}

/// The layer with the bundles, and what the image then says of itself.
fn addition(base: &Image, bundles: &[Bundle]) -> Result<Addition, Cause> {
    let mut there: BTreeMap<String, String> = base
        .label(LABEL)
        .into_iter()
        .flat_map(|label| label.split(','))
        .filter_map(|entry| entry.trim().split_once('@'))
        .map(|(name, digest)| (name.to_owned(), digest.to_owned()))
        .collect();
    let root = BAKED_BUNDLES_DIR.trim_start_matches('/');
    let mut layer = LayerBuilder::default();
    for bundle in bundles {
        let dir = format!("{root}/{}", bundle.name());
        // A file that the newer bundle has no more would still be seen, and the digest be another.
        if there.insert(bundle.name().to_owned(), bundle.digest().to_string()).is_some() {
            layer.hide(&dir)?;
        }
        for file in &bundle.files {
            layer.file(&format!("{dir}/{}", file.name), &bundle.dir.join(&file.name), file.executable)?;
        }
    }
    let names: Vec<_> = bundles.iter().map(|bundle| format!("{}@{}", bundle.name(), bundle.digest())).collect();
    let label: Vec<_> = there.iter().map(|(name, digest)| format!("{name}@{digest}")).collect();
    Ok(Addition {
        layer: layer.write()?,
        created_by: format!("plumbline plugin bake {}", names.join(" ")),
        labels: BTreeMap::from([(LABEL.to_owned(), label.join(","))]),
    })
}
