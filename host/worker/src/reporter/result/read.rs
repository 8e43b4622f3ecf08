//! Reads the result file: one regular file in the results directory, with a size limit.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, MetadataExt, OpenOptions, OpenOptionsExt};

/// Maximum size of a result file in bytes: 1 MiB, according to the contract.
pub const MAX_FILE: u64 = 1 << 20;

/// Identifies a state of a file: which file it is, when it was written, and its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mark(u64);

impl Mark {
    /// Returns the mark of any hashable value.
    pub fn of(what: impl Hash) -> Self {
        // The hash is neither secret nor stored. It only has to differ when the file does.
        let mut hasher = DefaultHasher::new();
        what.hash(&mut hasher);
        Self(hasher.finish())
    }
}

/// The outcome of reading the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Read {
    /// There is no file.
    Absent,
    /// The file cannot be read as a result.
    Unusable {
        /// The reason, which follows a colon in messages.
        why: String,
        /// Identifies the state of the file.
        mark: Mark,
    },
    /// The file was read.
    Bytes {
        /// The whole content, at most [`MAX_FILE`] bytes.
        bytes: Vec<u8>,
        /// Identifies the state of the file.
        mark: Mark,
    },
}

impl Read {
    fn unusable(why: impl Into<String>) -> Self {
        let why = why.into();
        let mark = Mark::of(&why);
        Self::Unusable { why, mark }
    }
}

/// Reads the file at `path`, whose directory is the results directory. Blocks.
///
/// Links are followed if they stay in that directory, like those of volumes (`..data`). A link that
/// leads outside is rejected, and so is everything but a regular file.
#[must_use]
pub fn read(path: &Path) -> Read {
    let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
        return Read::unusable(format!("`{}` is not a path to a file", path.display()));
    };
    match try_read(directory, Path::new(name)) {
        Ok(read) => read,
        Err(error) if error.kind() == ErrorKind::NotFound => Read::Absent,
        Err(error) => Read::unusable(format!("failed to read `{}`: {error}", path.display())),
    }
}

fn try_read(directory: &Path, name: &Path) -> io::Result<Read> {
    let directory = Dir::open_ambient_dir(directory, ambient_authority())?;
    // The type is checked before opening, because opening a device or a pipe already has an effect.
    if !directory.metadata(name)?.is_file() {
        return Ok(Read::unusable("it is not a regular file"));
    }
    let mut options = OpenOptions::new();
    // The file may have become a pipe in the meantime, and opening one blocks.
    options.read(true).custom_flags(NONBLOCK);
    let file = directory.open_with(name, &options)?;
    let about = file.metadata()?;
    if !about.is_file() {
        return Ok(Read::unusable("it is not a regular file"));
    }
    let state = (about.ino(), about.mtime(), about.mtime_nsec());
    // The reported size is not trusted: one byte more than the limit is enough.
    let mut bytes = Vec::new();
    file.take(MAX_FILE + 1).read_to_end(&mut bytes)?;
    let mark = Mark::of((state, &bytes));
    if bytes.len() as u64 > MAX_FILE {
        return Ok(Read::Unusable { why: format!("the file is larger than {MAX_FILE} bytes"), mark });
    }
    Ok(Read::Bytes { bytes, mark })
}

/// `O_NONBLOCK`, which has the same value on every Linux architecture that is built.
#[cfg(target_os = "linux")]
const NONBLOCK: i32 = rustix::fs::OFlags::NONBLOCK.bits() as i32;
#[cfg(not(target_os = "linux"))]
const NONBLOCK: i32 = 0;

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn bytes(path: &Path) -> Option<Vec<u8>> {
        match read(path) {
            Read::Bytes { bytes, .. } => Some(bytes),
            _ => None,
        }
    }

    #[track_caller]
    fn refused(path: &Path, told: &str) {
        let Read::Unusable { why, .. } = read(path) else { panic!("{:?}", read(path)) };
        assert!(why.contains(told), "{why}");
    }

    #[test]
    fn a_file_is_read_and_its_state_told() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.json");
        assert_eq!(read(&path), Read::Absent);
        assert_eq!(read(&dir.path().join("no/r.json")), Read::Absent);
        fs::write(&path, "a").unwrap();
        let Read::Bytes { mark: first, bytes } = read(&path) else { panic!() };
        assert_eq!(bytes, b"a");
        assert_eq!(read(&path), Read::Bytes { bytes, mark: first });
        fs::write(&path, "b").unwrap();
        assert!(matches!(read(&path), Read::Bytes { mark, .. } if mark != first));
    }

    #[test]
    fn a_mebibyte_is_taken_and_a_byte_more_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.json");
        fs::write(&path, vec![b' '; 1 << 20]).unwrap();
        assert_eq!(bytes(&path).unwrap().len(), 1 << 20);
        fs::write(&path, vec![b' '; (1 << 20) + 1]).unwrap();
        refused(&path, "larger than 1048576 bytes");
        // The size would not fit into memory, so it must not be trusted.
        fs::File::create(&path).unwrap().set_len(1 << 40).unwrap();
        refused(&path, "larger than 1048576 bytes");
    }

    #[test]
    fn links_inside_are_followed_as_volumes_make_them() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("..2026_1")).unwrap();
        fs::write(dir.path().join("..2026_1/r.json"), "x").unwrap();
        symlink("..2026_1", dir.path().join("..data")).unwrap();
        symlink("..data/r.json", dir.path().join("r.json")).unwrap();
        assert_eq!(bytes(&dir.path().join("r.json")).unwrap(), b"x");
    }

    #[test]
    fn links_out_of_the_directory_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let results = dir.path().join("results");
        fs::create_dir(&results).unwrap();
        fs::write(dir.path().join("secret"), r#"{"status":"success"}"#).unwrap();
        let path = results.join("r.json");
        for target in ["../secret".into(), dir.path().join("secret"), "/etc/passwd".into()] {
            symlink(&target, &path).unwrap();
            refused(&path, "failed to read");
            fs::remove_file(&path).unwrap();
        }
        symlink("r.json", &path).unwrap();
        refused(&path, "failed to read");
    }

    #[test]
    fn only_a_regular_file_is_a_file_and_nothing_hangs() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.json");
        fs::create_dir(&path).unwrap();
        refused(&path, "not a regular file");
        fs::remove_dir(&path).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        refused(&path, "not a regular file");
        fs::remove_file(&path).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(&path).unwrap();
        refused(&path, "not a regular file");
    }
}
