//! Executes a program in another root.
//!
//! The image of this program has no `chroot`, and running code between fork and exec would need
//! unsafe code. Instead this program starts itself, and that process enters the root and becomes
//! the other program.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// Exit code when the root cannot be entered, as in `chroot`.
pub const CANNOT_ENTER: u8 = 125;
/// Exit code when the program exists but cannot be executed.
pub const CANNOT_EXECUTE: u8 = 126;
/// Exit code when the program does not exist.
pub const NOT_FOUND: u8 = 127;

/// Search path for programs in another root.
pub(crate) const PATH: &str =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/run/current-system/sw/bin:/opt/bin";

/// Makes `root` the root of this process, and replaces the process with `program`.
///
/// This needs CAP_SYS_CHROOT. The environment is passed on unchanged, so the caller decides what
/// the node's programs see. Returns only on failure, with an exit code and the cause.
#[must_use]
pub fn enter(root: &Path, program: &str, args: &[String]) -> (u8, io::Error) {
    if let Err(error) =
        rustix::process::chroot(root).map_err(io::Error::from).and_then(|()| std::env::set_current_dir("/"))
    {
        return (CANNOT_ENTER, error);
    }
    let error = Command::new(program).args(args).exec();
    let code = if error.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { CANNOT_EXECUTE };
    (code, error)
}

/// Removes all environment variables except those that a program of a node needs. The others may
/// hold secrets.
pub(crate) fn clean(command: &mut Command) -> &mut Command {
    command.env_clear().env("PATH", PATH).env("LC_ALL", "C.UTF-8").env("SYSTEMD_COLORS", "0").env("SYSTEMD_PAGER", "")
}
