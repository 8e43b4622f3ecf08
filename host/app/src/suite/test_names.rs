//! Reads the names of the suite's tests: from lists, archives, URLs, or the suite's image.

use std::error::Error;
use std::io::{self, Read};
use std::path::Path;

use plumbline_conformance::images::{Listing, suite_image};
use plumbline_conformance::lists::{
    ListError, MAX_PACKED, TestList, embedded_for, embedded_versions, from_program, parse, read_dir, read_file, resolve,
};
use plumbline_kubernetes::{Cluster, ConnectOptions};

use crate::context::Context;
use crate::error::AppError;
use crate::images::ask;
use crate::runtime::runtime;
use crate::sources::registry::client;
use crate::sources::url;
use crate::trees::{Reprocess, Trees};

/// The version that stands for that of the cluster.
const AUTO: &str = "auto";
/// Versions of Sonobuoy that stand for the latest one that is known.
const LATEST: [&str; 2] = ["latest", "ignore"];

/// The input that stands for the lists of this program.
const OFFLINE: &str = "offline";

/// Where the names of tests come from.
#[derive(Debug, Clone, Default)]
pub struct TestSource {
    /// `offline`, `online`, `-`, `image[:REFERENCE]`, a URL, or the path of a list, a directory of
    /// lists, or an archive.
    pub input: String,
    /// The version of Kubernetes; `auto` for that of the cluster. `None` for the latest that is
    /// known.
    pub version: Option<String>,
    /// The URL of lists for the input `online`.
    pub url: String,
    /// The cluster to ask for its version.
    pub cluster: ConnectOptions,
}

/// Reads the list of tests. Warns if it is that of another version than requested.
pub fn read(context: &Context, source: &TestSource) -> Result<TestList, AppError> {
    let version = version(source)?;
    let version = version.as_deref();
    let list = match source.input.as_str() {
        OFFLINE => embedded_for(version).map_err(|error| offline(&error))?,
        "online" => by_version(context, &source.url, version)?,
        "-" => {
            let mut bytes = Vec::new();
            let read = io::stdin().lock().take(MAX_PACKED + 1).read_to_end(&mut bytes);
            read.map_err(|error| {
                AppError::usage("failed to read standard input")
                    .because(&error)
                    .hint("pipe a list of tests to this command")
            })?;
            parse(&bytes, "", "standard input").map_err(|error| failed("standard input", &error))?
        }
        input if is_image(input) => from_image(context, source, version)?,
        input if url::is_url(input) => match input.ends_with(".gz") || input.ends_with(".txt") {
            true => parse(&fetch(context, input).map_err(|error| failed(input, &error))?, "", input)
                .map_err(|error| failed(input, &error))?,
            false => by_version(context, input, version)?,
        },
        input => from_path(context, input, version)?,
    };
    if let Some(warning) = version.and_then(|version| list.replacement_note(version)) {
        context.reporter.warning(&warning.to_string());
        if source.input == OFFLINE {
            context.reporter.hint("print the real list of a version with `--input image`, which asks the suite itself");
        }
    }
    Ok(list)
}

fn from_path(context: &Context, input: &str, version: Option<&str>) -> Result<TestList, AppError> {
    let path = Path::new(input);
    if !path.exists() {
        return Err(AppError::usage(format!("invalid `--input {input}`: it is not a file, a directory or a URL")).hint(
            "use `offline`, `online`, `-`, a list of tests, a directory of lists `VERSION.gz`, the URL of either, an archive, or `image`",
        ));
    }
    if is_archive(path) {
        return from_archive(context, path);
    }
    let list = if path.is_dir() { read_dir(path, version.unwrap_or_default()) } else { read_file(path) };
    list.map_err(|error| failed(input, &error))
}

/// Downloads the list of a version from a URL with a list for each version.
fn by_version(context: &Context, base: &str, version: Option<&str>) -> Result<TestList, AppError> {
    let Some(version) = version else {
        return Err(AppError::usage(format!("the version of the tests at `{base}` is not set"))
            .hint("add `--version v1.30.2`, or `--version auto` to ask the cluster"));
    };
    list_at(context, base, version).map_err(|error| failed(base.trim_end_matches('/'), &error))
}

/// Downloads the list of a version, or of one that stands in for it, from a URL with a list for each
/// version.
pub(crate) fn list_at(context: &Context, base: &str, version: &str) -> Result<TestList, ListError> {
    let base = base.trim_end_matches('/');
    resolve(version, base, &mut |version| fetch(context, &format!("{base}/{version}.gz")).map(Some))
}

fn fetch(context: &Context, address: &str) -> Result<Vec<u8>, ListError> {
    let limit = usize::try_from(MAX_PACKED).unwrap_or(usize::MAX);
    match url::get(context, address, limit) {
        Ok(got) => got.map_err(|cause| read_error(address, cause)),
        Err(error) => Err(read_error(address, error.to_string())),
    }
}

pub(crate) fn read_error(place: &str, cause: String) -> ListError {
    ListError::Read { place: place.to_owned(), error: io::Error::other(cause) }
}

fn failed(place: &str, error: &dyn Error) -> AppError {
    AppError::usage(format!("failed to list the tests of `{place}`"))
        .because(error)
        .hint("use `--input offline`, which needs no network and no file")
}

fn offline(error: &ListError) -> AppError {
    let failure = AppError::usage("failed to list the tests").because(error);
    match (error, embedded_versions().next()) {
        (ListError::Unknown { .. }, Some(oldest)) => failure.hint(format!(
            "download lists of more versions with `--input online`, or ask the suite's image with `--input image`; the oldest list in this program is `--version {oldest}`"
        )),
        _ => failure.hint("write a version such as `v1.30.2`"),
    }
}

/// The requested version, or that of the cluster.
fn version(source: &TestSource) -> Result<Option<String>, AppError> {
    match source.version.as_deref() {
        None => Ok(None),
        Some(version) if LATEST.contains(&version) => Ok(None),
        Some(AUTO) => {
            let options = &source.cluster;
            let found = runtime()?.block_on(async { Cluster::connect(options).await?.version().await });
            Ok(Some(found?.image_version()))
        }
        Some(version) => Ok(Some(version.to_owned())),
    }
}

/// The plugin whose results have the names of tests.
const PLUGIN: &str = "e2e";
/// The extensions of archives.
const ENDINGS: [&str; 3] = [".tar.gz", ".tgz", ".tar"];

/// Whether the path is an archive, or a directory like one.
fn is_archive(path: &Path) -> bool {
    match path.is_dir() {
        true => path.join("plugins").is_dir(),
        false => path.to_str().is_some_and(|name| ENDINGS.iter().any(|ending| name.ends_with(ending))),
    }
}

/// Reads the names of the leaves of plugin `e2e`, or of the only plugin.
fn from_archive(context: &Context, path: &Path) -> Result<TestList, AppError> {
    let mut trees = Trees::open(context, path, Reprocess::default())?;
    let plugins = trees.plugins();
    let plugin = match plugins.as_slice() {
        [only] => only.clone(),
        all if all.iter().any(|plugin| plugin == PLUGIN) => PLUGIN.to_owned(),
        all => {
            let there =
                if all.is_empty() { "it has none".to_owned() } else { format!("it has `{}`", all.join("`, `")) };
            return Err(AppError::usage(format!("archive `{}` has no plugin `{PLUGIN}`", path.display())).hint(there));
        }
    };
    let root = trees.item(&plugin)?;
    let source = format!("plugin `{plugin}` of `{}`", path.display());
    let list = TestList::new(
        "",
        root.leaves().filter(|item| !std::ptr::eq(*item, &root)).map(|item| item.name.as_str()),
        &source,
    );
    root.dismantle();
    if list.tests.is_empty() {
        return Err(AppError::usage(format!("{source} has no results with names of tests"))
            .hint("use the archive of a run of the suite"));
    }
    Ok(list)
}

/// The alternatives to the image, for hints.
const HINT: &str =
    "if the image is not available here, run `e2e.test --list-tests` elsewhere, and pipe its output to `--input -`";

/// Whether the input is `image` or `image:REFERENCE`.
fn is_image(input: &str) -> bool {
    input == "image" || input.starts_with("image:")
}

/// Asks the program in the image for its tests. It is third-party code that runs on this machine,
/// which is reported.
fn from_image(context: &Context, source: &TestSource, version: Option<&str>) -> Result<TestList, AppError> {
    let image = match (source.input.strip_prefix("image:"), version) {
        (Some(image), _) => image.to_owned(),
        (None, Some(version)) => suite_image(version),
        (None, None) => {
            return Err(AppError::usage("the version of the suite's image is not set")
                .hint("add `--version v1.30.2`, or `--version auto` to ask the cluster, or set the image: `--input image:REFERENCE`"));
        }
    };
    let output =
        runtime()?.block_on(async { ask(context, &client(context)?, &image, Listing::Tests, None, HINT).await })?;
    from_program(&output, version.unwrap_or_default(), &image)
        .map_err(|error| AppError::usage("the suite lists no tests").because(&error).hint(HINT))
}
