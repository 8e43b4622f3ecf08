//! `plumbline splat`: runs in the aggregator's pod for clients that download archives.

use std::io::{self, BufWriter};
use std::process::ExitCode;

use plumbline_app::AppError;

use crate::args::SplatArgs;
use crate::error::PrintError as _;

/// Bytes per write: a connection sends each write as a separate message.
const OUT_BYTES: usize = 64 << 10;

/// Writes the finished archives of a directory to standard output.
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
