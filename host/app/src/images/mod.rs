//! The images of a run: those that its plugins name, Plumbline's own, and those that the program of the
//! suite lists; and their copies in registries, layouts and archives.

mod check;
mod copy;
mod question;

use std::path::{Path, PathBuf};

use plumbline_bundle::built_in::Environment;
use plumbline_bundle::profile::Listing;
use plumbline_conformance::images::{
    Event, ImageSet, Job, Outcome, Prefix, SetError, TransferResult, images_of, is_suite, rewrite, transfer,
};
use plumbline_conformance::suite::{BUILT_IN_IMAGE, image_of_latest};
use plumbline_core::config::Config;
use plumbline_core::definition::{Definition, K8S_VERSION_VARIABLE};
use plumbline_core::size::Bytes;
use plumbline_kubernetes::{Cluster, ConnectOptions, ServerVersion};
use plumbline_registry::{Client, Platform};

use crate::context::Context;
use crate::error::{AppError, CHECK_FILE, Explain as _};
use crate::files::read_input_text;
use crate::manifest::in_time;
use crate::profiles::{self, SuiteImages};
use crate::runtime::{one_thread, runtime};
use crate::sources::{self, SourceKind, registry};
use crate::suite::{LATEST, default_plugins, latest, with_default_plugins};

pub use check::{CheckOptions, CheckedImage, check};
pub(crate) use copy::lock;
pub use copy::{LoadJobs, Saved, copy_jobs, load_jobs, pull, push_jobs, save, save_jobs};
pub(crate) use question::{Question, ask, not_allowed, reference};

const MAX_LIST: u64 = 4 << 20;

const SET: &str = "Image selection";

/// Which images are selected.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct ImageOptions {
    /// Use these images instead of those of a run
    #[arg(value_name = "IMAGE", conflicts_with_all = ["plugins", "set", "kubernetes_version", "conformance_image", "own_image", "suite_list", "run_program", "repo_config"])]
    pub images: Vec<String>,
    /// The plugins of the run.
    #[arg(short, long = "plugin", value_name = "NAME|FILE|DIR|URL", help_heading = SET, help = with_default_plugins("Plugin of the run, as for `run --plugin`; repeatable"))]
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
    /// Run the program of a plugin that is not built in, to list the images of its tests
    #[arg(long, help_heading = SET)]
    pub run_program: bool,
    /// File with the registries that the suite uses; lists its images under their names there
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
    /// The images of suites whose programs must be asked for more images.
    pub(super) ask: Vec<AskedImage>,
}

/// The image of a suite that uses more images.
pub(super) struct AskedImage {
    image: String,
    /// The plugin that runs the suite.
    plugin: String,
    /// The image in the definition, which `image` may replace. `None` if the user names `image`.
    of_definition: Option<String>,
    /// The program in the image that lists them. `None` if no profile names one.
    program: Option<SuiteProgram>,
}

/// A program in the image of a suite, and whether it may run.
#[derive(Clone)]
struct SuiteProgram {
    listing: Listing,
    permission: Permission,
}

/// Whether a program may run if the user does not allow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Permission {
    /// It may, because the definition is built in.
    BuiltIn,
    /// It may if the image is that of the suite of Kubernetes, because the built-in profile names the
    /// program.
    ByImage,
    /// It may not, because a profile that is not built in names the program.
    Needed,
}

/// How the images that the tests of a plugin use become known.
enum TestImages {
    /// There are none, or the profile lists them.
    Listed,
    /// A program lists them. `None` if no profile names one.
    Asked(Option<SuiteProgram>),
}

/// Selects the images that the options and the plugins name.
pub(super) fn select(context: &Context, options: &ImageOptions) -> Result<SelectedImages, AppError> {
    let mut set = ImageSet::default();
    if !options.images.is_empty() {
        options.images.iter().try_for_each(|image| add(&mut set, image, "the command line"))?;
        return Ok(SelectedImages { set, version: None, ask: Vec::new() });
    }
    let definitions = plugins(context, options, &mut set)?;
    let needs = |(definition, _): &(Definition, TestImages)| {
        let given = options.conformance_image.is_some() && is_suite(definition);
        !given && images_of(definition, None).iter().any(|image| image.contains(K8S_VERSION_VARIABLE))
    };
    let version = if definitions.iter().any(needs) { Some(version(context, options)?) } else { None };
    let newest = options.kubernetes_version.as_deref() == Some(LATEST);
    let own = options.own_image.clone().unwrap_or_else(|| Config::default().worker_image);
    add(&mut set, &own, "plumbline")?;
    let mut ask = Vec::new();
    for (definition, tests) in definitions {
        let definition = &definition;
        let images = images_of(definition, version.as_deref());
        let of_suite = is_suite(definition);
        for (at, own) in images.iter().enumerate() {
            // The first image is that of the plugin's own container.
            let given = options.conformance_image.as_ref().filter(|_| of_suite && at == 0);
            let image = match given {
                Some(given) => given.clone(),
                None if of_suite && at == 0 && newest => image_of_latest(own).unwrap_or_else(|| own.clone()),
                None => own.clone(),
            };
            add(&mut set, &image, &format!("plugin {}", definition.name))?;
            if let TestImages::Asked(program) = &tests
                && at == 0
            {
                let of_definition = given.is_none().then(|| own.clone());
                let (plugin, program) = (definition.name.to_string(), program.clone());
                ask.push(AskedImage { image, plugin, of_definition, program });
            }
        }
    }
    if let Some(path) = &options.suite_list {
        set.add_list(&read_list(path)?, "suite").map_err(|error| app_error(&error))?;
        ask.clear();
    }
    Ok(SelectedImages { set, version, ask })
}

/// Finds the plugins, and adds the images that their profiles list. A suite may use more images.
fn plugins(
    context: &Context,
    options: &ImageOptions,
    set: &mut ImageSet,
) -> Result<Vec<(Definition, TestImages)>, AppError> {
    let default: Vec<String> = default_plugins()?.into_iter().map(str::to_owned).collect();
    let names = if options.plugins.is_empty() { &default[..] } else { &options.plugins };
    if let ([first, ..], [_, second, ..]) = (&options.set[..], names) {
        return Err(AppError::usage(format!("`--set {first}` is for a single plugin, but `{second}` is selected too"))
            .hint("list the images of each profile by itself"));
    }
    let mut definitions = Vec::new();
    for name in names {
        let plugin = sources::find(context, name, Environment::Cluster)?;
        let profile = profiles::images(&plugin, &options.set)?;
        if let (None, Some(option)) = (&profile, options.set.first()) {
            return Err(AppError::usage(format!("failed to set `{option}`: plugin `{name}` has no profile"))
                .hint("leave it out, or name a profile with `--plugin`"));
        }
        let own = profile.as_ref().map_or(plugin.source.definition.as_ref(), |profile| &profile.definition);
        let used_by = format!("plugin {}", own.name);
        let mut others = profile.iter().flat_map(|profile| &profile.others);
        others.try_for_each(|image| add(set, image, &used_by))?;
        let tests = test_images(own, profile.as_ref(), plugin.kind == SourceKind::BuiltIn)?;
        definitions.push((own.clone(), tests));
    }
    Ok(definitions)
}

/// How the images of the tests of a plugin become known: by its own profile, or else by the built-in
/// profile of the same suite.
fn test_images(
    definition: &Definition,
    profile: Option<&SuiteImages>,
    is_built_in: bool,
) -> Result<TestImages, AppError> {
    let lists_images = |listing: &Listing| !listing.images.is_empty();
    if let Some(listing) = profile.and_then(|own| own.listing.clone()).filter(lists_images) {
        let permission = if is_built_in { Permission::BuiltIn } else { Permission::Needed };
        return Ok(TestImages::Asked(Some(SuiteProgram { listing, permission })));
    }
    if profile.is_some_and(|own| !own.others.is_empty()) {
        return Ok(TestImages::Listed);
    }
    let built_in = profiles::built_in_listing(definition)?.filter(lists_images);
    // The definition chooses the image, and so the program in it.
    let permission = if is_built_in { Permission::BuiltIn } else { Permission::ByImage };
    let program = built_in.map(|listing| SuiteProgram { listing, permission });
    match program.is_some() || is_suite(definition) {
        true => Ok(TestImages::Asked(program)),
        false => Ok(TestImages::Listed),
    }
}

/// Asks the program in a suite's image for the images of its tests. With `behind`, the suite's image
/// is that in this registry.
pub(super) async fn ask_suite(
    context: &Context,
    options: &ImageOptions,
    client: &Client,
    asked: &AskedImage,
    behind: Option<&Prefix>,
    set: &mut ImageSet,
) -> Result<(), AppError> {
    let question = allowed_question(options, asked, behind)?;
    let image = behind.map_or_else(|| asked.image.clone(), |prefix| rewrite(&asked.image, prefix));
    let hint = without_program(question);
    let list = ask(context, client, &image, question, options.repo_config.as_deref(), &hint).await?;
    set.add_list(&list, "suite").map_err(|error| app_error(&error).hint(hint))
}

/// The question for the program that lists the images. Without a program that may run, nobody can list
/// them, which is an error. `behind` is the registry that the user names, if there is one.
fn allowed_question<'a>(
    options: &ImageOptions,
    asked: &'a AskedImage,
    behind: Option<&Prefix>,
) -> Result<Question<'a>, AppError> {
    let unknown = || format!("the images of the tests of plugin `{}` are unknown", asked.plugin);
    let Some(SuiteProgram { listing, permission }) = &asked.program else {
        return Err(AppError::usage(unknown())
            .cause("no profile names a program in the image of the suite that lists them")
            .hint("pass them with `--list FILE`: the output of `e2e.test --list-images` in the suite's image"));
    };
    let question = Question { program: &listing.program, args: &listing.images };
    let may_run = match permission {
        Permission::BuiltIn => true,
        Permission::ByImage => asked.of_definition.as_ref().is_none_or(|image| is_default_image(image, behind)),
        Permission::Needed => false,
    };
    match may_run || options.run_program {
        true => Ok(question),
        false => Err(not_allowed(unknown(), question, &without_program(question))),
    }
}

/// Whether `image` is that of the suite of Kubernetes, in its own registry or in `behind`.
fn is_default_image(image: &str, behind: Option<&Prefix>) -> bool {
    let is_of = |repository: &str| {
        image.strip_prefix(repository).is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '@']))
    };
    is_of(BUILT_IN_IMAGE) || behind.is_some_and(|prefix| is_of(&rewrite(BUILT_IN_IMAGE, prefix)))
}

fn without_program(question: Question<'_>) -> String {
    format!("pass the suite's images with `--list FILE`: the output of `{}` in the suite's image", question.command())
}

fn add(set: &mut ImageSet, image: &str, used_by: &str) -> Result<(), AppError> {
    set.add(image, used_by).map_err(|error| app_error(&error))
}

fn app_error(error: &SetError) -> AppError {
    AppError::usage("failed to list the images").because(error).hint("correct the image where it is set")
}

fn read_list(path: &Path) -> Result<String, AppError> {
    let text = read_input_text(path, MAX_LIST + 1)
        .usage_error(format_args!("failed to read the list of images `{}`", path.display()))
        .hint(CHECK_FILE)?;
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
    match runtime.block_on(in_time(async { Cluster::connect(&cluster).await?.version().await })) {
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

/// Selects the images of a run, and asks the suite for those of its tests.
pub fn list(context: &Context, options: &ImageOptions) -> Result<SelectedImages, AppError> {
    let mut selected = select(context, options)?;
    let suites = std::mem::take(&mut selected.ask);
    if suites.is_empty() {
        return Ok(selected);
    }
    runtime()?.block_on(async {
        let client = registry::client(context)?;
        for suite in &suites {
            ask_suite(context, options, &client, suite, None, &mut selected.set).await?;
        }
        Ok::<_, AppError>(())
    })?;
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

#[cfg(test)]
mod tests {
    use plumbline_bundle::profile::ListingFormat;

    use super::*;

    #[test]
    fn a_program_that_no_built_in_profile_names_needs_permission() {
        let listing = Listing {
            program: "bin/toys".to_owned(),
            tests: Vec::new(),
            required: Vec::new(),
            images: vec!["--images".to_owned()],
            format: ListingFormat::Lines,
        };
        let asked = |program| AskedImage {
            image: "r.example/toys:1".to_owned(),
            plugin: "toys".to_owned(),
            of_definition: Some("r.example/toys:1".to_owned()),
            program,
        };
        let program = |permission| asked(Some(SuiteProgram { listing: listing.clone(), permission }));
        let options = ImageOptions::default();
        let allowed = ImageOptions { run_program: true, ..ImageOptions::default() };
        let command = |options: &ImageOptions, asked: &AskedImage| {
            allowed_question(options, asked, None).map(|question| question.command())
        };
        assert_eq!(command(&options, &program(Permission::BuiltIn)).unwrap(), "toys --images");
        assert_eq!(command(&allowed, &program(Permission::Needed)).unwrap(), "toys --images");
        assert_eq!(command(&allowed, &program(Permission::ByImage)).unwrap(), "toys --images");
        assert!(command(&options, &program(Permission::ByImage)).is_err());
        // The user names the image.
        let named = AskedImage { of_definition: None, ..program(Permission::ByImage) };
        assert!(command(&options, &named).is_ok());
        let error = command(&options, &program(Permission::Needed)).unwrap_err();
        assert_eq!(error.summary(), "the images of the tests of plugin `toys` are unknown");
        assert!(error.hint_text().unwrap().contains("add `--run-program`"));
        // The images of a suite without a program stay unknown, which is an error too.
        let error = command(&allowed, &asked(None)).unwrap_err();
        assert!(error.hint_text().unwrap().contains("`--list FILE`"));
    }

    #[test]
    fn only_the_image_of_kubernetes_is_the_default_one() {
        let lan: Prefix = "lan:5000/mirror".parse().unwrap();
        for image in ["registry.k8s.io/conformance:v1.30.2", "registry.k8s.io/conformance@sha256:0", BUILT_IN_IMAGE] {
            assert!(is_default_image(image, None) && is_default_image(image, Some(&lan)), "{image}");
        }
        let copied = "lan:5000/mirror/conformance:v1.30.2";
        assert!(is_default_image(copied, Some(&lan)) && !is_default_image(copied, None));
        for image in ["r.example/conformance:v1", "registry.k8s.io/conformance-x:v1", "registry.k8s.io/x/conformance"] {
            assert!(!is_default_image(image, Some(&lan)), "{image}");
        }
    }
}
