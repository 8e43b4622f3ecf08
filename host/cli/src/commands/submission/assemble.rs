//! `plumbline submission assemble`

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use plumbline_app::AppError;
use plumbline_app::report::text::size;
use plumbline_conformance::submission::{
    self, Assembled, Cases, Facts, LOG, NotSubmittable, PRODUCT, Place, Product, README, Release, SubmissionError,
};
use plumbline_core::shell_path;

use super::cases::read_cases;
use super::required::required;
use super::run_facts::RunFacts;
use crate::args::SubmissionAssembleArgs;
use crate::ui::say;

/// Bytes of a `PRODUCT.yaml` or `README.md`.
const MAX_TEXT: u64 = 1 << 20;

/// Names that a refusal lists.
const MAX_NAMES: usize = 10;

/// Writes the folder, and says where it is.
pub(crate) fn assemble(args: &SubmissionAssembleArgs) -> Result<Assembled, AppError> {
    let (text, product) = read_product(&args.product)?;
    in_order(&args.product, &product).or_else(|error| refuse(args, &error))?;
    let scratch = tempfile::tempdir()
        .map_err(|error| AppError::system("failed to create a directory for temporary files").because(&error))?;
    let facts = RunFacts::read(&args.archive, &args.plugin, scratch.path())?;
    let (release, kubernetes) = version(args, &facts)?;
    mode_in_order(args, &facts)?;
    let cases = read_cases(&facts.junit)?;
    results_in_order(args, &cases, release, facts.suite.as_deref())?;
    let place = place(args, &product, release)?;
    let readme = match &args.readme {
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
    let done = submission::assemble(&place, &args.output, &mut content).map_err(|error| told(&error))?;
    print(&done, &place, &kubernetes, &cases)
        .map_err(|error| AppError::printing("what was written cannot be told", &error))?;
    Ok(done)
}

fn told(error: &SubmissionError) -> AppError {
    let what = "failed to write the submission";
    match error {
        SubmissionError::Exists(_) => {
            AppError::usage(what).because(error).hint("remove it, or choose another directory with `--output`")
        }
        SubmissionError::Empty(_) => AppError::usage(what).because(error),
        SubmissionError::Write { .. } | SubmissionError::Content { .. } => AppError::system(what).because(error),
    }
}

/// Looks whether a product can be submitted.
///
/// # Errors
/// It cannot be read, is none, or is not in order.
pub(crate) fn product(path: &Path) -> Result<(), AppError> {
    in_order(path, &read_product(path)?.1)
}

fn read_product(path: &Path) -> Result<(String, Product), AppError> {
    let text = read_text(path)?;
    let product = Product::parse(text.as_bytes())
        .map_err(|error| AppError::usage(format!("`{}` cannot be used", path.display())).because(&error))?;
    Ok((text, product))
}

fn in_order(path: &Path, product: &Product) -> Result<(), AppError> {
    match product.problems() {
        problems if problems.is_empty() => Ok(()),
        problems => Err(AppError::usage(format!("`{}` is not in order", path.display()))
            .because(&io::Error::other(problems.join("\n")))
            .hint("docs/submission.md lists the fields")),
    }
}

/// The version that the results are for.
fn version(args: &SubmissionAssembleArgs, facts: &RunFacts) -> Result<(Release, String), AppError> {
    let text = args.kubernetes_version.as_ref().or(facts.kubernetes.as_ref()).or(facts.suite.as_ref());
    let Some(text) = text else {
        return Err(AppError::usage(format!(
            "archive `{}` does not say which version of Kubernetes was tested",
            args.archive.display()
        ))
        .hint("say it with `--kubernetes-version`"));
    };
    let release =
        text.parse().map_err(|error| AppError::usage("the version of Kubernetes cannot be used").because(&error))?;
    Ok((release, text.clone()))
}

fn mode_in_order(args: &SubmissionAssembleArgs, facts: &RunFacts) -> Result<(), AppError> {
    let Err(problem) = facts.settings.submittable() else { return Ok(()) };
    let error = AppError::usage("this run cannot be submitted")
        .because(&problem)
        .hint("run the suite with `--mode certified-conformance`");
    // Nothing that was not tested is ever evidence.
    if problem == NotSubmittable::DryRun { Err(error) } else { refuse(args, &error) }
}

fn results_in_order(
    args: &SubmissionAssembleArgs,
    cases: &Cases,
    release: Release,
    suite: Option<&str>,
) -> Result<(), AppError> {
    if let Some(problem) = &cases.problem {
        // Nothing is known of its tests, so there is nothing else to say.
        let error = AppError::usage("the verifier cannot read the results of the suite");
        return refuse(args, &error.because(&io::Error::other(problem.clone())));
    }
    if cases.ran() == 0 {
        return Err(AppError::usage("no test of the suite ran: there is nothing to submit"));
    }
    if !cases.failed().is_empty() {
        let n = cases.failed().len();
        let what = format!("{n} conformance {} failed", if n == 1 { "test" } else { "tests" });
        let error =
            AppError::failed(what).because(&listed(cases.failed())).hint("only a run in which all pass is certified");
        refuse(args, &error)?;
    }
    match required(&args.required, release, suite)? {
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
                refuse(
                    args,
                    &AppError::failed(what)
                        .because(&listed(missing))
                        .hint("run the suite with `--mode certified-conformance`"),
                )?;
            }
        }
        _ => say(&format!(
            "warning: it is not known which tests {release} requires: `--required FILE` takes the `conformance.yaml` of that version"
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

/// Refuses, unless it is wanted anyway: then the reason is a warning.
fn refuse(args: &SubmissionAssembleArgs, error: &AppError) -> Result<(), AppError> {
    if !args.anyway {
        return Err(error.clone().hint_more("`--anyway` writes it all the same"));
    }
    say(&format!("warning: {error}"));
    Ok(())
}

fn place(args: &SubmissionAssembleArgs, product: &Product, release: Release) -> Result<Place, AppError> {
    let folder = args.folder.clone().unwrap_or_else(|| Place::folder_of(product.get("name")));
    Place::new(release, &folder).map_err(|error| {
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

fn print(done: &Assembled, place: &Place, kubernetes: &str, cases: &Cases) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    writeln!(out, "submission: {}", done.folder.display())?;
    writeln!(out, "Kubernetes: {kubernetes}")?;
    if cases.problem.is_none() {
        writeln!(out, "tests:      {} ran, {} skipped", cases.ran(), cases.skipped())?;
    }
    for (name, bytes) in &done.files {
        writeln!(out, "  {name:14} {}", size(*bytes))?;
    }
    writeln!(out, "title:      {}", place.title())?;
    writeln!(out, "next:       plumbline submission check {}", shell_path(&done.folder))
}
