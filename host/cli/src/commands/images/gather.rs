//! Which images are meant: what the plugins of a run name, this program's own, and what the suite's program lists.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use plumbline_app::runtime::one_thread;
use plumbline_app::{AppError, sources};
use plumbline_bundle::built_in::Place;
use plumbline_conformance::images::{ImageSet, Listing, Prefix, SetError, images_of, is_suite, rewrite};
use plumbline_conformance::suite::image_of_latest;
use plumbline_core::config::Config;
use plumbline_core::definition::{Definition, K8S_VERSION_VARIABLE};
use plumbline_kubernetes::{Cluster, ClusterError, ConnectOptions, ServerVersion};
use plumbline_registry::Client;

use super::ask;
use crate::args::ImageSetArgs;
use crate::commands::suite::{LATEST, latest};
use plumbline_app::Context;

/// Plugins of a run that names none, as Sonobuoy has them.
const DEFAULT_PLUGINS: [&str; 2] = ["e2e", "systemd-logs"];
/// A list of images: 40 lines.
const MAX_LIST: u64 = 4 << 20;
/// How long the cluster is asked for its version.
const PATIENCE: Duration = Duration::from_secs(15);
/// What else could be said in place of the suite's program.
const NO_PROGRAM: &str = "`--list FILE` takes the images of the suite from a file: what `e2e.test --list-images` prints in the suite's image";

/// The images, as far as they are known without asking the suite.
pub(super) struct Gathered {
    pub(super) set: ImageSet,
    /// The version whose suite is meant, if that was of any matter.
    pub(super) version: Option<String>,
    /// The image of the suite, if its program has to be asked for more.
    pub(super) ask: Option<String>,
}

/// What the command line and the plugins name.
pub(super) fn gather(context: &Context, args: &ImageSetArgs) -> Result<Gathered, AppError> {
    let mut set = ImageSet::default();
    if !args.images.is_empty() {
        args.images.iter().try_for_each(|image| add(&mut set, image, "the command line"))?;
        return Ok(Gathered { set, version: None, ask: None });
    }
    let definitions = plugins(context, args)?;
    let needs = |definition: &Definition| {
        let given = args.conformance_image.is_some() && is_suite(definition);
        !given && images_of(definition, None).iter().any(|image| image.contains(K8S_VERSION_VARIABLE))
    };
    let version = if definitions.iter().any(needs) { Some(version(context, args)?) } else { None };
    let newest = args.kubernetes_version.as_deref() == Some(LATEST);
    let own = args.own_image.clone().unwrap_or_else(|| Config::default().worker_image);
    add(&mut set, &own, "plumbline")?;
    let mut suite = None;
    for definition in &definitions {
        let images = images_of(definition, version.as_deref());
        let of_suite = is_suite(definition);
        for (at, image) in images.iter().enumerate() {
            // The first is the plugin's own container.
            let image = match &args.conformance_image {
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
    let ask = match (&args.suite_list, suite) {
        (Some(path), _) => {
            set.add_list(&read_list(path)?, "suite").map_err(|error| told(&error))?;
            None
        }
        (None, suite) => suite,
    };
    Ok(Gathered { set, version, ask })
}

/// The definitions that are meant.
fn plugins(context: &Context, args: &ImageSetArgs) -> Result<Vec<Definition>, AppError> {
    let default = DEFAULT_PLUGINS.map(str::to_owned);
    let names = if args.plugins.is_empty() { &default[..] } else { &args.plugins };
    names
        .iter()
        .map(|name| Ok(sources::find(context, name, Place::Cluster)?.source.definition.as_ref().clone()))
        .collect()
}

/// Asks the program in the suite's image for the images of its tests. With `behind`, the suite's image is taken from there.
pub(super) async fn ask_suite(
    context: &Context,
    args: &ImageSetArgs,
    client: &Client,
    image: &str,
    behind: Option<&Prefix>,
    set: &mut ImageSet,
) -> Result<(), AppError> {
    let image = behind.map_or_else(|| image.to_owned(), |prefix| rewrite(image, prefix));
    let registries = args.repo_config.as_deref();
    let list = ask(context, client, &image, Listing::Images, registries, NO_PROGRAM).await?;
    set.add_list(&list, "suite").map_err(|error| told(&error).hint(NO_PROGRAM))
}

fn add(set: &mut ImageSet, image: &str, used_by: &str) -> Result<(), AppError> {
    set.add(image, used_by).map_err(|error| told(&error))
}

fn told(error: &SetError) -> AppError {
    AppError::usage("failed to list the images").because(error)
}

fn read_list(path: &Path) -> Result<String, AppError> {
    let wrong = |error: &dyn std::error::Error| {
        AppError::usage(format!("failed to read the list of images `{}`", path.display())).because(error)
    };
    let mut text = String::new();
    if path == Path::new("-") {
        std::io::stdin().take(MAX_LIST + 1).read_to_string(&mut text).map_err(|error| wrong(&error))?;
    } else {
        let file = File::open(path).map_err(|error| wrong(&error))?;
        file.take(MAX_LIST + 1).read_to_string(&mut text).map_err(|error| wrong(&error))?;
    }
    if text.len() as u64 > MAX_LIST {
        return Err(AppError::usage(format!("the list of images `{}` has more than 4 MiB", path.display())));
    }
    Ok(text)
}

/// The version whose suite is meant.
fn version(context: &Context, args: &ImageSetArgs) -> Result<String, AppError> {
    const HINT: &str = "name a version such as `v1.30.2` with `--kubernetes-version`";
    let runtime = one_thread()?;
    match args.kubernetes_version.as_deref() {
        None | Some("" | "auto") => {}
        Some(LATEST) => return runtime.block_on(latest(context)),
        Some(text) => {
            return ServerVersion::parse(text).map(|version| version.image_version()).ok_or_else(|| {
                AppError::usage(format!("`{text}` is not a version of Kubernetes whose images are known")).hint(HINT)
            });
        }
    }
    let options = ConnectOptions { kubeconfig: args.kubeconfig.clone(), context: args.context.clone() };
    let asked = runtime.block_on(async {
        let asked = async { Cluster::connect(&options).await?.version().await };
        let late =
            || ClusterError::new("ask the cluster", format!("it did not answer within {} s", PATIENCE.as_secs()));
        tokio::time::timeout(PATIENCE, asked).await.unwrap_or_else(|_| Err(late()))
    });
    match asked {
        Ok(version) => Ok(version.image_version()),
        Err(error) => {
            let told = if args.kubeconfig.is_some() || args.context.is_some() || args.kubernetes_version.is_some() {
                AppError::cluster(&error)
            } else {
                AppError::usage("the version whose images are meant is not known").because(&error)
            };
            Err(told.hint(format!("{HINT}, or a cluster to ask with `--kubeconfig`")))
        }
    }
}
