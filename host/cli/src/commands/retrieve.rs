//! `plumbline retrieve`, and the commands `splat` and `archive-piece` that run in the aggregator's
//! pod for clients that download archives.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use plumbline_app::report::print_json;
use plumbline_app::runtime::runtime;
use plumbline_app::{AppError, Explain as _};
use plumbline_archive::extract::extract_tar_gz;
use plumbline_archive::finished::{copy_piece, list_archives, snapshot};
use plumbline_archive::results::ReadLimits;
use plumbline_core::duration::parse_duration;
use plumbline_core::shell_path;
use plumbline_kubernetes::names;
use plumbline_kubernetes::retrieve::{
    RetrieveError, RetrieveOptions, Retrieved, Stage, Wait, retrieve as bring, retrieve_snapshot,
};
use serde_json::{Value, json};

use crate::args::global::Global;
use crate::args::shared::{DAY, OutputArgs, limit};
use crate::commands::cluster::{ClusterArgs, connect, fail};
use crate::error::{INCOMPLETE, INTERRUPTED, PrintError as _, SYSTEM};
use crate::output::print_raw;
use crate::ui::{Transfer, say};

#[derive(Debug, clap::Args)]
pub(crate) struct RetrieveArgs {
    /// Directory to write to
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) dir: PathBuf,
    /// Unpack the archive into the directory and delete the archive
    #[arg(short = 'x', long)]
    pub(crate) extract: bool,
    /// File name of the archive; further archives are numbered
    #[arg(short = 'f', long = "file", alias = "filename", value_name = "NAME", value_parser = plain_name)]
    pub(crate) file_name: Option<String>,
    /// Directory of the archive in the aggregator's pod
    #[arg(long, value_name = "DIR", default_value = names::AGGREGATOR_DIR)]
    pub(crate) retrieve_path: String,
    /// Wait until the run is complete, at most this long; without a value, 24h
    #[arg(long, value_name = "DURATION", num_args = 0..=1, require_equals = true, default_missing_value = DAY, value_parser = parse_duration)]
    pub(crate) wait: Option<Duration>,
    /// Download what an unfinished run has gathered so far
    #[arg(long, conflicts_with = "wait")]
    pub(crate) partial: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

fn plain_name(text: &str) -> Result<String, String> {
    if text.is_empty() || text == "." || text == ".." || text.contains(['/', '\\', '\0']) {
        return Err("expected a file name without directories: pass the directory as an argument".to_owned());
    }
    Ok(text.to_owned())
}

#[derive(Debug, clap::Args)]
pub(crate) struct SplatArgs {
    /// The directory
    pub(crate) dir: PathBuf,
}

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("what").required(true).args(["list", "snapshot", "name"]))]
pub(crate) struct PieceArgs {
    /// The directory
    pub(crate) dir: PathBuf,
    /// List the finished archives as JSON
    #[arg(long)]
    pub(crate) list: bool,
    /// Pack what the unfinished run has gathered so far
    #[arg(long)]
    pub(crate) snapshot: bool,
    /// The archive
    #[arg(long, requires_all = ["offset", "length"])]
    pub(crate) name: Option<String>,
    /// The first byte
    #[arg(long, requires = "name")]
    pub(crate) offset: Option<u64>,
    /// How many bytes
    #[arg(long, requires = "name")]
    pub(crate) length: Option<u64>,
}

/// Sonobuoy's exit codes: 1 if no transfer could start, 2 if the transfer failed or there is no
/// archive.
const COMPAT_SET_UP: u8 = 1;
const COMPAT_TRANSFER: u8 = 2;

pub(crate) fn retrieve(args: &RetrieveArgs, global: &Global) -> Result<ExitCode, AppError> {
    let mut options = RetrieveOptions::new(args.cluster.namespace.clone(), args.dir.clone());
    options.file_name.clone_from(&args.file_name);
    options.remote_dir.clone_from(&args.retrieve_path);
    options.wait = match args.wait.and_then(limit) {
        Some(limit) => Wait::AtMost(Some(limit)),
        None => Wait::No,
    };
    let runtime = runtime()?;
    let code = runtime.block_on(fetch(args, &options, global));
    // After an interrupt, neither the verification nor the unpacking of a large archive is awaited.
    runtime.shutdown_background();
    code
}

/// Downloads the archives, unpacks them if that is requested, and prints them.
async fn fetch(args: &RetrieveArgs, options: &RetrieveOptions, global: &Global) -> Result<ExitCode, AppError> {
    let mut view = Transfer::default();
    let result = tokio::select! {
        result = transfer(args, options, &mut view) => Some(result),
        // Without a handler, the interrupt ends the process, and only the message is lost.
        Ok(()) = tokio::signal::ctrl_c() => None,
    };
    view.end();
    let (retrieved, partial) = match result {
        Some(Ok(retrieved)) => retrieved,
        Some(Err(error)) => return Ok(print_error(&error, args, global)),
        None => {
            say("interrupted: the partial download is kept; to resume, run the same command again");
            return Ok(ExitCode::from(INTERRUPTED));
        }
    };
    let code = match args.extract {
        true => unpack(retrieved.clone(), args.dir.clone(), global.clone()).await?,
        false => ExitCode::SUCCESS,
    };
    match (args.output.is_json(), args.extract) {
        _ if code != ExitCode::SUCCESS => Ok(code),
        (true, _) => print_raw(PRINTING, |out| print_json(&document(&retrieved, args, partial), out)),
        (false, true) => Ok(code),
        (false, false) => print(&retrieved, partial),
    }
}

/// Unpacks the archives on another thread, because the handler of interrupts stays installed.
async fn unpack(retrieved: Vec<Retrieved>, dir: PathBuf, global: Global) -> Result<ExitCode, AppError> {
    let what = format!("failed to unpack into `{}`", dir.display());
    let unpacked = tokio::task::spawn_blocking(move || extract(&retrieved, &dir, &global));
    tokio::select! {
        unpacked = unpacked => unpacked.system_error(what)?,
        Ok(()) = tokio::signal::ctrl_c() => {
            say("interrupted: the archive is kept; to unpack it, run the same command again");
            Ok(ExitCode::from(INTERRUPTED))
        }
    }
}

/// Downloads the archives. The flag says whether the download is only a snapshot of an unfinished
/// run.
async fn transfer(
    args: &RetrieveArgs,
    options: &RetrieveOptions,
    view: &mut Transfer,
) -> Result<(Vec<Retrieved>, bool), RetrieveError> {
    let cluster = connect(&args.cluster).await?;
    let mut tell = |progress: plumbline_kubernetes::retrieve::Progress<'_>| view.show_progress(progress);
    match bring(&cluster, options, &mut tell).await {
        // A snapshot is requested only without an archive, because an archive contains everything.
        Err(RetrieveError::NotReady(_)) if args.partial => {
            Ok((vec![retrieve_snapshot(&cluster, options, &mut tell).await?], true))
        }
        result => Ok((result?, false)),
    }
}

fn print_error(error: &RetrieveError, args: &RetrieveArgs, global: &Global) -> ExitCode {
    let (strict, compat) = match error.stage() {
        Stage::NotReady => (INCOMPLETE, COMPAT_TRANSFER),
        Stage::SetUp => (SYSTEM, COMPAT_SET_UP),
        Stage::Transfer => (SYSTEM, COMPAT_TRANSFER),
    };
    let explained = match error {
        RetrieveError::Cluster(error) => AppError::cluster(error),
        other => {
            let what = format!("failed to retrieve the archive of the run in namespace `{}`", args.cluster.namespace);
            AppError::system(what).because(other).hint_if(other.hint())
        }
    };
    fail(&explained, global, strict, compat)
}

/// Returns what was downloaded as data. Keys are never removed or renamed (docs/output.md).
fn document(retrieved: &[Retrieved], args: &RetrieveArgs, partial: bool) -> Value {
    let archives: Vec<Value> = retrieved
        .iter()
        .map(|archive| {
            json!({
                "path": (!args.extract).then_some(&archive.path), "size": archive.size, "sha256": archive.sha256,
                "verified": archive.as_status_says,
            })
        })
        .collect();
    json!({"archives": archives, "partial": partial, "directory": args.dir, "extracted": args.extract})
}

const PRINTING: &str = "failed to print the name of the archive";

fn print(retrieved: &[Retrieved], partial: bool) -> Result<ExitCode, AppError> {
    for archive in retrieved {
        print_raw(PRINTING, |out| writeln!(out, "{}", archive.path.display()))?;
        let size = plumbline_app::report::text::size(archive.size);
        match (partial, archive.as_status_says) {
            (true, _) => say(&format!("{size}: what the run has gathered so far")),
            (false, true) => say(&format!("{size}, verified: size and digest match the run's status")),
            (false, false) => say(&format!("{size}, not verified: the run's status has no digest for it")),
        }
    }
    if let Some(archive) = retrieved.first() {
        say(&format!("next: plumbline results {}", shell_path(&archive.path)));
    }
    Ok(ExitCode::SUCCESS)
}

/// Unpacks the archives into `dir` and removes them. An archive that cannot be unpacked stays.
fn extract(retrieved: &[Retrieved], dir: &Path, global: &Global) -> Result<ExitCode, AppError> {
    let limits = ReadLimits::default().extract();
    for Retrieved { path, .. } in retrieved {
        let what = || format!("failed to unpack archive `{}` into `{}`", path.display(), dir.display());
        let extracted = File::open(path).map_err(|error| AppError::system(what()).because(&error)).and_then(|file| {
            extract_tar_gz(file, dir, &limits).map_err(|error| AppError::system(what()).because(&error))
        });
        let extracted = match extracted {
            Ok(extracted) => extracted,
            Err(error) => {
                return Ok(fail(&error.hint("the archive is kept"), global, SYSTEM, COMPAT_TRANSFER));
            }
        };
        for skipped in &extracted.skipped {
            say(&format!("warning: `{}` was not unpacked: it is {}", skipped.member, skipped.why));
        }
        fs::remove_file(path)
            .system_error(format_args!("failed to remove the unpacked archive `{}`", path.display()))?;
        say(&format!("{} files unpacked into `{}`", extracted.files, dir.display()));
    }
    Ok(ExitCode::SUCCESS)
}

/// Bytes per write: a connection sends each write as a separate message.
const OUT_BYTES: usize = 64 << 10;

pub(crate) fn splat(args: &SplatArgs) -> ExitCode {
    let out = BufWriter::with_capacity(OUT_BYTES, io::stdout().lock());
    match plumbline_archive::splat::splat(&args.dir, out) {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            let what = format!("failed to send the archives in `{}`", args.dir.display());
            AppError::system(what).because(&error).print();
            // The only failure code that clients of other versions know.
            ExitCode::FAILURE
        }
    }
}

/// Lists the finished archives of a directory, or writes a piece of one to standard output.
pub(crate) fn piece(args: &PieceArgs) -> Result<ExitCode, AppError> {
    let mut out = BufWriter::with_capacity(OUT_BYTES, io::stdout().lock());
    let dir = args.dir.display();
    if args.snapshot {
        let what = format!("failed to pack what the run in `{dir}` has gathered so far");
        snapshot(&args.dir, out).system_error(what)?;
    } else if let (Some(name), Some(offset), Some(length)) = (&args.name, args.offset, args.length) {
        let what = format!("failed to send a piece of archive `{name}` in `{dir}`");
        copy_piece(&args.dir, name, offset, length, &mut out).system_error(what)?;
    } else {
        let what = || format!("failed to list the archives in `{dir}`");
        let list = list_archives(&args.dir).map_err(|error| AppError::system(what()).because(&error))?;
        let printed = serde_json::to_writer(&mut out, &list).map_err(io::Error::from);
        printed
            .and_then(|()| writeln!(out))
            .and_then(|()| out.flush())
            .map_err(|error| AppError::printing(what(), &error))?;
    }
    Ok(ExitCode::SUCCESS)
}
