//! Results into the directory that plugin and worker share, and the done file that names what is to be sent.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use plumbline_app::AppError;
use plumbline_archive::pack::{PackOptions, pack_directory};

use super::report::{self, Content};
use crate::args::{Ending, TestPluginArgs};

/// Where the results stand before they are sent, below the shared directory: apart from the done file, so that a directory that is
/// sent has nothing else in it.
const OUTPUT_DIR: &str = "test-plugin";
/// The archive of [`OUTPUT_DIR`], beside it.
const ARCHIVE: &str = "test-plugin.tar.gz";
/// The other file.
const EXTRA: &str = "extra.bin";
/// How the done file is called.
const DONE: &str = "done";
/// How it is called until it is whole.
const DONE_PARTIAL: &str = ".done.partial";
/// How much of the other file is made at a time.
const PIECE: usize = 64 * 1024;

/// Writes what is asked for, and gives what is to be sent.
pub(crate) fn results(args: &TestPluginArgs) -> Result<PathBuf, AppError> {
    let dir = args.results_dir.join(OUTPUT_DIR);
    let content = Content { items: args.items, last_fails: args.outcome == Ending::Fail };
    let file = dir.join(report::file_name(args.format));
    fs::create_dir_all(&dir).map_err(cannot("create", &dir))?;
    write_file(&file, |out| report::write(args.format, content, out))?;
    if let Some(bytes) = args.bytes {
        write_file(&dir.join(EXTRA), |out| noise(bytes, out))?;
    }
    if args.archive {
        let archive = args.results_dir.join(ARCHIVE);
        pack(&dir, &archive)?;
        return Ok(archive);
    }
    Ok(if args.bytes.is_some() { dir } else { file })
}

/// Half of the results, as a plugin leaves them that dies.
pub(crate) fn half(args: &TestPluginArgs) -> Result<(), AppError> {
    let dir = args.results_dir.join(OUTPUT_DIR);
    let content = Content { items: args.items, last_fails: false };
    fs::create_dir_all(&dir).map_err(cannot("create", &dir))?;
    write_file(&dir.join(report::file_name(args.format)), |out| report::write_half(args.format, content, out))
}

/// Says that `sent` is to be sent. The worker never sees half a path: the file gets its name when it is whole.
pub(crate) fn done(results_dir: &Path, sent: &Path) -> Result<(), AppError> {
    let partial = results_dir.join(DONE_PARTIAL);
    let done = results_dir.join(DONE);
    fs::write(&partial, sent.as_os_str().as_encoded_bytes()).map_err(cannot("write", &partial))?;
    fs::rename(&partial, &done).map_err(cannot("write", &done))
}

fn write_file(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> Result<(), AppError> {
    let written = File::create(path).and_then(|file| {
        let mut out = BufWriter::new(file);
        write(&mut out)?;
        out.flush()
    });
    written.map_err(cannot("write", path))
}

/// An archive that another user may read: the worker need not be the one that the plugin is.
fn pack(dir: &Path, archive: &Path) -> Result<(), AppError> {
    let file = File::create(archive).map_err(cannot("write", archive))?;
    pack_directory(dir, file, &PackOptions::single_threaded(), &mut || false)
        .map_err(|error| AppError::system(format!("failed to pack `{}`", dir.display())).because(&error))?;
    Ok(())
}

/// Bytes that no compression makes smaller, the same every time.
fn noise(bytes: u64, out: &mut impl Write) -> io::Result<()> {
    // Xorshift: not random for anybody's purpose, but gzip finds nothing in it.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut piece = Vec::with_capacity(PIECE);
    let mut left = bytes;
    while left > 0 {
        piece.clear();
        while piece.len() < PIECE {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            piece.extend_from_slice(&state.to_le_bytes());
        }
        let now = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
        piece.truncate(now);
        out.write_all(&piece)?;
        left = left.saturating_sub(now as u64);
    }
    Ok(())
}

/// What could not be done with a file of the shared directory.
pub(crate) fn cannot(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> AppError {
    let path = path.display().to_string();
    move |error| {
        AppError::system(format!("could not {action} `{path}`"))
            .because(&error)
            .hint("the directory that plugin and worker share must be writable for the plugin's user")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_has_the_size_that_was_asked_for() {
        for bytes in [0, 1, 65_535, 65_536, 65_537, 200_000] {
            let mut out = Vec::new();
            noise(bytes, &mut out).unwrap();
            assert_eq!(out.len() as u64, bytes);
        }
    }
}
