//! Assembles and reads submissions of conformance results.

mod attested;
mod checked;
mod read;

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use plumbline_conformance::submission::{
    self, Assembled, Cases, Facts, LOG, NotSubmittable, PRODUCT, Product, README, Release, Required, SubmissionError,
    SubmissionPath,
};
use plumbline_kubernetes::ServerVersion;

use crate::context::Context;
use crate::error::{AppError, Explain as _};
use crate::files::{self, read_start_text};
use crate::images::{self, Question, ask};
use crate::profiles::{no_program, suite_profile, suite_required};
use crate::runtime::runtime;
use crate::sources::registry::client;
use crate::submission::read::{RunFacts, read_cases};

pub(crate) use attested::attestation_finding;
pub use checked::Checked;

/// What a submission is assembled from.
#[derive(Debug, Clone, clap::Args)]
pub struct AssembleOptions {
    /// Archive of the run (`.tar.gz`), or a directory with an unpacked one
    #[arg(short, long, value_name = "ARCHIVE|DIR")]
    pub archive: PathBuf,
    /// Description of the tested product: a `PRODUCT.yaml`
    #[arg(long, value_name = "FILE")]
    pub product: Option<PathBuf>,
    /// Directory for the folder of the version
    #[arg(short, long, value_name = "DIR")]
    pub dir: PathBuf,
    /// Plugin that ran the suite
    #[arg(short, long, default_value = "e2e")]
    pub plugin: String,
    /// Name of the product's folder [default: its name in `PRODUCT.yaml` in lower case, words
    /// joined by `-`]
    #[arg(long, value_name = "NAME")]
    pub folder: Option<String>,
    /// Kubernetes version, overriding that of the archive
    #[arg(long, value_name = "VERSION")]
    pub kubernetes_version: Option<String>,
    /// Your own `README.md` [default: a generated one with the steps to reproduce the results]
    #[arg(long, value_name = "FILE")]
    pub readme: Option<PathBuf>,
    /// Write the folder even if tests failed or are missing, fields are empty, or the mode cannot
    /// be submitted
    #[arg(long)]
    pub anyway: bool,
    /// Required tests: a `conformance.yaml`, or `image[:REFERENCE]`, which asks the suite's image
    /// [default: the built-in list of the version]
    #[arg(long, value_name = "FILE|image[:REF]")]
    pub required: Option<RequiredFrom>,
}

/// A submission that was written.
pub struct Submission {
    /// The folder and its files.
    pub written: Assembled,
    /// Its place in the repository of submissions.
    pub place: SubmissionPath,
    /// The version of Kubernetes.
    pub kubernetes: String,
    /// The results of the tests.
    pub cases: Cases,
}

/// The hint for a run in which not all required tests ran.
const ALL_TESTS: &str =
    "run the suite with `plumbline conformance run --submission-dir DIR`, which selects all required tests";
/// The largest `PRODUCT.yaml` or `README.md`, in bytes.
const MAX_TEXT: u64 = 1 << 20;

/// The names that an error lists.
const MAX_NAMES: usize = 10;

/// Assembles a submission: reads the archive, checks that the results can be submitted, and writes
/// the folder.
pub fn assemble(context: &Context, options: &AssembleOptions) -> Result<Submission, AppError> {
    let Some(path) = &options.product else {
        return Err(AppError::usage("the description of the product is missing")
            .hint("add `--product PRODUCT.yaml`; docs/submission.md lists its fields"));
    };
    let (text, product) = read_product(path)?;
    check_fields(path, &product).or_else(|error| reject(context, options, &error))?;
    let scratch = files::scratch()?;
    let facts = RunFacts::read(&options.archive, &options.plugin, scratch.path())?;
    let (release, kubernetes) = version(options, &facts)?;
    check_mode(context, options, &facts)?;
    let cases = read_cases(&facts.junit, &facts.log)?;
    if cases.dry_run {
        return Err(not_submittable(&NotSubmittable::DryRun));
    }
    if cases.retries {
        reject(context, options, &not_submittable(&NotSubmittable::Retries))?;
    }
    check_results(context, options, &cases, release, facts.suite.as_deref())?;
    let place = place(options, &product, release)?;
    let readme = match &options.readme {
        Some(path) => read_text(path)?,
        None => submission::readme(&Facts {
            place: &place,
            product: &product,
            kubernetes: &kubernetes,
            tool: &facts.tool,
            run: facts.run.as_deref(),
            ran: cases.ran,
            skipped: cases.skipped,
        }),
    };
    let mut content = |name: &'static str, out: &mut dyn Write| match name {
        README => out.write_all(readme.as_bytes()),
        PRODUCT => out.write_all(text.as_bytes()),
        LOG => copy(&facts.log, out),
        _ => copy(&facts.junit, out),
    };
    let written = submission::assemble(&place, &options.dir, &mut content).map_err(|error| write_error(&error))?;
    Ok(Submission { written, place, kubernetes, cases })
}

fn write_error(error: &SubmissionError) -> AppError {
    let what = "failed to write the submission";
    match error {
        SubmissionError::Exists(_) => {
            AppError::usage(what).because(error).hint("remove it, or choose another directory with `--dir`")
        }
        SubmissionError::Empty(_) => AppError::usage(what).because(error),
        SubmissionError::Write { .. } | SubmissionError::Content { .. } => AppError::system(what).because(error),
    }
}

/// Checks the file with the facts of a product.
pub fn check_product(path: &Path) -> Result<(), AppError> {
    check_fields(path, &read_product(path)?.1)
}

fn read_product(path: &Path) -> Result<(String, Product), AppError> {
    let text = read_text(path)?;
    let product = Product::parse(text.as_bytes())
        .usage_error(format_args!("invalid product file `{}`", path.display()))
        .hint("see docs/submission.md for the fields")?;
    Ok((text, product))
}

fn check_fields(path: &Path, product: &Product) -> Result<(), AppError> {
    match product.problems() {
        problems if problems.is_empty() => Ok(()),
        problems => Err(AppError::usage(format!("`{}` has invalid or missing fields", path.display()))
            .cause(problems.join("\n"))
            .hint("see docs/submission.md for the fields")),
    }
}

/// The release and the full version that the results are for.
fn version(options: &AssembleOptions, facts: &RunFacts) -> Result<(Release, String), AppError> {
    let text = options.kubernetes_version.as_ref().or(facts.kubernetes.as_ref()).or(facts.suite.as_ref());
    let Some(text) = text else {
        return Err(AppError::usage(format!(
            "archive `{}` does not say which version of Kubernetes was tested",
            options.archive.display()
        ))
        .hint("set it with `--kubernetes-version`"));
    };
    let release = text
        .parse()
        .usage_error("invalid Kubernetes version")
        .hint("set it with `--kubernetes-version`, such as `v1.30.2`")?;
    Ok((release, text.clone()))
}

fn check_mode(context: &Context, options: &AssembleOptions, facts: &RunFacts) -> Result<(), AppError> {
    let Err(problem) = facts.settings.submittable() else { return Ok(()) };
    let error = not_submittable(&problem);
    // A dry run tests nothing, so no option makes it a result.
    if problem == NotSubmittable::DryRun { Err(error) } else { reject(context, options, &error) }
}

fn not_submittable(problem: &NotSubmittable) -> AppError {
    AppError::usage("this run cannot be submitted").because(problem).hint(match problem {
        NotSubmittable::Retries => "run the suite again, so that Ginkgo runs each test once",
        _ => ALL_TESTS,
    })
}

fn check_results(
    context: &Context,
    options: &AssembleOptions,
    cases: &Cases,
    release: Release,
    suite: Option<&str>,
) -> Result<(), AppError> {
    if let Some(problem) = &cases.problem {
        // Nothing is known of the tests, so nothing else can be checked.
        let error = AppError::usage("the verifier cannot read the results of the suite");
        return reject(context, options, &error.cause(problem.clone()));
    }
    if cases.ran == 0 {
        return Err(AppError::usage("no test of the suite ran: there is nothing to submit").hint(ALL_TESTS));
    }
    if !cases.failed.is_empty() {
        let n = cases.failed.len();
        let what = format!("{n} conformance {} failed", if n == 1 { "test" } else { "tests" });
        let error = AppError::failed(what)
            .cause(listed(&cases.failed))
            .hint("certification requires a run in which all tests pass");
        reject(context, options, &error)?;
    }
    match required(context, options.required.as_ref(), release, suite)? {
        Some(required) if required.release == release => {
            let missing: Vec<&String> =
                required.names.difference(&cases.passed).filter(|name| !cases.failed.contains(*name)).collect();
            if !missing.is_empty() {
                let what = format!(
                    "{} of {} required tests did not run ({})",
                    missing.len(),
                    required.names.len(),
                    required.source
                );
                reject(
                    context,
                    options,
                    &AppError::failed(what)
                        .cause(listed(missing))
                        .hint(ALL_TESTS),
                )?;
            }
        }
        _ => context.reporter.warning(&format!(
            "the required tests of {release} are unknown: pass the `conformance.yaml` of that version with `--required FILE`"
        )),
    }
    Ok(())
}

fn listed<'a>(names: impl IntoIterator<Item = &'a String>) -> String {
    let names: Vec<&str> = names.into_iter().map(String::as_str).collect();
    let mut text = names.iter().take(MAX_NAMES).copied().collect::<Vec<_>>().join("\n");
    if names.len() > MAX_NAMES {
        text.push_str(&format!("\nand {} more", names.len() - MAX_NAMES));
    }
    text
}

/// Returns the error, or reports it as a warning if the submission is written anyway.
fn reject(context: &Context, options: &AssembleOptions, error: &AppError) -> Result<(), AppError> {
    if !options.anyway {
        return Err(error.clone().hint_more("to write it nevertheless, add `--anyway`"));
    }
    context.reporter.warning(&error.to_string());
    Ok(())
}

fn place(options: &AssembleOptions, product: &Product, release: Release) -> Result<SubmissionPath, AppError> {
    let folder = options.folder.clone().unwrap_or_else(|| SubmissionPath::folder_of(product.get("name")));
    SubmissionPath::new(release, &folder)
        .usage_error("invalid folder name for the product")
        .hint("set it with `--folder`")
}

fn read_text(path: &Path) -> Result<String, AppError> {
    let wrong = || AppError::usage(format!("failed to read `{}`", path.display()));
    let text = read_start_text(path, MAX_TEXT + 1).map_err(|error| wrong().because(&error))?;
    if text.len() as u64 > MAX_TEXT {
        return Err(wrong().cause(format!("it is larger than {MAX_TEXT} bytes")));
    }
    Ok(text)
}

fn copy(path: &Path, out: &mut dyn Write) -> io::Result<()> {
    io::copy(&mut File::open(path)?, out).map(drop)
}

/// The largest `conformance.yaml`, in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// The source of a list of required tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequiredFrom {
    /// A file.
    File(PathBuf),
    /// The image of the suite, by default that of the version that ran.
    Image(Option<String>),
}

impl FromStr for RequiredFrom {
    type Err = String;

    /// Parses `FILE`, `image` or `image:REFERENCE`.
    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix("image") {
            Some("") => Ok(Self::Image(None)),
            Some(rest) if rest.starts_with(':') => match rest.trim_start_matches(':') {
                "" => Err("`image:` has no reference".to_owned()),
                reference => Ok(Self::Image(Some(reference.to_owned()))),
            },
            _ => Ok(Self::File(PathBuf::from(text))),
        }
    }
}

/// Reads the tests that `release` requires. `None` if no source is given and no list is built in.
/// `version` is the full version of the suite, if it is known.
fn required(
    context: &Context,
    from: Option<&RequiredFrom>,
    release: Release,
    version: Option<&str>,
) -> Result<Option<Required>, AppError> {
    match from {
        None => Required::embedded(&suite_required()?, release)
            .system_error("failed to read the list of required tests in this program"),
        Some(RequiredFrom::File(path)) => from_file(path, release).map(Some),
        Some(RequiredFrom::Image(reference)) => from_image(context, reference.as_deref(), release, version).map(Some),
    }
}

fn from_file(path: &Path, release: Release) -> Result<Required, AppError> {
    let wrong = |error: &dyn std::error::Error| {
        AppError::usage(format!("invalid list of required tests `{}`", path.display()))
            .because(error)
            .hint("pass `test/conformance/testdata/conformance.yaml` of Kubernetes, at that version")
    };
    let text = read_start_text(path, MAX_BYTES + 1).map_err(|error| wrong(&error))?;
    Required::from_yaml(&text, release, path.display().to_string()).map_err(|error| wrong(&error))
}

/// Asks the program of the suite, which is extracted from its image and runs on this machine.
fn from_image(
    context: &Context,
    reference: Option<&str>,
    release: Release,
    version: Option<&str>,
) -> Result<Required, AppError> {
    let built_in = suite_profile()?;
    let Some(lists) = built_in.profile.listing.as_ref().filter(|lists| !lists.required.is_empty()) else {
        return Err(no_program(&built_in.profile, "the required tests"));
    };
    let of_version = || {
        // Without the suffixes of vendors. Images of pre-releases have their full version.
        let known = ServerVersion::parse(version?).map(|version| version.image_version());
        built_in.image(known.as_deref().or(version)?)
    };
    let Some(image) = reference.map(str::to_owned).or_else(of_version) else {
        let example = built_in.image("vX.Y.Z").unwrap_or_else(|| "REFERENCE".to_owned());
        return Err(AppError::usage(format!("the image with the suite of {release} is unknown"))
            .hint(format!("set it: `--required image:{example}`")));
    };
    let hint = "pass the `conformance.yaml` of that Kubernetes version with `--required FILE`";
    let wrong = |error: &dyn std::error::Error| {
        AppError::system(format!("failed to read the required tests from image `{image}`")).because(error).hint(hint)
    };
    images::reference(&image)?;
    context.reporter.progress(&format!("asking the suite in `{image}` which tests are required"));
    let question = Question { program: &lists.program, args: &lists.required };
    let asked = runtime()?.block_on(async { ask(context, &client(context)?, &image, question, None, hint).await });
    let text = asked.map_err(|error| wrong(&error))?;
    Required::from_yaml(&text, release, format!("image {image}")).map_err(|error| wrong(&error))
}
