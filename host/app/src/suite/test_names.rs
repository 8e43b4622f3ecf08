//! Reads the names of the suite's tests: from lists, archives, URLs, or the suite's image.

use std::error::Error;
use std::io::{self, Read};
use std::path::Path;

use plumbline_bundle::profile::{ListingFormat, Profile};
use plumbline_conformance::lists::{
    Embedded, ListError, MAX_PACKED, Selection, TestList, is_suite_node, near, parse, read_dir, read_file, resolve,
};
use plumbline_kubernetes::{Cluster, ConnectOptions};

use crate::context::Context;
use crate::error::{AppError, Explain as _};
use crate::profiles::{BuiltInProfile, ask_tests, printed_tests};
use crate::report::text::name as printable;
use crate::runtime::runtime;
use crate::sources::url;
use crate::trees::{Reprocess, Trees};

/// The version that stands for that of the cluster.
pub const AUTO: &str = "auto";
/// Versions of Sonobuoy that stand for the latest one that is known.
const LATEST: [&str; 2] = ["latest", "ignore"];

/// The input that stands for the lists of this program, or of the bundle of a profile.
pub const OFFLINE: &str = "offline";

/// The input that stands for standard input.
pub const STDIN: &str = "-";

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

/// Reads the list of tests of a built-in profile. Warns if it is that of another version than
/// requested.
pub fn read(context: &Context, built_in: &BuiltInProfile, source: &TestSource) -> Result<TestList, AppError> {
    let version = version(source)?;
    let version = version.as_deref();
    let list = match source.input.as_str() {
        OFFLINE => {
            let lists = built_in.tests();
            lists.closest(version).map_err(|error| offline(&error, &lists))?
        }
        "online" => by_version(context, &source.url, version)?,
        STDIN => read_stdin(&built_in.profile)?,
        input if is_image(input) => from_image(context, built_in, image_of(input), version)?,
        input if url::is_url(input) => match input.ends_with(".gz") || input.ends_with(".txt") {
            true => list_behind(context, input)?,
            false => by_version(context, input, version)?,
        },
        input => from_path(context, built_in, input, version)?,
    };
    if let Some(warning) = version.and_then(|version| list.replacement_note(version)) {
        context.reporter.warning(&warning.to_string());
        if source.input == OFFLINE {
            context.reporter.hint("print the real list of a version with `--input image`, which asks the suite itself");
        }
    }
    Ok(list)
}

/// The name of standard input in messages.
const PIPE: &str = "standard input";

/// Reads from standard input what the program of the suite of `profile` prints, or a list of tests.
pub fn read_stdin(profile: &Profile) -> Result<TestList, AppError> {
    let mut bytes = Vec::new();
    let read = io::stdin().lock().take(MAX_PACKED + 1).read_to_end(&mut bytes);
    read.usage_error("failed to read standard input").hint("pipe a list of tests to this command")?;
    piped(profile, &bytes).map_err(|error| failed(PIPE, &*error))
}

fn piped(profile: &Profile, bytes: &[u8]) -> Result<TestList, Box<dyn Error>> {
    if bytes.len() as u64 > MAX_PACKED {
        return Err(ListError::TooLarge { place: PIPE.to_owned(), limit: "16 MiB" }.into());
    }
    // Compressed lists are not UTF-8.
    let Ok(text) = std::str::from_utf8(bytes) else { return Ok(parse(bytes, "", PIPE)?) };
    let text = text.trim_start_matches('\u{feff}');
    let format = match &profile.listing {
        Some(listing) if has_indented_names(text) => listing.format,
        _ => ListingFormat::Lines,
    };
    printed_tests(text, format, "", PIPE)
}

/// Whether all lines are indented, apart from headings, which end with a colon. Other texts are lists
/// of names, even if some of their lines are indented.
fn has_indented_names(text: &str) -> bool {
    let lines = || text.lines().filter(|line| !line.trim().is_empty());
    let is_indented = |line: &str| line.starts_with("    ");
    lines().any(is_indented) && lines().all(|line| is_indented(line) || line.trim_end().ends_with(':'))
}

/// Parses focus and skip.
pub fn selection(focus: Option<&str>, skip: Option<&str>) -> Result<Selection, AppError> {
    Selection::parse(focus, skip).map_err(|(what, error)| {
        AppError::usage(format!("`--{what}` is not a valid Go regular expression"))
            .because(&error)
            .hint("to match a name literally, put a backslash before `[ ] ( ) . * + ? | { } ^ $`")
    })
}

/// The tests that are selected. Without any, the error says why.
pub fn selected<'a>(
    list: &'a TestList,
    selection: &Selection,
    focus: Option<&str>,
    skip: Option<&str>,
) -> Result<Vec<&'a str>, AppError> {
    let selected: Vec<&str> = selection.select(&list.tests).collect();
    if selected.is_empty() { Err(nothing(list, focus, skip.unwrap_or_default())) } else { Ok(selected) }
}

fn nothing(list: &TestList, focus: Option<&str>, skip: &str) -> AppError {
    let of = of(list);
    let focused = Selection::parse(focus, None).map_or(0, |focus| focus.select(&list.tests).count());
    if focused > 0 {
        return AppError::usage(format!(
            "no test is left {of}: `--focus` selects {focused}, and `--skip` skips all of them"
        ))
        .hint(format!("leave `--skip '{skip}'` out, or make it match fewer tests"));
    }
    let focus = focus.unwrap_or_default();
    let error = AppError::usage(format!("the focus `{focus}` selects none {of}"));
    let near: Vec<String> =
        near(focus, list.tests.iter().map(String::as_str)).iter().map(|name| printable(name)).collect();
    match near.is_empty() {
        true => error
            .hint("`plumbline conformance tests` lists all names; with `--mode tags`, it lists the words in brackets"),
        false => error.hint(format!("similar tests:\n{}", near.join("\n"))),
    }
}

/// Formats the source of the list: `of the 7201 tests of v1.30.2 in …`.
fn of(list: &TestList) -> String {
    let version = if list.version.is_empty() { String::new() } else { format!(" of {}", list.version) };
    format!("of the {} tests{version} in {}", list.tests.len(), list.source)
}

/// Warns if the suite would select other tests: it matches expressions against the prefix of its profile
/// and the name of the test.
pub fn warn_of_anchors(
    context: &Context,
    profile: &Profile,
    selection: &Selection,
    list: &TestList,
    selected: &[&str],
) {
    let prefix = profile.name_prefix();
    let here = selected.iter().filter(|name| !is_suite_node(name)).count();
    let there = list.specs().filter(|test| selection.runs(prefix, test)).count();
    if here != there {
        context.reporter.warning(&format!(
            "with these expressions, the suite itself selects {there} tests, not {here}: it matches them against `{prefix}NAME`, so `^` matches before `{}`",
            prefix.trim_end()
        ));
    }
}

fn from_path(
    context: &Context,
    built_in: &BuiltInProfile,
    input: &str,
    version: Option<&str>,
) -> Result<TestList, AppError> {
    let path = Path::new(input);
    if !path.exists() {
        return Err(AppError::usage(format!("invalid `--input {input}`: it is not a file, a directory or a URL")).hint(
            "use `offline`, `online`, `-`, a list of tests, a directory of lists `VERSION.gz`, the URL of either, an archive, or `image`",
        ));
    }
    if is_archive(path) {
        return from_archive(context, built_in.plugin, path);
    }
    let list = if path.is_dir() { read_dir(path, version.unwrap_or_default()) } else { read_file(path) };
    list.map_err(|error| failed(input, &error))
}

/// Downloads the list of a version from a URL with a list for each version.
fn by_version(context: &Context, base: &str, version: Option<&str>) -> Result<TestList, AppError> {
    let Some(version) = version else {
        let base = url::without_credentials(base);
        return Err(AppError::usage(format!("the version of the tests at `{base}` is not set"))
            .hint("add `--version v1.30.2`, or `--version auto` to ask the cluster"));
    };
    list_at(context, base, version).map_err(|error| failed(base.trim_end_matches('/'), &error))
}

/// Downloads the list of a version, or of one that stands in for it, from a URL with a list for each
/// version.
pub(crate) fn list_at(context: &Context, base: &str, version: &str) -> Result<TestList, ListError> {
    let base = base.trim_end_matches('/');
    resolve(version, &url::without_credentials(base), &mut |version| {
        fetch(context, &format!("{base}/{version}.gz")).map(Some)
    })
}

/// Downloads one list.
fn list_behind(context: &Context, address: &str) -> Result<TestList, AppError> {
    let list = fetch(context, address).and_then(|bytes| parse(&bytes, "", &url::without_credentials(address)));
    list.map_err(|error| failed(address, &error))
}

fn fetch(context: &Context, address: &str) -> Result<Vec<u8>, ListError> {
    let limit = usize::try_from(MAX_PACKED).unwrap_or(usize::MAX);
    match url::get(context, address, limit) {
        Ok(got) => got.map_err(|cause| read_error(address, cause)),
        Err(error) => Err(read_error(address, error.to_string())),
    }
}

pub(crate) fn read_error(place: &str, cause: String) -> ListError {
    ListError::Read { place: url::without_credentials(place).into_owned(), error: io::Error::other(cause) }
}

fn failed(place: &str, error: &dyn Error) -> AppError {
    let place = url::without_credentials(place);
    AppError::usage(format!("failed to list the tests of `{place}`"))
        .because(error)
        .hint("use `--input offline`, which needs no network and no file")
}

fn offline(error: &ListError, lists: &Embedded<'_>) -> AppError {
    let failure = AppError::usage("failed to list the tests").because(error);
    match (error, lists.versions().next()) {
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

/// The extensions of archives.
const ENDINGS: [&str; 3] = [".tar.gz", ".tgz", ".tar"];

/// Whether the path is an archive, or a directory like one.
fn is_archive(path: &Path) -> bool {
    match path.is_dir() {
        true => path.join("plugins").is_dir(),
        false => path.to_str().is_some_and(|name| ENDINGS.iter().any(|ending| name.ends_with(ending))),
    }
}

/// Reads the names of the leaves of the plugin `suite`, or of the only plugin.
fn from_archive(context: &Context, suite: &str, path: &Path) -> Result<TestList, AppError> {
    let mut trees = Trees::open(context, path, Reprocess::default())?;
    let plugins = trees.plugins();
    let plugin = match plugins.as_slice() {
        [only] => only.clone(),
        all if all.iter().any(|plugin| plugin == suite) => suite.to_owned(),
        all => {
            let there =
                if all.is_empty() { "it has none".to_owned() } else { format!("it has `{}`", all.join("`, `")) };
            return Err(AppError::usage(format!("archive `{}` has no plugin `{suite}`", path.display())).hint(there));
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

/// Whether the input is `image` or `image:REFERENCE`.
#[must_use]
pub fn is_image(input: &str) -> bool {
    input == "image" || input.starts_with("image:")
}

/// The reference in `image:REFERENCE`.
#[must_use]
pub fn image_of(input: &str) -> Option<&str> {
    input.strip_prefix("image:")
}

/// Asks the program in the image for its tests.
fn from_image(
    context: &Context,
    built_in: &BuiltInProfile,
    image: Option<&str>,
    version: Option<&str>,
) -> Result<TestList, AppError> {
    let of_version = || built_in.image(version?);
    let Some(image) = image.map(str::to_owned).or_else(of_version) else {
        return Err(AppError::usage("the version of the suite's image is not set")
            .hint("add `--version v1.30.2`, or `--version auto` to ask the cluster, or set the image: `--input image:REFERENCE`"));
    };
    ask_tests(context, &built_in.profile, &image, version.unwrap_or_default(), true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<String>, String> {
        let yaml = "name: a\ntitle: A\nversion: '1'\nlisting: {program: /bin/a, tests: [--list], format: ginkgo}\n";
        let profile = Profile::parse(yaml.as_bytes()).unwrap();
        piped(&profile, text.as_bytes()).map(|list| list.tests).map_err(|error| error.to_string())
    }

    #[test]
    fn only_a_text_of_indented_lines_is_the_output_of_the_program() {
        assert_eq!(read("These names can be used:\n    a/b.go:41: kite\n\n    ball\n").unwrap(), ["ball", "kite"]);
        // One indented line does not hide the other names.
        assert_eq!(read("kite\n    ball\ntop\n").unwrap(), ["ball", "kite", "top"]);
        assert_eq!(read("kite:\n").unwrap(), ["kite:"]);
    }

    #[test]
    fn a_first_line_is_a_difference_only_if_it_names_a_version() {
        assert_eq!(read("# all toys\nkite\n").unwrap(), ["kite"]);
        assert_eq!(read("\u{feff}#toys\nkite\n").unwrap(), ["kite"]);
        assert!(read("#v1.2.0\n-kite\n").unwrap_err().contains("difference"));
    }

    #[test]
    fn standard_input_that_is_too_large_is_not_cut_off() {
        let large = "    kite\n".repeat(usize::try_from(MAX_PACKED).unwrap() / 9 + 1);
        let error = read(&large).unwrap_err();
        assert_eq!(error, "`standard input` is too large for a list of tests: more than 16 MiB");
        assert_eq!(read("    kite\n").unwrap(), ["kite"]);
    }
}
