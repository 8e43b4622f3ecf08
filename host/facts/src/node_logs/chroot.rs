//! Executing a program in another root. The image of this program holds no `chroot`, and what happens between fork and exec would be unsafe
//! code: so this program starts itself, and that process enters the root and becomes the other program.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// Exit code when the root cannot be entered, by custom of `chroot`.
pub const CANNOT_ENTER: u8 = 125;
/// Exit code when the program is there and cannot be executed.
pub const CANNOT_EXECUTE: u8 = 126;
/// Exit code when the program is not there.
pub const NOT_FOUND: u8 = 127;

/// Where programs are looked for in another root.
pub(crate) const PATH: &str =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/run/current-system/sw/bin:/opt/bin";

/// Makes `root` the root of this process (which needs CAP_SYS_CHROOT), and becomes `program` there, with the environment as it
/// is: whoever starts this process says what a node's programs are told. Returns only if it fails: the exit code, and why.
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

/// Takes the environment away, but for what a program of a node needs: what this process was told is not its business.
pub(crate) fn clean(command: &mut Command) -> &mut Command {
    command.env_clear().env("PATH", PATH).env("LC_ALL", "C.UTF-8").env("SYSTEMD_COLORS", "0").env("SYSTEMD_PAGER", "")
}
