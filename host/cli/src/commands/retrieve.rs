//! `plumbline retrieve`

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use plumbline_app::AppError;
use plumbline_app::runtime::runtime;
use plumbline_archive::extract::extract_tar_gz;
use plumbline_archive::results::ReadLimits;
use plumbline_core::shell_path;
use plumbline_kubernetes::retrieve::{
    RetrieveError, RetrieveOptions, Retrieved, Stage, Wait, retrieve as bring, retrieve_snapshot,
};

use super::remote::{connect, explain, fail};
use crate::args::{Global, RetrieveArgs};
use crate::error::SYSTEM;
use crate::logging;
use crate::ui::{Transfer, say};

/// Exit code for a run that has no archive yet.
const NOT_READY: u8 = 3;
/// Exit code for an interrupt: 128 and the number of SIGINT.
const INTERRUPTED: u8 = 130;
/// Sonobuoy's exit codes: 1 if no transfer could start, 2 if the transfer failed or there is no
/// archive.
const COMPAT_SET_UP: u8 = 1;
const COMPAT_TRANSFER: u8 = 2;

/// Downloads the archive of a run.
pub(crate) fn retrieve(args: &RetrieveArgs, global: &Global) -> Result<ExitCode, AppError> {
    logging::init(global);
    let mut options = RetrieveOptions::new(args.cluster.namespace.clone(), args.dir.clone());
    options.file_name.clone_from(&args.file_name);
    options.remote_dir.clone_from(&args.retrieve_path);
    options.wait = match args.wait {
        Some(limit) if !limit.span().is_zero() => Wait::AtMost(Some(limit.span())),
        _ => Wait::No,
    };
    let mut view = Transfer::default();
    let result = runtime()?.block_on(async {
        tokio::select! {
            result = transfer(args, &options, &mut view) => Some(result),
            // Without a handler, the interrupt ends the process, and only the message is lost.
            Ok(()) = tokio::signal::ctrl_c() => None,
        }
    });
    view.end();
    let (retrieved, partial) = match result {
        Some(Ok(retrieved)) => retrieved,
        Some(Err(error)) => return Ok(told(&error, args, global)),
        None => {
            say("interrupted; what arrived is kept: the same command goes on from there");
            return Ok(ExitCode::from(INTERRUPTED));
        }
    };
    if args.extract { extract(&retrieved, &args.dir, global) } else { print(&retrieved, partial) }
}

/// Downloads the archives. The flag says whether the download is only a snapshot of an unfinished
/// run.
async fn transfer(
    args: &RetrieveArgs,
    options: &RetrieveOptions,
    view: &mut Transfer,
) -> Result<(Vec<Retrieved>, bool), RetrieveError> {
    let cluster = connect(&args.cluster).await?;
    let mut tell = |progress: plumbline_kubernetes::retrieve::Progress<'_>| view.tell(progress);
    match bring(&cluster, options, &mut tell).await {
        // A snapshot is requested only without an archive, because an archive contains everything.
        Err(RetrieveError::NotReady(_)) if args.partial => {
            Ok((vec![retrieve_snapshot(&cluster, options, &mut tell).await?], true))
        }
        result => Ok((result?, false)),
    }
}

fn told(error: &RetrieveError, args: &RetrieveArgs, global: &Global) -> ExitCode {
    let (strict, compat) = match error.stage() {
        Stage::NotReady => (NOT_READY, COMPAT_TRANSFER),
        Stage::SetUp => (SYSTEM, COMPAT_SET_UP),
        Stage::Transfer => (SYSTEM, COMPAT_TRANSFER),
    };
    let explained = match error {
        RetrieveError::Cluster(error) => explain(error),
        other => {
            let what = format!("failed to retrieve the archive of the run in namespace `{}`", args.cluster.namespace);
            let explained = AppError::system(what).because(other);
            match other.hint() {
                Some(hint) => explained.hint(hint),
                None => explained,
            }
        }
    };
    fail(&explained, global, strict, compat)
}

fn print(retrieved: &[Retrieved], partial: bool) -> Result<ExitCode, AppError> {
    let mut out = io::stdout().lock();
    for archive in retrieved {
        writeln!(out, "{}", archive.path.display())
            .map_err(|error| AppError::printing("failed to print the name of the archive", &error))?;
        let size = plumbline_app::report::text::size(archive.size);
        match (partial, archive.as_status_says) {
            (true, _) => say(&format!("{size}, what the run has gathered so far")),
            (false, true) => say(&format!("{size}, verified: size and digest are those that the run's status names")),
            (false, false) => say(&format!("{size}; the run's status names no digest for it")),
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
            say(&format!("warning: `{}` is left out: it is {}", skipped.member, skipped.why));
        }
        fs::remove_file(path).map_err(|error| {
            AppError::system(format!("failed to remove the unpacked archive `{}`", path.display())).because(&error)
        })?;
        say(&format!("{} files unpacked into `{}`", extracted.files, dir.display()));
    }
    Ok(ExitCode::SUCCESS)
}
