//! Checks whether the images of a run are in a registry.

use std::collections::HashSet;
use std::path::PathBuf;

use plumbline_conformance::images::{Prefix, Source, State, compare, rewrite};
use plumbline_registry::{Cause, Client};

use crate::context::Context;
use crate::error::AppError;
use crate::images::copy::{entries, open};
use crate::images::question::reference;
use crate::images::{ImageOptions, SelectedImages, ask_suite, select};
use crate::runtime::runtime;
use crate::sources::registry;

/// Where images are looked up, and with which they are compared.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct CheckOptions {
    /// Where to look for the images, as for `run --registry` [default: the registry of each image]
    #[arg(long = "registry", value_name = "PREFIX")]
    pub prefix: Option<Prefix>,
    /// Compare with the images of this OCI layout: a directory, or a tar
    #[arg(long, value_name = "FILE.tar|DIR", conflicts_with_all = ["images", "plugins", "kubernetes_version", "suite_list"])]
    pub from: Option<PathBuf>,
    /// Report only missing images; contact no other registry
    #[arg(long, conflicts_with = "from", requires = "prefix")]
    pub offline: bool,
}

/// An image, and its state in the registry.
pub struct CheckedImage {
    /// The name of the image.
    pub image: String,
    /// Its name in the registry.
    pub target: String,
    /// The state that was found.
    pub state: State,
}

/// Looks up the images in the registry, and compares them with the originals. If only the suite cannot
/// be asked for the images of its tests, that is an error unless an image is missing.
pub fn check(context: &Context, images: &ImageOptions, options: &CheckOptions) -> Result<Vec<CheckedImage>, AppError> {
    if let Some(path) = &options.from {
        // Open until all images are compared.
        let opened = open(path)?;
        let images = entries(context, opened.layout(), path)?;
        let images = images.into_iter().map(|(name, from)| (name, Some(from))).collect();
        return runtime()?.block_on(async { look_up(&registry::client(context)?, context, options, images).await });
    }
    let selected = select(context, images)?;
    let mut unasked = None;
    let found = runtime()?.block_on(async {
        let client = registry::client(context)?;
        let images = run_images(context, (images, options), &client, selected, &mut unasked).await?;
        look_up(&client, context, options, images).await
    })?;
    match unasked {
        // A missing image is an answer. Without one, the question remains open.
        Some(error) if !found.iter().any(|one| matches!(one.state, State::Missing)) => return Err(error),
        Some(_) => context.reporter.progress("the suite's images are not checked: its own image does not list them"),
        None => {}
    }
    Ok(found)
}

/// The images of a run, and their own registries if they are compared. `unasked` is set if the
/// suite cannot be asked for the images of its tests.
async fn run_images(
    context: &Context,
    (images, options): (&ImageOptions, &CheckOptions),
    client: &Client,
    mut selected: SelectedImages,
    unasked: &mut Option<AppError>,
) -> Result<Vec<(String, Option<Source>)>, AppError> {
    // The suite's image comes from that registry, because others may be unreachable.
    let behind = options.prefix.as_ref();
    for suite in &std::mem::take(&mut selected.ask) {
        let asked = ask_suite(context, images, client, suite, behind, &mut selected.set).await;
        *unasked = asked.err().or(unasked.take());
    }
    // Without a prefix, there is nothing to compare with.
    let from = |image: &str| match options.offline || options.prefix.is_none() {
        true => Ok(None),
        false => reference(image).map(|reference| Some(Source::Registry(reference))),
    };
    selected.set.images().into_iter().map(|one| Ok((one.image.clone(), from(&one.image)?))).collect()
}

/// Looks up the images one after the other, with two small requests each.
async fn look_up(
    client: &Client,
    context: &Context,
    options: &CheckOptions,
    images: Vec<(String, Option<Source>)>,
) -> Result<Vec<CheckedImage>, AppError> {
    let mut silent: HashSet<String> = HashSet::new();
    // Registries that do not answer are not asked again, because each request takes as long as the
    // first.
    let mut gone: HashSet<String> = HashSet::new();
    let mut found = Vec::new();
    for (image, from) in images {
        let target = options.prefix.as_ref().map_or_else(|| image.clone(), |prefix| rewrite(&image, prefix));
        let reference = reference(&target)?;
        let host = match &from {
            Some(Source::Registry(reference)) => Some(client.mirrored(reference).registry().to_owned()),
            _ => None,
        };
        let from = from.filter(|_| host.as_ref().is_none_or(|host| !silent.contains(host)));
        let asked = client.mirrored(&reference).registry().to_owned();
        let state = if gone.contains(&asked) {
            let cause = Cause::Connection(format!("`{asked}` is unreachable, and was not tried again"));
            State::Unknown(cause.of(format!("look for `{target}`")))
        } else {
            compare(client, from.as_ref(), &reference).await
        };
        if let State::Unknown(error) = &state
            && State::is_out_of_reach(error)
        {
            gone.insert(asked);
        }
        if let (State::There(_, Some(error)), Some(host)) = (&state, host)
            && State::is_out_of_reach(error)
        {
            context
                .reporter
                .progress(&format!("`{host}` is unreachable: images are not compared with it ({})", error.cause));
            silent.insert(host);
        }
        found.push(CheckedImage { image, target, state });
    }
    Ok(found)
}

impl CheckedImage {
    /// The state as a word for programs and as a line for people.
    pub fn describe(&self) -> (&'static str, String) {
        let Self { image, target, state } = self;
        match state {
            State::Same(digest) => ("same", format!("same: `{target}` is {digest}")),
            State::There(digest, _) => ("present", format!("present: `{target}` is {digest}")),
            State::Missing => ("missing", format!("missing: `{target}`")),
            State::Differs { there, wanted } => {
                ("different", format!("different: `{target}` is {there}, and `{image}` is {wanted}"))
            }
            State::Unknown(error) => {
                ("unknown", format!("unknown: `{target}`: failed to {}: {}", error.what, error.cause))
            }
        }
    }
}
