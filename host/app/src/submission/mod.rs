//! Assembles and reads submissions of conformance results.

mod folder;
mod required;
mod run_facts;

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use plumbline_conformance::submission::{
    self, Assembled, Cases, Facts, LOG, NotSubmittable, PRODUCT, Product, README, Release, SubmissionError,
    SubmissionPath,
};

use crate::context::Context;
use crate::error::AppError;

use folder::read_cases;
use run_facts::RunFacts;

pub use folder::Folder;
pub use required::{RequiredFrom, required};

/// What a submission is assembled from.
#[derive(Debug, Clone)]
pub struct AssembleOptions {
    /// The archive of the run.
    pub archive: PathBuf,
    /// The file with the facts of the product.
    pub product: PathBuf,
    /// The directory that the submission is written to.
    pub output: PathBuf,
    /// The plugin that ran the suite.
    pub plugin: String,
    /// The name of the product's folder.
    pub folder: Option<String>,
    /// The version of Kubernetes, instead of that in the archive.
    pub kubernetes_version: Option<String>,
    /// The file to use as `README.md`.
    pub readme: Option<PathBuf>,
    /// Whether problems are warnings.
    pub anyway: bool,
    /// The source of the list of required tests.
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

/// The largest `PRODUCT.yaml` or `README.md`, in bytes.
const MAX_TEXT: u64 = 1 << 20;

/// The names that an error lists.
const MAX_NAMES: usize = 10;

/// Assembles a submission: reads the archive, checks that the results can be submitted, and writes
/// the folder.
///
/// # Errors
/// The results cannot be submitted, or a file cannot be read or written.
pub fn assemble(context: &Context, options: &AssembleOptions) -> Result<Submission, AppError> {
    let (text, product) = read_product(&options.product)?;
    check_fields(&options.product, &product).or_else(|error| reject(context, options, &error))?;
    let scratch = tempfile::tempdir()
        .map_err(|error| AppError::system("failed to create a directory for temporary files").because(&error))?;
    let facts = RunFacts::read(&options.archive, &options.plugin, scratch.path())?;
    let (release, kubernetes) = version(options, &facts)?;
    check_mode(context, options, &facts)?;
    let cases = read_cases(&facts.junit)?;
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
            ran: cases.ran(),
            skipped: cases.skipped(),
        }),
    };
    let mut content = |name: &'static str, out: &mut dyn Write| match name {
        README => out.write_all(readme.as_bytes()),
        PRODUCT => out.write_all(text.as_bytes()),
        LOG => copy(&facts.log, out),
        _ => copy(&facts.junit, out),
    };
    let written = submission::assemble(&place, &options.output, &mut content).map_err(|error| write_error(&error))?;
    Ok(Submission { written, place, kubernetes, cases })
}

fn write_error(error: &SubmissionError) -> AppError {
    let what = "failed to write the submission";
    match error {
        SubmissionError::Exists(_) => {
            AppError::usage(what).because(error).hint("remove it, or choose another directory with `--output`")
        }
        SubmissionError::Empty(_) => AppError::usage(what).because(error),
        SubmissionError::Write { .. } | SubmissionError::Content { .. } => AppError::system(what).because(error),
    }
}

/// Checks the file with the facts of a product.
///
/// # Errors
/// It cannot be read, or its fields are incomplete or invalid.
pub fn check_product(path: &Path) -> Result<(), AppError> {
    check_fields(path, &read_product(path)?.1)
}

fn read_product(path: &Path) -> Result<(String, Product), AppError> {
    let text = read_text(path)?;
    let product = Product::parse(text.as_bytes())
        .map_err(|error| AppError::usage(format!("`{}` cannot be used", path.display())).because(&error))?;
    Ok((text, product))
}

fn check_fields(path: &Path, product: &Product) -> Result<(), AppError> {
    match product.problems() {
        problems if problems.is_empty() => Ok(()),
        problems => Err(AppError::usage(format!("`{}` is not in order", path.display()))
            .because(&io::Error::other(problems.join("\n")))
            .hint("docs/submission.md lists the fields")),
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
        .hint("say it with `--kubernetes-version`"));
    };
    let release =
        text.parse().map_err(|error| AppError::usage("the version of Kubernetes cannot be used").because(&error))?;
    Ok((release, text.clone()))
}

fn check_mode(context: &Context, options: &AssembleOptions, facts: &RunFacts) -> Result<(), AppError> {
    let Err(problem) = facts.settings.submittable() else { return Ok(()) };
    let error = AppError::usage("this run cannot be submitted")
        .because(&problem)
        .hint("run the suite with `--mode certified-conformance`");
    // A dry run tests nothing, so no option makes it a result.
    if problem == NotSubmittable::DryRun { Err(error) } else { reject(context, options, &error) }
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
        return reject(context, options, &error.because(&io::Error::other(problem.clone())));
    }
    if cases.ran() == 0 {
        return Err(AppError::usage("no test of the suite ran: there is nothing to submit"));
    }
    if !cases.failed().is_empty() {
        let n = cases.failed().len();
        let what = format!("{n} conformance {} failed", if n == 1 { "test" } else { "tests" });
        let error =
            AppError::failed(what).because(&listed(cases.failed())).hint("only a run in which all pass is certified");
        reject(context, options, &error)?;
    }
    match required(context, options.required.as_ref(), release, suite)? {
        Some(required) if required.release == release => {
            let missing: Vec<&String> =
                required.names.difference(cases.passed()).filter(|name| !cases.failed().contains(*name)).collect();
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
                        .because(&listed(missing))
                        .hint("run the suite with `--mode certified-conformance`"),
                )?;
            }
        }
        _ => context.reporter.warning(&format!(
            "it is not known which tests {release} requires: `--required FILE` takes the `conformance.yaml` of that version"
        )),
    }
    Ok(())
}

fn listed<'a>(names: impl IntoIterator<Item = &'a String>) -> io::Error {
    let names: Vec<&str> = names.into_iter().map(String::as_str).collect();
    let mut text = names.iter().take(MAX_NAMES).copied().collect::<Vec<_>>().join("\n");
    if names.len() > MAX_NAMES {
        text.push_str(&format!("\nand {} more", names.len() - MAX_NAMES));
    }
    io::Error::other(text)
}

/// Returns the error, or reports it as a warning if the submission is written anyway.
fn reject(context: &Context, options: &AssembleOptions, error: &AppError) -> Result<(), AppError> {
    if !options.anyway {
        return Err(error.clone().hint_more("`--anyway` writes it all the same"));
    }
    context.reporter.warning(&error.to_string());
    Ok(())
}

fn place(options: &AssembleOptions, product: &Product, release: Release) -> Result<SubmissionPath, AppError> {
    let folder = options.folder.clone().unwrap_or_else(|| SubmissionPath::folder_of(product.get("name")));
    SubmissionPath::new(release, &folder).map_err(|error| {
        AppError::usage("the folder of the product cannot be named").because(&error).hint("name it with `--folder`")
    })
}

fn read_text(path: &Path) -> Result<String, AppError> {
    let mut text = String::new();
    File::open(path)
        .and_then(|file| {
            let read = file.take(MAX_TEXT + 1).read_to_string(&mut text)?;
            if read as u64 > MAX_TEXT {
                Err(io::Error::other(format!("it is larger than {MAX_TEXT} bytes")))
            } else {
                Ok(())
            }
        })
        .map_err(|error| AppError::usage(format!("failed to read `{}`", path.display())).because(&error))?;
    Ok(text)
}

fn copy(path: &Path, out: &mut dyn Write) -> io::Result<()> {
    io::copy(&mut File::open(path)?, out).map(drop)
}
