//! SourceKind names of tests are from.

use std::error::Error;
use std::io::{self, Read};
use std::path::Path;

use plumbline_app::AppError;
use plumbline_app::runtime::runtime;
use plumbline_app::sources::url;
use plumbline_conformance::lists::{
    ListError, MAX_PACKED, TestList, embedded_for, embedded_versions, parse, read_dir, read_file, resolve,
};
use plumbline_kubernetes::{Cluster, ConnectOptions};

use super::{archive, image};
use crate::args::E2eArgs;
use plumbline_app::Context;

/// Versions that stand for one that is found out.
const AUTO: &str = "auto";
/// Versions that users of Sonobuoy write, and that stand for the latest that is known.
const LATEST: [&str; 2] = ["latest", "ignore"];

/// The list that the arguments name. Says so if it is that of another version than asked for.
pub(super) fn read(context: &Context, args: &E2eArgs) -> Result<TestList, AppError> {
    let version = version(args)?;
    let version = version.as_deref();
    let list = match args.input.as_str() {
        "offline" => embedded_for(version).map_err(|error| offline(&error))?,
        "online" => by_version(context, &args.url, version)?,
        "-" => {
            let mut bytes = Vec::new();
            let read = io::stdin().lock().take(MAX_PACKED + 1).read_to_end(&mut bytes);
            read.map_err(|error| AppError::usage("failed to read standard input").because(&error))?;
            parse(&bytes, "", "standard input").map_err(|error| failed("standard input", &error))?
        }
        input if image::is_image(input) => image::read(context, args, version)?,
        input if url::is_url(input) => match input.ends_with(".gz") || input.ends_with(".txt") {
            true => parse(&fetch(context, input).map_err(|error| failed(input, &error))?, "", input)
                .map_err(|error| failed(input, &error))?,
            false => by_version(context, input, version)?,
        },
        input => from_path(context, input, version)?,
    };
    if let Some(warning) = version.and_then(|version| list.stands_in_for(version)) {
        context.reporter.warning(&warning.to_string());
    }
    Ok(list)
}

fn from_path(context: &Context, input: &str, version: Option<&str>) -> Result<TestList, AppError> {
    let path = Path::new(input);
    if !path.exists() {
        return Err(AppError::usage(format!("`--input {input}` is neither a file or directory nor an address")).hint(
            "it can be `offline`, `online`, `-`, a list of tests, a directory of lists `VERSION.gz`, the address of either, an archive, or `image`",
        ));
    }
    if archive::is_archive(path) {
        return archive::read(context, path);
    }
    let list = if path.is_dir() { read_dir(path, version.unwrap_or_default()) } else { read_file(path) };
    list.map_err(|error| failed(input, &error))
}

/// The list of a version at an address below which there is one for each.
fn by_version(context: &Context, base: &str, version: Option<&str>) -> Result<TestList, AppError> {
    let Some(version) = version else {
        return Err(AppError::usage(format!("of which version the tests at `{base}` are wanted is not said"))
            .hint("add `--version v1.30.2`, or `--version auto` to ask the cluster"));
    };
    let base = base.trim_end_matches('/');
    let list = resolve(version, base, &mut |version| fetch(context, &format!("{base}/{version}.gz")).map(Some));
    list.map_err(|error| failed(base, &error))
}

fn fetch(context: &Context, address: &str) -> Result<Vec<u8>, ListError> {
    let failed = |cause: String| ListError::Read { place: address.to_owned(), error: io::Error::other(cause) };
    let limit = usize::try_from(MAX_PACKED).unwrap_or(usize::MAX);
    match url::get(context, address, limit) {
        Ok(got) => got.map_err(failed),
        Err(error) => Err(failed(error.to_string())),
    }
}

fn failed(place: &str, error: &dyn Error) -> AppError {
    AppError::usage(format!("there are no tests to list from `{place}`"))
        .because(error)
        .hint("`--input offline` needs no network and no file")
}

fn offline(error: &ListError) -> AppError {
    let told = AppError::usage("there are no tests to list").because(error);
    match (error, embedded_versions().next()) {
        (ListError::Unknown { .. }, Some(oldest)) => told.hint(format!(
            "`--input online` fetches lists of more versions, `--input image` asks the suite itself; the oldest one here is `--version {oldest}`"
        )),
        _ => told.hint("a version is written as `v1.30.2`"),
    }
}

/// The version that was asked for; of the cluster, if that was asked for.
fn version(args: &E2eArgs) -> Result<Option<String>, AppError> {
    match args.version.as_deref() {
        None => Ok(None),
        Some(version) if LATEST.contains(&version) => Ok(None),
        Some(AUTO) => {
            let options = ConnectOptions { kubeconfig: args.kubeconfig.clone(), context: args.context.clone() };
            let found = runtime()?.block_on(async { Cluster::connect(&options).await?.version().await });
            found.map(|version| Some(version.image_version())).map_err(|error| AppError::cluster(&error))
        }
        Some(version) => Ok(Some(version.to_owned())),
    }
}
