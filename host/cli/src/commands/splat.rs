//! `plumbline splat`: run in the aggregator's pod by whoever retrieves archives.

use std::io::{self, BufWriter};
use std::process::ExitCode;

use plumbline_app::AppError;

use crate::args::SplatArgs;
use crate::error::PrintError as _;

/// Bytes written at a time: a connection carries each write as a message of its own.
const OUT_BYTES: usize = 64 << 10;

/// Writes the finished archives of a directory onto standard output.
pub(crate) fn splat(args: &SplatArgs) -> ExitCode {
    let out = BufWriter::with_capacity(OUT_BYTES, io::stdout().lock());
    match plumbline_archive::splat::splat(&args.dir, out) {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            let what = format!("failed to send the archives in `{}`", args.dir.display());
            AppError::system(what).because(&error).print();
            // The one code of failure that clients of other versions know.
            ExitCode::FAILURE
        }
    }
}
