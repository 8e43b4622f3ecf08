//! Step 2: rustup adds the target to the toolchain.

use std::env;
use std::ffi::OsString;
use std::process::Command;

use super::rustc::Rustc;
use super::target::Target;
use crate::error::Error;
use crate::process;
use crate::report::print_status;

/// The variable that forbids downloads by rustup.
const AUTO_INSTALL: &str = "RUSTUP_AUTO_INSTALL";

/// Lets rustup add the target, unless downloads are forbidden.
pub(super) fn add(rustc: &Rustc, target: Target) -> Result<(), Error> {
    if forbidden(env::var_os(AUTO_INSTALL)) {
        return Err(Error::unexpected(format!("{AUTO_INSTALL} is 0: rustup must not download")));
    }
    let triple = target.triple;
    print_status(format_args!(
        "installing the {triple} standard library into the Rust toolchain: rustup target add {triple}"
    ));
    process::output(Command::new("rustup").args(["target", "add", triple]))?;
    if rustc.has_target(target) {
        Ok(())
    } else {
        Err(Error::unexpected(format!(
            "rustup added the target, but `{}` looks for it in `{}`: is it another toolchain's?",
            rustc.line,
            rustc.sysroot.display()
        )))
    }
}

fn forbidden(auto_install: Option<OsString>) -> bool {
    auto_install.is_some_and(|value| value == "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_forbids_downloads() {
        assert!(forbidden(Some("0".into())));
        assert!(!forbidden(Some("1".into())));
        assert!(!forbidden(None));
    }
}
