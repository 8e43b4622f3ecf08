//! `plumbline archive-piece`: runs in the aggregator's pod for `plumbline retrieve`.

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use plumbline_app::AppError;
use plumbline_archive::finished::{copy_piece, list_archives, snapshot};

use crate::args::PieceArgs;

/// Bytes per write: a connection sends each write as a separate message.
const OUT_BYTES: usize = 64 << 10;

/// Lists the finished archives of a directory, or writes a piece of one to standard output.
pub(crate) fn piece(args: &PieceArgs) -> Result<ExitCode, AppError> {
    let mut out = BufWriter::with_capacity(OUT_BYTES, io::stdout().lock());
    let dir = args.dir.display();
    if args.snapshot {
        let what = format!("what the run in `{dir}` has gathered cannot be packed");
        snapshot(&args.dir, out).map_err(|error| AppError::system(what).because(&error))?;
    } else if let (Some(name), Some(offset), Some(length)) = (&args.name, args.offset, args.length) {
        let what = format!("failed to send a piece of archive `{name}` in `{dir}`");
        copy_piece(&args.dir, name, offset, length, &mut out)
            .map_err(|error| AppError::system(what).because(&error))?;
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
