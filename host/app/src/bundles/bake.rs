//! Bakes bundles into container images.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use plumbline_bundle::Bundle;
use plumbline_bundle::built_in::Environment;
use plumbline_kubernetes::names::BAKED_BUNDLES_DIR;
use plumbline_registry::{
    Cause, Client, Image, ImageName, LayerBuilder, Layout, NewLayer, Platform, RawManifest, Reference, Storage,
    list_image, open_layout, write_archive,
};

use crate::context::Context;
use crate::error::{AppError, Explain as _};
use crate::files;
use crate::runtime::runtime;
use crate::sources::{self, registry};

/// The label of images with their bundles: `NAME@sha256:…`, separated by commas.
const LABEL: &str = "org.plumbline.bundles";

/// Which bundles are baked into which image.
#[derive(Debug, Clone, clap::Args)]
pub struct BakeOptions {
    /// Bundles to add: directories, packed bundles, `oci://…`, or names of installed bundles
    #[arg(value_name = "REF", required = true)]
    pub references: Vec<String>,
    /// Base image: an image in a registry, or an OCI layout (a directory, or a tar of one)
    #[arg(long, value_name = "IMAGE|OCI-ARCHIVE")]
    pub base: String,
    /// Platform to take from a multi-platform base image, such as `linux/amd64`
    #[arg(long, value_name = "PLATFORM")]
    pub platform: Option<Platform>,
    /// Write the image to this file, as an OCI archive that nodes and container engines import
    #[arg(short, long, value_name = "FILE.tar", required_unless_present = "push")]
    pub file: Option<PathBuf>,
    /// Name of the image in the archive
    #[arg(long, value_name = "NAME", default_value = "localhost/plumbline:baked", requires = "file")]
    pub tag: ImageName,
    /// Push the image to a registry: `oci://HOST[:PORT]/NAME[:TAG]`
    #[arg(long, value_name = "OCI", conflicts_with = "file")]
    pub push: Option<String>,
}

/// An image with bundles.
pub struct BakedImage {
    /// The bundles.
    pub bundles: Vec<Bundle>,
    /// The manifest of the image.
    pub image: RawManifest,
    /// The size of the archive; 0 if the image was pushed.
    pub bytes: u64,
}

/// Adds a layer with bundles to an image.
pub fn bake(context: &Context, options: &BakeOptions) -> Result<BakedImage, AppError> {
    let bundles = bundles(context, &options.references)?;
    let client = registry::client(context)?;
    let (image, bytes) = runtime()?.block_on(baked(options, &client, &bundles))?;
    Ok(BakedImage { bundles, image, bytes })
}

/// Finds the bundles. An image can have one of each name.
fn bundles(context: &Context, references: &[String]) -> Result<Vec<Bundle>, AppError> {
    let mut bundles: BTreeMap<String, Bundle> = BTreeMap::new();
    for reference in references {
        let found = sources::find(context, reference, Environment::Cluster)?;
        let Some(bundle) = found.bundle()? else {
            return Err(AppError::usage(format!("`{reference}` is not a bundle, so there is nothing to bake"))
                .hint("pass a directory with `plugin.yaml`, a packed bundle, `oci://…`, or an installed bundle"));
        };
        for warning in &bundle.warnings {
            context.reporter.warning(&format!("`{reference}`: {warning}"));
        }
        if bundles.insert(bundle.name().to_owned(), bundle).is_some() {
            return Err(AppError::usage(format!("`{reference}` has the same name as another bundle of this command"))
                .hint("an image has one bundle of each name"));
        }
    }
    Ok(bundles.into_values().collect())
}

async fn baked(options: &BakeOptions, client: &Client, bundles: &[Bundle]) -> Result<(RawManifest, u64), AppError> {
    // Open until the image is written.
    let opened;
    let (place, root) = if Path::new(&options.base).exists() {
        let unreadable = |cause: Cause| AppError::from(cause.of(format!("read the base image `{}`", options.base)));
        opened = open_layout(Path::new(&options.base), None).map_err(unreadable)?;
        let layout = opened.layout().clone();
        let entries = layout.entries().map_err(unreadable)?;
        let [entry] = entries.as_slice() else {
            return Err(AppError::usage(format!("`{}` has {} images: expected one", options.base, entries.len()))
                .hint("save one image alone, for example with `skopeo copy`"));
        };
        let place = Storage::Layout(layout);
        let root = place.manifest(&entry.descriptor).await?;
        (place, root)
    } else {
        let what = format!("the base image `{}` is neither a file nor a reference to a registry", options.base);
        let reference: Reference =
            options.base.parse().usage_error(what).hint(
                "pass an OCI archive, or an image with its registry, such as `registry.example.com/plumbline:v1`",
            )?;
        let root = client.manifest(&reference).await?;
        (Storage::Registry(client.clone(), reference), root)
    };
    let base = Image::read(&place, root, options.platform.as_ref()).await.map_err(|error| {
        AppError::from(error).hint("use a Plumbline image as base: the one that runs use with `--image`; choose one of several platforms with `--platform linux/amd64`")
    })?;
    let addition =
        addition(&base, bundles).map_err(|cause| AppError::from(cause.of("put the bundles into a layer")))?;
    if let Some(to) = &options.push {
        let to = registry::reference(to)?;
        let named = to
            .with_tag(to.tag_or_default())
            .usage_error(format_args!("failed to push to `{to}`"))
            .hint("write a reference such as `oci://HOST/NAME:TAG`")?;
        let image = base.append(&addition, &Storage::Registry(client.clone(), named.clone())).await?;
        client.put_manifest(&named, &image).await?;
        return Ok((image, 0));
    }
    let Some(output) = &options.file else {
        return Err(AppError::usage("the image has no destination")
            .hint("set a file with `--file`, or a registry with `--push`"));
    };
    let scratch = files::scratch()?;
    let failed = |cause: Cause| AppError::from(cause.of(format!("write the image `{}`", output.display())));
    let layout = Layout::create(scratch.path()).map_err(failed)?;
    let image = base.append(&addition, &Storage::Layout(layout.clone())).await?;
    list_image(&layout, &image, &base, &options.tag).map_err(failed)?;
    let bytes = write_archive(&layout, output).map_err(failed)?;
    Ok((image, bytes))
}

fn addition(base: &Image, bundles: &[Bundle]) -> Result<NewLayer, Cause> {
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
        // Files that the new bundle does not have would change its digest.
        if there.insert(bundle.name().to_owned(), bundle.digest().to_string()).is_some() {
            layer.hide(&dir)?;
        }
        for file in &bundle.files {
            layer.file(&format!("{dir}/{}", file.name), &bundle.dir.join(&file.name), file.executable)?;
        }
    }
    let names: Vec<_> = bundles.iter().map(|bundle| format!("{}@{}", bundle.name(), bundle.digest())).collect();
    let label: Vec<_> = there.iter().map(|(name, digest)| format!("{name}@{digest}")).collect();
    Ok(NewLayer {
        layer: layer.write()?,
        created_by: format!("plumbline plugin bake {}", names.join(" ")),
        labels: BTreeMap::from([(LABEL.to_owned(), label.join(","))]),
    })
}
