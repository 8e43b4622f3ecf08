//! The images of a run: those that its plugins name, Plumbline's own, and those that the program of the
//! suite lists; and their copies in registries, layouts and archives.

mod check;
mod copy;

use std::path::{Path, PathBuf};
use std::time::Duration;

use plumbline_bundle::built_in::Environment;
use plumbline_conformance::images::{
    Event, ImageSet, Job, Listing, Outcome, Prefix, ProgramError, SUITE_PROGRAM, SetError, TransferResult, images_of,
    is_suite, listing, local_platform, program, rewrite, transfer,
};
use plumbline_conformance::suite::image_of_latest;
use plumbline_core::config::Config;
use plumbline_core::definition::{Definition, K8S_VERSION_VARIABLE};
use plumbline_core::size::Bytes;
use plumbline_kubernetes::{Cluster, ClusterError, ConnectOptions, ServerVersion};
use plumbline_registry::{Client, Platform, Reference};

use crate::context::Context;
use crate::error::{AppError, CHECK_FILE, registry_error};
use crate::files::read_input_text;
use crate::modules::cache_root;
use crate::profiles;
use crate::runtime::{one_thread, runtime};
use crate::sources::{self, registry};
use crate::suite::{DEFAULT_PLUGINS, LATEST, latest};

pub use check::{CheckOptions, CheckedImage, check};
pub use copy::{LoadJobs, Saved, copy_jobs, load_jobs, pull, push_jobs, save, save_jobs};

/// The largest list of images, in bytes.
const MAX_LIST: u64 = 4 << 20;
/// How long the cluster may take to answer.
const TIMEOUT: Duration = Duration::from_secs(15);
/// The alternative to the suite's program, for hints.
const NO_PROGRAM: &str =
    "pass the suite's images with `--list FILE`: the output of `e2e.test --list-images` in the suite's image";

/// Heading of the options that select images.
const SET: &str = "Image selection";

/// Which images are selected.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct ImageOptions {
    /// Use these images instead of those of a run
    #[arg(value_name = "IMAGE", conflicts_with_all = ["plugins", "set", "kubernetes_version", "conformance_image", "own_image", "suite_list", "repo_config"])]
    pub images: Vec<String>,
    /// Plugin of the run, as for `run --plugin`; repeatable [default: `e2e` and `systemd-logs`]
    #[arg(short, long = "plugin", value_name = "NAME|FILE|DIR|URL", help_heading = SET)]
    pub plugins: Vec<String>,
    /// Set an option of the profile of the only plugin, such as its image; repeatable
    #[arg(long, value_name = "NAME=VALUE", requires = "plugins", help_heading = SET)]
    pub set: Vec<String>,
    /// Version of the suite, such as `v1.30.2`; `auto`: that of the cluster; `latest`: that of the
    /// latest build
    #[arg(long, value_name = "VERSION", help_heading = SET)]
    pub kubernetes_version: Option<String>,
    /// Image of the suite [default: `registry.k8s.io/conformance` of the version]
    #[arg(long = "kube-conformance-image", value_name = "IMAGE", help_heading = SET)]
    pub conformance_image: Option<String>,
    /// Image of the aggregator and the workers
    #[arg(long = "sonobuoy-image", visible_alias = "image", value_name = "IMAGE", help_heading = SET)]
    pub own_image: Option<String>,
    /// List of the suite's images, one per line (`-`: standard input), instead of asking the
    /// suite's image for it
    #[arg(long = "list", value_name = "FILE", help_heading = SET)]
    pub suite_list: Option<PathBuf>,
    /// Registries that the suite is configured with: lists its images under their names there
    #[arg(long = "e2e-repo-config", value_name = "FILE", help_heading = SET)]
    pub repo_config: Option<PathBuf>,
    /// Kubeconfig file of the cluster whose version to use
    #[arg(long, value_name = "FILE", help_heading = SET)]
    pub kubeconfig: Option<PathBuf>,
    /// Context in the kubeconfig
    #[arg(long, value_name = "NAME", help_heading = SET)]
    pub context: Option<String>,
}

/// The selected images.
pub struct SelectedImages {
    /// The images.
    pub set: ImageSet,
    /// The version of the suite, if images depend on it.
    pub version: Option<String>,
    /// The image of the suite, if its program must be asked for more images.
    pub(super) ask: Option<String>,
}

/// Selects the images that the options and the plugins name.
pub(super) fn select(context: &Context, options: &ImageOptions) -> Result<SelectedImages, AppError> {
    let mut set = ImageSet::default();
    if !options.images.is_empty() {
        options.images.iter().try_for_each(|image| add(&mut set, image, "the command line"))?;
        return Ok(SelectedImages { set, version: None, ask: None });
    }
    let definitions = plugins(context, options, &mut set)?;
    let needs = |definition: &Definition| {
        let given = options.conformance_image.is_some() && is_suite(definition);
        !given && images_of(definition, None).iter().any(|image| image.contains(K8S_VERSION_VARIABLE))
    };
    let version = if definitions.iter().any(needs) { Some(version(context, options)?) } else { None };
    let newest = options.kubernetes_version.as_deref() == Some(LATEST);
    let own = options.own_image.clone().unwrap_or_else(|| Config::default().worker_image);
    add(&mut set, &own, "plumbline")?;
    let mut suite = None;
    for definition in &definitions {
        let images = images_of(definition, version.as_deref());
        let of_suite = is_suite(definition);
        for (at, image) in images.iter().enumerate() {
            // The first image is that of the plugin's own container.
            let image = match &options.conformance_image {
                Some(given) if of_suite && at == 0 => given.clone(),
                None if of_suite && at == 0 && newest => image_of_latest(image).unwrap_or_else(|| image.clone()),
                _ => image.clone(),
            };
            add(&mut set, &image, &format!("plugin {}", definition.name))?;
            if of_suite && at == 0 {
                suite = Some(image);
            }
        }
    }
    let ask = match (&options.suite_list, suite) {
        (Some(path), _) => {
            set.add_list(&read_list(path)?, "suite").map_err(|error| app_error(&error))?;
            None
        }
        (None, suite) => suite,
    };
    Ok(SelectedImages { set, version, ask })
}

/// Finds the plugins, and adds the images that their profiles list.
fn plugins(context: &Context, options: &ImageOptions, set: &mut ImageSet) -> Result<Vec<Definition>, AppError> {
    let default = DEFAULT_PLUGINS.map(str::to_owned);
    let names = if options.plugins.is_empty() { &default[..] } else { &options.plugins };
    if let ([first, ..], [_, second, ..]) = (&options.set[..], names) {
        return Err(AppError::usage(format!("`--set {first}` is for a single plugin, but `{second}` is selected too"))
            .hint("list the images of each profile by itself"));
    }
    let mut definitions = Vec::new();
    for name in names {
        let plugin = sources::find(context, name, Environment::Cluster)?;
        let mut definition = plugin.source.definition.as_ref().clone();
        if let Some(images) = profiles::images(&plugin, &options.set)? {
            definition = images.definition;
            images.others.iter().try_for_each(|image| add(set, image, &format!("plugin {}", definition.name)))?;
        } else if let Some(option) = options.set.first() {
            return Err(AppError::usage(format!("failed to set `{option}`: plugin `{name}` has no profile"))
                .hint("leave it out, or name a profile with `--plugin`"));
        }
        definitions.push(definition);
    }
    Ok(definitions)
}

/// Asks the program in the suite's image for the images of its tests. With `behind`, the suite's
/// image is that in this registry.
pub(super) async fn ask_suite(
    context: &Context,
    options: &ImageOptions,
    client: &Client,
    image: &str,
    behind: Option<&Prefix>,
    set: &mut ImageSet,
) -> Result<(), AppError> {
    let image = behind.map_or_else(|| image.to_owned(), |prefix| rewrite(image, prefix));
    let registries = options.repo_config.as_deref();
    let list = ask(context, client, &image, Listing::Images, registries, NO_PROGRAM).await?;
    set.add_list(&list, "suite").map_err(|error| app_error(&error).hint(NO_PROGRAM))
}

fn add(set: &mut ImageSet, image: &str, used_by: &str) -> Result<(), AppError> {
    set.add(image, used_by).map_err(|error| app_error(&error))
}

fn app_error(error: &SetError) -> AppError {
    AppError::usage("failed to list the images").because(error).hint("correct the image where it is set")
}

fn read_list(path: &Path) -> Result<String, AppError> {
    let text = read_input_text(path, MAX_LIST + 1).map_err(|error| {
        AppError::usage(format!("failed to read the list of images `{}`", path.display()))
            .because(&error)
            .hint(CHECK_FILE)
    })?;
    if text.len() as u64 > MAX_LIST {
        return Err(AppError::usage(format!("the list of images `{}` has more than 4 MiB", path.display()))
            .hint("pass the output of `e2e.test --list-images`"));
    }
    Ok(text)
}

fn version(context: &Context, options: &ImageOptions) -> Result<String, AppError> {
    const HINT: &str = "set a version such as `v1.30.2` with `--kubernetes-version`";
    let runtime = one_thread()?;
    match options.kubernetes_version.as_deref() {
        None | Some("" | "auto") => {}
        Some(LATEST) => return runtime.block_on(latest(context)),
        Some(text) => {
            return ServerVersion::parse(text)
                .map(|version| version.image_version())
                .ok_or_else(|| AppError::usage(format!("invalid Kubernetes version `{text}`")).hint(HINT));
        }
    }
    let cluster = ConnectOptions { kubeconfig: options.kubeconfig.clone(), context: options.context.clone() };
    let asked = runtime.block_on(async {
        let asked = async { Cluster::connect(&cluster).await?.version().await };
        let late =
            || ClusterError::new("ask the cluster", format!("it did not respond within {} s", TIMEOUT.as_secs()));
        tokio::time::timeout(TIMEOUT, asked).await.unwrap_or_else(|_| Err(late()))
    });
    match asked {
        Ok(version) => Ok(version.image_version()),
        Err(error) => {
            let named = options.kubeconfig.is_some() || options.context.is_some();
            let failure = if named || options.kubernetes_version.is_some() {
                AppError::cluster(&error)
            } else {
                AppError::usage("the Kubernetes version of the images is unknown").because(&error)
            };
            Err(failure.hint(format!("{HINT}, or pass a cluster with `--kubeconfig`")))
        }
    }
}

/// Asks the program in `image` for a list. The program is third-party code that runs on this
/// machine, which is reported. `registries` is the file with registries for the program, `hint` the
/// alternative.
pub(crate) async fn ask(
    context: &Context,
    client: &Client,
    image: &str,
    what: Listing,
    registries: Option<&Path>,
    hint: &str,
) -> Result<String, AppError> {
    let reference: Reference = reference(image)?;
    let failed = |error: &ProgramError| match error {
        ProgramError::Image(error) => registry_error(error),
        ProgramError::Machine(_) => AppError::usage("failed to run the program of the suite").because(error).hint(hint),
        ProgramError::Cache { .. } => AppError::system(format!("failed to {error}")),
    };
    let platform = local_platform().map_err(|error| failed(&error))?;
    let cache = cache_root().ok_or_else(|| {
        AppError::usage("no directory for programs of images: the cache directory is unknown")
            .hint("set `HOME` or `XDG_CACHE_HOME`")
    })?;
    let found = program(client, &reference, &platform, SUITE_PROGRAM, &cache).await.map_err(|error| failed(&error))?;
    let from = if found.cached { "" } else { ", extracted from it" };
    context.reporter.progress(&format!(
        "`{image}` is {}: running its program on this machine{from}: `{} {}`",
        found.manifest,
        found.path.display(),
        what.argument()
    ));
    let listed = listing(&found.path, what, registries).await;
    listed.map_err(|error| AppError::system(format!("failed to {error}")).hint(hint))
}

pub(super) fn reference(text: &str) -> Result<Reference, AppError> {
    Reference::of_image(text).map_err(|error| {
        AppError::usage(format!("invalid image `{text}`"))
            .because(&error)
            .hint("write an image with its registry, such as `registry.example.com/name:tag`")
    })
}

/// Selects the images of a run, and asks the suite for those of its tests.
pub fn list(context: &Context, options: &ImageOptions) -> Result<SelectedImages, AppError> {
    let mut selected = select(context, options)?;
    if let Some(suite) = selected.ask.take() {
        runtime()?.block_on(async {
            let client = registry::client(context)?;
            ask_suite(context, options, &client, &suite, None, &mut selected.set).await
        })?;
    }
    Ok(selected)
}

/// Copies images, and reports each one that is done. The outcome of each is in the result.
pub fn copy(context: &Context, jobs: Vec<Job>, platform: Option<&Platform>) -> Result<Vec<TransferResult>, AppError> {
    runtime()?.block_on(async {
        let client = registry::client(context)?;
        Ok(copy_with(context, &client, jobs, platform).await)
    })
}

async fn copy_with(
    context: &Context,
    client: &Client,
    jobs: Vec<Job>,
    platform: Option<&Platform>,
) -> Vec<TransferResult> {
    let all = jobs.len();
    let mut done = 0;
    let mut watch = |event: Event<'_>| match event {
        Event::Done(moved) => {
            done += 1;
            context.reporter.progress(&format!("[{done}/{all}] {}", line(moved)));
        }
        Event::Progress(entries) => {
            for entry in entries {
                let of = if entry.total > 0 { format!(" of {}", Bytes(entry.total)) } else { String::new() };
                context.reporter.progress(&format!("  {}{of} of `{}`", Bytes(entry.done), entry.image));
            }
        }
    };
    transfer(client, jobs, platform, &mut watch).await
}

/// The image, and its name in the target if that differs, for messages.
pub fn named(image: &str, target: &str) -> String {
    if image == target { format!("`{image}`") } else { format!("`{image}` to `{target}`") }
}

fn line(moved: &TransferResult) -> String {
    let TransferResult { image, target, digest, whole, outcome } = moved;
    let named = named(image, target);
    let digest = digest.map(|digest| format!(" is {digest}")).unwrap_or_default();
    let whole = if *whole { ", for all platforms: it is named by its digest" } else { "" };
    match outcome {
        Outcome::Copied(copied) => format!("copied: {named}{digest} ({}){whole}", Bytes(copied.bytes)),
        Outcome::There => format!("already present: {named}{digest}{whole}"),
        Outcome::Failed(error) => format!("failed: {named}: failed to {}: {}", error.what, error.cause),
    }
}

fn is_complete(moved: &[TransferResult]) -> bool {
    !moved.iter().any(|one| matches!(one.outcome, Outcome::Failed(_)))
}
