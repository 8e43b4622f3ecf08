//! The commands with which plugins are written: `new`, `build`, `lint`, `run` and `postprocess`.

use std::fs::File;
use std::io::{self, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use plumbline_app::AppError;
use plumbline_app::modules::{self, Limits, LimitsFile};
use plumbline_app::process::{ProcessOptions, Processed, process, verdict_of};
use plumbline_app::report::print_json;
use plumbline_app::report::text::size;
use plumbline_app::run_check::{CheckOptions, run_here};
use plumbline_app::trees::read_tree;
use plumbline_author::check::{Checked, Host, Level, check as check_path};
use plumbline_author::inspect::capabilities;
use plumbline_author::{AuthorError, Built, ErrorKind, Language, Project, new_profile, new_project};
use plumbline_core::shell_path;
use serde::Serialize;

use crate::args::global::Global;
use crate::args::shared::{EXIT_CODES, RegistryArgs, RunFormat, context};
use crate::error::{FAILED, verdict_code, with_urls};
use crate::output::{Out, print, print_raw};
use crate::ui::say;

#[derive(Debug, clap::Args)]
pub(crate) struct NewArgs {
    /// The name of the project, of its plugin and of its module
    pub(crate) name: String,
    /// Language of the module: `rust`, `go`, `javascript`, `typescript`, `python` or `c`
    #[arg(long, value_name = "LANGUAGE", required_unless_present = "profile")]
    pub(crate) lang: Option<Language>,
    /// Directory to create; existing files are never overwritten [default: ./NAME]
    #[arg(long)]
    pub(crate) dir: Option<PathBuf>,
    /// World of the contract to implement; `judge` starts a judge, and `check` a check [default:
    /// post-processor]
    #[arg(long)]
    pub(crate) world: Option<String>,
    /// Start a profile, which describes a conformance suite, without a module
    #[arg(long, conflicts_with_all = ["lang", "world"])]
    pub(crate) profile: bool,
    /// Print the list of created files in this format
    #[arg(short = 'o', long = "output", alias = "format", value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<RunFormat>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct BuildArgs {
    /// Directory of the project, with `module.yaml`
    #[arg(default_value = ".")]
    pub(crate) dir: PathBuf,
    /// List every import
    #[arg(long)]
    pub(crate) verbose: bool,
    /// Print what was built in this format
    #[arg(short = 'o', long = "output", alias = "format", value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<RunFormat>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct LintArgs {
    /// A definition, a module (`NAME.wasm`), the directory of a project or bundle, or a packed bundle
    #[arg(default_value = ".")]
    pub(crate) path: PathBuf,
    #[command(flatten)]
    pub(crate) limits: LimitsFile,
    /// Print the findings in this format
    #[arg(short = 'o', long = "output", alias = "format", value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<RunFormat>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) options: CheckOptions,
    /// Print the tree in this format
    #[arg(short = 'o', long = "output", alias = "format", value_enum, default_value = "yaml", value_name = "FORMAT")]
    pub(crate) format: RunFormat,
}

#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct PostprocessArgs {
    #[command(flatten)]
    pub(crate) options: ProcessOptions,
    /// Print the tree in this format
    #[arg(short = 'o', long = "output", alias = "format", value_enum, default_value = "yaml", value_name = "FORMAT")]
    pub(crate) format: RunFormat,
}

pub(crate) fn new(args: &NewArgs) -> Result<ExitCode, AppError> {
    let directory = args.dir.as_deref().unwrap_or(Path::new(&args.name));
    let new = match args.lang {
        Some(language) => new_project(&args.name, language, args.world.as_deref(), directory),
        None => new_profile(&args.name, directory),
    };
    let new = new.map_err(error)?;
    if let Some(format) = args.format {
        print_as(format, &new)?;
    }
    let what = new.language.map_or_else(|| "a profile".to_owned(), |language| format!("a project in {language}"));
    say(&format!("wrote `{}`: {what} with {} files", directory.display(), new.files.len()));
    say("next:");
    say(&format!("  cd {}", shell_path(directory)));
    match new.language {
        Some(_) => {
            say("  plumbline plugin build");
            say("  plumbline plugin test");
        }
        None => say("  plumbline conformance run . --local"),
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn build(args: &BuildArgs) -> Result<ExitCode, AppError> {
    let project = Project::open(&args.dir).map_err(error)?;
    // Every other command uses the same sandbox, so they reuse the module compiled here from the
    // cache.
    let (sandbox, _) = modules::sandbox(&Limits::default())?;
    let built = plumbline_author::build(&project, &sandbox, &mut say).map_err(error)?;
    match args.format {
        Some(format) => print_as(format, &built),
        None => print("failed to print the report", |out| print_built(&built, args.verbose, out)),
    }
}

fn print_built(built: &Built, verbose: bool, out: &mut Out) -> io::Result<()> {
    let none = |list: String| if list.is_empty() { "none".to_owned() } else { list };
    writeln!(out, "{}", built.module.display())?;
    writeln!(out, "  size       {}", size(built.size))?;
    writeln!(out, "  roles      {}", built.roles.join(", "))?;
    writeln!(out, "  formats    {}", none(built.formats.join(", ")))?;
    writeln!(out, "  contract   {}", built.generation.as_deref().unwrap_or("?"))?;
    for (at, capability) in capabilities(&built.imports, built.roles.contains(&"check")).iter().enumerate() {
        writeln!(out, "  {:10} {capability}", if at == 0 { "may" } else { "" })?;
    }
    if verbose {
        writeln!(out, "  imports    {}", none(built.imports.join(", ")))?;
    }
    writeln!(out, "  digest     {}", built.digest)?;
    let changed = if built.changed { "" } else { ", the same as before" };
    writeln!(out, "  built in   {:.1} s{changed}", built.seconds)
}

/// Finds problems that would otherwise appear later.
pub(crate) fn lint(args: &LintArgs) -> Result<ExitCode, AppError> {
    let limits = args.limits.load()?;
    let (sandbox, built_in) = modules::sandbox(&limits)?;
    let built_in = built_in.iter().map(|module| module.info()).collect();
    let host = Host { sandbox: &sandbox, built_in, limits: &limits.modules };
    let checked = check_path(&args.path, &host).map_err(error)?;
    match args.format {
        Some(format) => print_as(format, &checked)?,
        None => print("failed to print the findings", |out| print_findings(&checked, out))?,
    };
    Ok(if checked.count(Level::Error) > 0 { ExitCode::from(FAILED) } else { ExitCode::SUCCESS })
}

fn print_findings(checked: &Checked, out: &mut Out) -> io::Result<()> {
    let bold = anstyle::Style::new().bold();
    let red = bold.fg_color(Some(anstyle::AnsiColor::Red.into()));
    let yellow = bold.fg_color(Some(anstyle::AnsiColor::Yellow.into()));
    for module in &checked.modules {
        let generation = module.generation.as_deref().unwrap_or("?");
        let roles = module.roles.join(", ");
        writeln!(out, "{}: {roles}, contract {generation}, {}", module.file, size(module.size))?;
    }
    for finding in &checked.findings {
        let (style, word) = match finding.level {
            Level::Error => (red, "error"),
            Level::Warning => (yellow, "warning"),
        };
        writeln!(out, "{style}{word}:{style:#} {}: {}", finding.place, finding.what)?;
        if let Some(hint) = &finding.hint {
            writeln!(out, "  {bold}hint:{bold:#} {}", with_urls(hint))?;
        }
    }
    let (errors, warnings) = (checked.count(Level::Error), checked.count(Level::Warning));
    let plural = |n: usize| if n == 1 { "" } else { "s" };
    writeln!(out, "{}: {errors} error{}, {warnings} warning{}", checked.path, plural(errors), plural(warnings))
}

/// Runs a check on this machine and prints the tree.
pub(crate) fn run(args: &RunArgs, global: &Global) -> Result<ExitCode, AppError> {
    let processed = run_here(&context(&RegistryArgs::default()), &args.options)?;
    print_tree(&processed, args.format, global)
}

/// Post-processes a directory and prints the tree. The directory is not changed.
pub(crate) fn postprocess(args: &PostprocessArgs, global: &Global) -> Result<ExitCode, AppError> {
    let processed = process(&context(&RegistryArgs::default()), &args.options)?;
    print_tree(&processed, args.format, global)
}

fn print_tree(processed: &Processed, format: RunFormat, global: &Global) -> Result<ExitCode, AppError> {
    print_raw("failed to print the result tree", |out| {
        let file = File::open(&processed.tree)?;
        match format {
            RunFormat::Yaml => io::copy(&mut BufReader::new(file), out).map(drop),
            RunFormat::Json => print_json(&read_tree(file)?, out),
        }
    })?;
    Ok(global.code(verdict_code(verdict_of(processed.plugin.as_str(), &processed.outcome))))
}

fn print_as(format: RunFormat, data: &impl Serialize) -> Result<ExitCode, AppError> {
    print_raw("failed to print the data", |out| format.write(data, out))
}

pub(super) fn error(error: AuthorError) -> AppError {
    let app_error = match error.kind {
        ErrorKind::Input => AppError::usage(&error.what),
        ErrorKind::System => AppError::system(&error.what),
    };
    error.cause.into_iter().fold(app_error, AppError::cause).hint_if(error.hint)
}
