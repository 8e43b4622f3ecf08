//! The Debian package: an `ar` archive of two tar archives.

use super::inputs::{Inputs, Program};
use super::{REPOSITORY, VERSION};
use crate::error::Error;
use crate::image::tree::{self, Tree, add_file};
use crate::program::Platform;

/// The revision of the package for one version of the program.
const REVISION: u32 = 1;
/// Where the package puts each completion script.
const COMPLETIONS: [(&str, &str); 3] = [
    ("plumbline.bash", "usr/share/bash-completion/completions/plumbline"),
    ("_plumbline", "usr/share/zsh/vendor-completions/_plumbline"),
    ("plumbline.fish", "usr/share/fish/vendor_completions.d/plumbline.fish"),
];

/// Returns the name of the package file.
pub(super) fn name(platform: Platform) -> String {
    format!("plumbline_{VERSION}-{REVISION}_{}.deb", platform.architecture)
}

/// Makes the package.
pub(super) fn pack(inputs: &Inputs, program: &Program) -> Result<Vec<u8>, Error> {
    let (mut data, docs) = (Tree::new(), &inputs.docs);
    add_file(&mut data, "usr/bin/plumbline", 0o755, &program.bytes);
    add_file(&mut data, "usr/share/doc/plumbline/copyright", 0o644, copyright().as_bytes());
    let changelog = tree::gzip(&docs.changelog)?;
    add_file(&mut data, "usr/share/doc/plumbline/changelog.gz", 0o644, &changelog);
    for (name, path) in COMPLETIONS {
        if let Some(script) = docs.completions.get(name) {
            add_file(&mut data, path, 0o644, script);
        }
    }
    for (name, page) in &docs.pages {
        add_file(&mut data, &format!("usr/share/man/man1/{name}.gz"), 0o644, &tree::gzip(page)?);
    }
    let mut control = Tree::new();
    add_file(&mut control, "control", 0o644, description(program.platform, tree::size(&data)).as_bytes());
    Ok(ar(&[
        ("debian-binary", b"2.0\n"),
        ("control.tar.gz", &tree::compress(&control)?),
        ("data.tar.gz", &tree::compress(&data)?),
    ]))
}

/// Returns the control file. `size` is that of the installed files in bytes.
fn description(platform: Platform, size: u64) -> String {
    format!(
        "Package: plumbline\n\
         Version: {VERSION}-{REVISION}\n\
         Section: admin\n\
         Priority: optional\n\
         Architecture: {}\n\
         Installed-Size: {}\n\
         Maintainer: Plumbline maintainers <plumbline-dev@users.noreply.github.com>\n\
         Homepage: {REPOSITORY}\n\
         Description: run checks on a Kubernetes cluster or on one machine\n\
         \x20Plumbline runs checks as plugins, on a cluster or on one machine, and turns\n\
         \x20their output into one verdict and one archive. It runs the conformance suite\n\
         \x20of Kubernetes and plugins written for Sonobuoy.\n",
        platform.architecture,
        size.div_ceil(1024),
    )
}

/// Returns the copyright file in Debian's machine-readable format.
fn copyright() -> String {
    format!(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\
         Upstream-Name: plumbline\n\
         Source: {REPOSITORY}\n\
         \n\
         Files: *\n\
         Copyright: the Plumbline authors\n\
         License: Apache-2.0\n\
         \x20On Debian systems, the text of the licence is in\n\
         \x20/usr/share/common-licenses/Apache-2.0.\n"
    )
}

/// Returns an `ar` archive. Names have at most 15 characters. Files belong to root and have no time.
fn ar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = b"!<arch>\n".to_vec();
    for (name, bytes) in files {
        let header = format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 100_644, bytes.len());
        archive.extend(header.as_bytes());
        archive.extend(*bytes);
        if bytes.len() % 2 == 1 {
            archive.push(b'\n');
        }
    }
    archive
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_start_at_even_offsets() {
        let archive = ar(&[("a", b"1"), ("b", b"22")]);
        assert_eq!(archive.len(), 8 + 60 + 2 + 60 + 2);
        assert_eq!(&archive[8..24], b"a               ");
        assert_eq!(&archive[66..70], b"`\n1\n");
        assert_eq!(&archive[70..72], b"b ");
    }
}
