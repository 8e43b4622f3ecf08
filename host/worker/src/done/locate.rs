//! Resolves the path in a done file to a file or directory inside the results directory.

use std::io;
use std::path::{Path, PathBuf};

use super::file::{DONE_FILE, kind_of};

/// The common results directories. Plugins have one of them hard-coded.
///
/// A path below one of them that does not exist is searched in the actual results directory.
pub const KNOWN_RESULTS_DIRS: [&str; 2] = ["/tmp/sonobuoy/results", "/tmp/results"];

/// A file or directory that can be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// Its path without links, below the resolved results directory.
    pub path: PathBuf,
    /// Whether it is a file or a directory.
    pub kind: Kind,
}

/// The kind of result to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A file, sent unchanged.
    File,
    /// A directory, which is packed first.
    Directory,
}

/// Error while resolving the path in a done file.
#[derive(Debug, thiserror::Error)]
pub enum LocateError {
    /// The path does not exist.
    #[error(
        "the done file names `{named}`, which does not exist: it must be a path below `{}`, the directory that plugin and worker share",
        results_dir.display()
    )]
    Missing {
        /// The path as written.
        named: String,
        /// The actual results directory.
        results_dir: PathBuf,
    },
    /// The path leads out of the results directory: directly, through `..`, or through a link.
    #[error("the done file names `{named}`, which is outside of the results directory `{}`", results_dir.display())]
    Outside {
        /// The path as written.
        named: String,
        /// The actual results directory.
        results_dir: PathBuf,
    },
    /// The path is the done file itself.
    #[error("the done file names itself (`{named}`): it must name the file or directory with the results")]
    Itself {
        /// The path as written.
        named: String,
    },
    /// The path is neither a file nor a directory.
    #[error("the done file names `{named}`, which is a {kind}: only regular files and directories can be sent")]
    NotSendable {
        /// The path as written.
        named: String,
        /// The actual type.
        kind: &'static str,
    },
    /// The path could not be accessed.
    #[error("the done file names `{named}`, which cannot be read")]
    Io {
        /// The path as written.
        named: String,
        /// The underlying I/O error.
        source: io::Error,
    },
}

/// Resolves the path in a done file. A relative path starts at `results_dir`. Links are followed,
/// as long as they stay inside.
///
/// # Errors
/// Returns [`LocateError`] if the path does not lead to a file or directory inside the results
/// directory.
pub fn locate(results_dir: &Path, named: &str) -> Result<Located, LocateError> {
    let io_error = |source| LocateError::Io { named: named.to_owned(), source };
    let root = results_dir.canonicalize().map_err(io_error)?;
    let mut outside = false;
    for candidate in candidates(results_dir, named) {
        match candidate.canonicalize() {
            Ok(path) if path == root.join(DONE_FILE) => return Err(LocateError::Itself { named: named.to_owned() }),
            Ok(path) if path.starts_with(&root) => {
                let file_type = path.symlink_metadata().map_err(io_error)?.file_type();
                let kind = if file_type.is_file() {
                    Kind::File
                } else if file_type.is_dir() {
                    Kind::Directory
                } else {
                    return Err(LocateError::NotSendable { named: named.to_owned(), kind: kind_of(file_type) });
                };
                return Ok(Located { path, kind });
            }
            Ok(_) => outside = true,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
            Err(error) => return Err(io_error(error)),
        }
    }
    let (named, results_dir) = (named.to_owned(), results_dir.to_owned());
    Err(if outside { LocateError::Outside { named, results_dir } } else { LocateError::Missing { named, results_dir } })
}

/// Returns the path itself, and, if it is below a common results directory, the same path in the
/// actual one.
fn candidates(results_dir: &Path, named: &str) -> Vec<PathBuf> {
    // Joining an absolute path returns that path.
    let mut candidates = vec![results_dir.join(named)];
    for known in KNOWN_RESULTS_DIRS {
        if let Ok(below) = Path::new(named).strip_prefix(known) {
            candidates.push(results_dir.join(below));
        }
    }
    candidates
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    struct Place {
        _outer: tempfile::TempDir,
        outer: PathBuf,
        results: PathBuf,
    }

    fn place() -> Place {
        let outer = tempfile::tempdir().unwrap();
        let path = outer.path().canonicalize().unwrap();
        let results = path.join("results");
        fs::create_dir(&results).unwrap();
        fs::write(results.join("a.json"), "{}").unwrap();
        fs::create_dir(results.join("sub")).unwrap();
        fs::write(path.join("secret"), "s").unwrap();
        Place { _outer: outer, outer: path, results }
    }

    fn found(place: &Place, named: &str) -> PathBuf {
        locate(&place.results, named).unwrap().path
    }

    #[test]
    fn finds_files_and_directories() {
        let place = place();
        let absolute = place.results.join("a.json");
        let located = locate(&place.results, absolute.to_str().unwrap()).unwrap();
        assert_eq!(located, Located { path: absolute.clone(), kind: Kind::File });
        assert_eq!(found(&place, "a.json"), absolute);
        assert_eq!(found(&place, "./sub/../a.json"), absolute);
        let whole = locate(&place.results, place.results.to_str().unwrap()).unwrap();
        assert_eq!(whole, Located { path: place.results.clone(), kind: Kind::Directory });
        assert_eq!(locate(&place.results, "sub/").unwrap().kind, Kind::Directory);
    }

    #[test]
    fn maps_the_customary_results_directories() {
        let place = place();
        assert_eq!(found(&place, "/tmp/results/a.json"), place.results.join("a.json"));
        assert_eq!(found(&place, "/tmp/sonobuoy/results/a.json"), place.results.join("a.json"));
        assert!(matches!(locate(&place.results, "/tmp/results/b.json"), Err(LocateError::Missing { .. })));
        assert!(matches!(locate(&place.results, "/tmp/results/../../secret"), Err(LocateError::Missing { .. })));
    }

    #[test]
    fn follows_links_that_stay_inside() {
        let place = place();
        symlink(place.results.join("a.json"), place.results.join("latest")).unwrap();
        assert_eq!(found(&place, "latest"), place.results.join("a.json"));
        // The results directory itself may be a link, on either side.
        symlink(&place.results, place.outer.join("alias")).unwrap();
        let through = place.outer.join("alias/a.json");
        assert_eq!(found(&place, through.to_str().unwrap()), place.results.join("a.json"));
        let located = locate(&place.outer.join("alias"), place.results.join("a.json").to_str().unwrap()).unwrap();
        assert_eq!(located.path, place.results.join("a.json"));
    }

    #[test]
    fn refuses_what_leads_outside() {
        let place = place();
        symlink(place.outer.join("secret"), place.results.join("link")).unwrap();
        symlink("..", place.results.join("up")).unwrap();
        for named in ["/etc/passwd", "../secret", "sub/../../secret", "link", "up/secret", "up", "/", ".."] {
            let error = locate(&place.results, named).unwrap_err();
            assert!(matches!(error, LocateError::Outside { .. }), "{named}: {error}");
        }
    }

    #[test]
    fn refuses_what_is_not_there_or_cannot_be_sent() {
        let place = place();
        for named in ["nothing", "a.json/x", "/no/such/file", "dangling"] {
            symlink("nowhere", place.results.join("dangling")).ok();
            let error = locate(&place.results, named).unwrap_err();
            assert!(matches!(error, LocateError::Missing { .. }), "{named}: {error}");
        }
        let _socket = std::os::unix::net::UnixListener::bind(place.results.join("socket")).unwrap();
        let error = locate(&place.results, "socket").unwrap_err();
        assert!(matches!(error, LocateError::NotSendable { kind: "socket", .. }), "{error}");
        fs::write(place.results.join("done"), "done").unwrap();
        assert!(matches!(locate(&place.results, "done"), Err(LocateError::Itself { .. })));
        symlink("round", place.results.join("round")).unwrap();
        assert!(matches!(locate(&place.results, "round"), Err(LocateError::Io { .. })));
    }
}
