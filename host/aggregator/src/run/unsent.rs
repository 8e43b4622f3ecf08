//! Files of plugins whose results did not arrive. They are kept at the result's location, within
//! the limits of an upload.

use std::fs;
use std::io;
use std::path::Path;

use plumbline_archive::extract::{ExtractError, ExtractLimits, extract_tar_gz};
use plumbline_archive::layout::LEFT_OUT_FILE;
use plumbline_archive::pack::{PackError, PackOptions, pack_directory};
use plumbline_core::ReceiveLimits;

use crate::dispatcher::Unsent;

/// Error while keeping the files.
#[derive(Debug, thiserror::Error)]
pub(super) enum UnsentError {
    /// The files are not readable, or exceed the limit of an upload.
    #[error("failed to collect the files: {0}")]
    Pack(#[from] PackError),
    /// The files exceed the limit of an unpacked upload.
    #[error("failed to keep the files: {0}")]
    Extract(#[from] ExtractError),
    /// This machine failed.
    #[error("failed to keep the files: {0}")]
    Io(#[from] io::Error),
}

/// Copies the files of `unsent` to `target`, and returns their number. They are packed and unpacked
/// like an upload, so that the same rules apply to links, names, sizes and numbers.
pub(super) fn keep(unsent: &Unsent, target: &Path, scratch: &Path, limits: &ReceiveLimits) -> Result<u64, UnsentError> {
    let options = PackOptions {
        max_bytes: Some(limits.body_bytes),
        exclude: unsent.exclude.clone(),
        ..PackOptions::for_upload(limits)
    };
    let (mut packed, _) = pack_directory(&unsent.directory, tempfile::tempfile_in(scratch)?, &options, &mut || false)?;
    let out = tempfile::Builder::new().prefix("unsent-").tempdir_in(scratch)?;
    io::Seek::rewind(&mut packed)?;
    let extracted = extract_tar_gz(packed, out.path(), &ExtractLimits::from(limits))?;
    if extracted.files == 0 {
        return Ok(0);
    }
    // Do not count the list of entries that could not be packed, because the plugin did not write
    // it.
    let list = u64::from(out.path().join(LEFT_OUT_FILE).is_file());
    if let Some(parent) = target.parent() {
        fs::create_dir_all(parent)?;
    }
    // A resumed run may have been interrupted after this step and before post-processing.
    match fs::remove_dir_all(target) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    fs::rename(out.path(), target)?;
    fs::set_permissions(target, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    Ok(extracted.files.saturating_sub(list))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_kept_without_links_and_what_is_excluded() {
        let dir = tempfile::tempdir().unwrap();
        let from = dir.path().join("from");
        fs::create_dir_all(from.join("sub")).unwrap();
        fs::write(from.join("sub/a.xml"), "a").unwrap();
        fs::write(from.join("done"), "x").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", from.join("link")).unwrap();
        let unsent = Unsent { exclude: vec![from.join("done")], directory: from };
        let target = dir.path().join("tree/results/global");
        let kept = |limits: &ReceiveLimits| keep(&unsent, &target, dir.path(), limits);
        assert_eq!(kept(&ReceiveLimits::default()).unwrap(), 1);
        assert_eq!(kept(&ReceiveLimits::default()).unwrap(), 1, "again, after a restart");
        assert_eq!(fs::read_to_string(target.join("sub/a.xml")).unwrap(), "a");
        assert!(!target.join("done").exists() && !target.join("link").exists());
        let few = ReceiveLimits { entries: 1, ..ReceiveLimits::default() };
        assert!(matches!(kept(&few).unwrap_err(), UnsentError::Pack(_)));
    }
}
