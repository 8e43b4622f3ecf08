//! Turns the path in a done file into an upload: finds the file or directory, and packs a directory
//! (docs/protocol.md, "Done file").

use std::fs::{File, FileType};
use std::io;
use std::num::NonZeroUsize;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use plumbline_archive::atomic::AtomicFile;
use plumbline_archive::pack::{PackOptions, pack_directory};
use plumbline_core::ReceiveLimits;
use plumbline_core::limits::ARCHIVE_ENTRIES;
use plumbline_phonehome::{CONTENT_TYPE_ARCHIVE, Source, Upload};
use tokio_util::sync::CancellationToken;

use crate::done_file::{DONE_FILE, kind_of, open_untrusted};
use crate::error::GatherError;

/// The common results directories. Plugins have one of them hard-coded.
///
/// A missing path below one of them is searched in the actual results directory.
const KNOWN_RESULTS_DIRS: [&str; 2] = ["/tmp/sonobuoy/results", "/tmp/results"];

/// The file name of a packed directory in the upload.
pub const PACKED_NAME: &str = "results.tar.gz";

/// Maximum number of left-out files to log, which is enough to recognize a pattern.
const SHOWN_LEFT_OUT: usize = 10;

/// The content types of clients of this protocol, by extension, on every machine.
const CONTENT_TYPES: &[(&str, &str)] = &[
    ("css", "text/css; charset=utf-8"),
    ("csv", "text/csv; charset=utf-8"),
    ("gif", "image/gif"),
    ("gz", CONTENT_TYPE_ARCHIVE),
    ("htm", "text/html; charset=utf-8"),
    ("html", "text/html; charset=utf-8"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript; charset=utf-8"),
    ("json", "application/json"),
    ("log", "text/plain; charset=utf-8"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("svg", "image/svg+xml"),
    ("txt", "text/plain; charset=utf-8"),
    ("wasm", "application/wasm"),
    ("webp", "image/webp"),
    ("xml", "text/xml; charset=utf-8"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
];

/// A result that is ready to upload.
pub(crate) struct Gathered {
    /// The path, for messages.
    pub(crate) path: PathBuf,
    pub(crate) upload: Upload,
    /// Keeps the file open to which `upload` refers.
    _pin: File,
    /// The archive of a directory, if its name is still needed. It is removed when it is dropped.
    _packed: Option<AtomicFile>,
}

/// Resolves `named`, and packs it if it is a directory, into at most `limit` bytes. Dropping the
/// future stops the packing.
pub(crate) async fn gather(results_dir: &Path, named: &str, limit: u64) -> Result<Gathered, GatherError> {
    let (results_dir, path) = (results_dir.to_owned(), named.to_owned());
    let cancelled = CancellationToken::new();
    let _cancel = cancelled.clone().drop_guard();
    let gathered = tokio::task::spawn_blocking(move || {
        let located = locate(&results_dir, &path)?;
        gather_located(&results_dir, &path, located, limit, &cancelled)
    });
    gathered.await.unwrap_or_else(|failed| Err(GatherError::Io(named.to_owned(), io::Error::other(failed))))
}

/// Packs a directory, and opens the file. The plugin may have replaced any part of the path.
fn gather_located(
    results_dir: &Path,
    named: &str,
    (located, kind): (PathBuf, FileType),
    limit: u64,
    cancelled: &CancellationToken,
) -> Result<Gathered, GatherError> {
    // An open directory stays open until the archive in it is open.
    let (opened, pinned) = pin(results_dir, named, &located, kind.is_dir())?;
    if kind.is_dir() {
        let packed = pack(&pinned, &located, results_dir, limit, cancelled)?;
        let (archive, source) = pin(results_dir, named, packed.temporary_path(), false)?;
        // An open file needs no name, and a killed worker then leaves nothing. Without /proc, it does.
        let packed = Some(packed).filter(|packed| packed.temporary_path() == source);
        let upload = Upload::result(Source::File(source), CONTENT_TYPE_ARCHIVE, Some(PACKED_NAME.to_owned()));
        return Ok(Gathered { path: located, upload, _pin: archive, _packed: packed });
    }
    let filename = located.file_name().and_then(|name| name.to_str()).map(str::to_owned);
    let upload = Upload::result(Source::File(pinned), content_type(&located), filename);
    Ok(Gathered { path: located, upload, _pin: opened, _packed: None })
}

/// Resolves the path in a done file. Returns its path without links, below the resolved results
/// directory, and its type.
///
/// A relative path starts at `results_dir`. Links are followed, as long as they stay inside.
pub(crate) fn locate(results_dir: &Path, named: &str) -> Result<(PathBuf, FileType), GatherError> {
    let failed = |error| GatherError::Io(named.to_owned(), error);
    let root = results_dir.canonicalize().map_err(failed)?;
    let below = KNOWN_RESULTS_DIRS.iter().filter_map(|known| Path::new(named).strip_prefix(known).ok());
    let mut outside = false;
    // Joining an absolute path returns that path.
    for candidate in std::iter::once(Path::new(named)).chain(below) {
        match results_dir.join(candidate).canonicalize() {
            Ok(path) if path == root.join(DONE_FILE) => return Err(GatherError::Itself(named.to_owned())),
            Ok(path) if path.starts_with(&root) => {
                let kind = path.symlink_metadata().map_err(failed)?.file_type();
                if kind.is_file() || kind.is_dir() {
                    return Ok((path, kind));
                }
                return Err(GatherError::NotSendable { named: named.to_owned(), kind: kind_of(kind) });
            }
            Ok(_) => outside = true,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
            Err(error) => return Err(failed(error)),
        }
    }
    let (named, results_dir) = (named.to_owned(), results_dir.to_owned());
    Err(if outside { GatherError::Outside { named, results_dir } } else { GatherError::Missing { named, results_dir } })
}

/// Opens the file or directory, and returns a path to what is open, independent of its name.
///
/// Otherwise, the plugin could replace a part of the path after it was checked.
fn pin(results_dir: &Path, named: &str, path: &Path, is_dir: bool) -> Result<(File, PathBuf), GatherError> {
    let failed = |error| GatherError::Io(named.to_owned(), error);
    let file = open_untrusted(path).map_err(failed)?;
    let kind = file.metadata().map_err(failed)?.file_type();
    let is_expected = if is_dir { kind.is_dir() } else { kind.is_file() };
    if !is_expected {
        return Err(GatherError::NotSendable { named: named.to_owned(), kind: kind_of(kind) });
    }
    let pinned = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    match pinned.read_link() {
        Ok(real) if real.starts_with(results_dir.canonicalize().map_err(failed)?) => Ok((file, pinned)),
        Ok(_) => Err(GatherError::Outside { named: named.to_owned(), results_dir: results_dir.to_owned() }),
        // Without /proc, the checked path is used.
        Err(_) => Ok((file, path.to_owned())),
    }
}

/// Packs `dir` into a temporary file inside it, with at most `limit` bytes. Blocks until it is done or
/// `cancelled`. `shown` is the path of the directory for messages.
///
/// The archive never has a name of its own in the directory: the plugin can have a file
/// [`PACKED_NAME`] there, which its done file may still name. The done file in `results_dir` is not
/// packed, and neither is what a killed worker left.
fn pack(
    dir: &Path,
    shown: &Path,
    results_dir: &Path,
    limit: u64,
    cancelled: &CancellationToken,
) -> Result<AtomicFile, GatherError> {
    let file = AtomicFile::create(&dir.join(PACKED_NAME))
        .map_err(|error| GatherError::Write(shown.join(PACKED_NAME), error))?;
    // One thread is enough, because the worker shares its node with the system under test.
    let options = PackOptions {
        threads: NonZeroUsize::MIN,
        max_bytes: Some(limit),
        exclude: vec![results_dir.join(DONE_FILE)],
        // The operator limits the number of entries, and only the aggregator knows that limit.
        entries: ARCHIVE_ENTRIES,
        ..PackOptions::for_upload(&ReceiveLimits::default())
    };
    let (file, packing) = pack_directory(dir, file, &options, &mut || cancelled.is_cancelled())
        .map_err(|error| GatherError::Pack(shown.to_owned(), error))?;
    let (entries, bytes) = (packing.entries, packing.digest.bytes);
    tracing::info!(dir = %shown.display(), entries, bytes, "packed the directory");
    if packing.skipped_total > 0 {
        let listed: Vec<_> = packing.skipped.iter().take(SHOWN_LEFT_OUT).map(ToString::to_string).collect();
        let rest = if packing.skipped_total > SHOWN_LEFT_OUT as u64 { ", and more" } else { "" };
        tracing::warn!("left {} out of the archive: {}{rest}", packing.skipped_total, listed.join(", "));
    }
    Ok(file)
}

/// Returns the content type for the last extension of a file name (docs/protocol.md, "Results"), or
/// an empty string.
///
/// `.tgz` is omitted: by convention, only `.gz` means "unpack this".
fn content_type(path: &Path) -> &'static str {
    let Some(extension) = path.extension().and_then(|e| e.to_str()) else { return "" };
    let known = CONTENT_TYPES.iter().find(|(known, _)| known.eq_ignore_ascii_case(extension));
    known.map_or("", |(_, content_type)| content_type)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    struct Fixture {
        _outer: tempfile::TempDir,
        outer: PathBuf,
        results: PathBuf,
    }

    fn place() -> Fixture {
        let outer = tempfile::tempdir().unwrap();
        let path = outer.path().canonicalize().unwrap();
        let results = path.join("results");
        fs::create_dir(&results).unwrap();
        fs::write(results.join("a.json"), "{}").unwrap();
        fs::create_dir(results.join("sub")).unwrap();
        fs::write(path.join("secret"), "s").unwrap();
        Fixture { _outer: outer, outer: path, results }
    }

    fn found(place: &Fixture, named: &str) -> PathBuf {
        locate(&place.results, named).unwrap().0
    }

    #[test]
    fn finds_files_and_directories() {
        let place = place();
        let absolute = place.results.join("a.json");
        assert_eq!(found(&place, absolute.to_str().unwrap()), absolute);
        assert_eq!(found(&place, "a.json"), absolute);
        assert_eq!(found(&place, "./sub/../a.json"), absolute);
        assert_eq!(found(&place, place.results.to_str().unwrap()), place.results);
        assert_eq!(found(&place, "sub/"), place.results.join("sub"));
    }

    #[test]
    fn maps_the_customary_results_directories() {
        let place = place();
        assert_eq!(found(&place, "/tmp/results/a.json"), place.results.join("a.json"));
        assert_eq!(found(&place, "/tmp/sonobuoy/results/a.json"), place.results.join("a.json"));
        assert!(matches!(locate(&place.results, "/tmp/results/b.json"), Err(GatherError::Missing { .. })));
        assert!(matches!(locate(&place.results, "/tmp/results/../../secret"), Err(GatherError::Missing { .. })));
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
        assert_eq!(located.0, place.results.join("a.json"));
    }

    #[test]
    fn refuses_what_leads_outside() {
        let place = place();
        symlink(place.outer.join("secret"), place.results.join("link")).unwrap();
        symlink("..", place.results.join("up")).unwrap();
        for named in ["/etc/passwd", "../secret", "sub/../../secret", "link", "up/secret", "up", "/", ".."] {
            let error = locate(&place.results, named).unwrap_err();
            assert!(matches!(error, GatherError::Outside { .. }), "{named}: {error}");
        }
    }

    #[test]
    fn refuses_what_is_not_there_or_cannot_be_sent() {
        let place = place();
        for named in ["nothing", "a.json/x", "/no/such/file", "dangling"] {
            symlink("nowhere", place.results.join("dangling")).ok();
            let error = locate(&place.results, named).unwrap_err();
            assert!(matches!(error, GatherError::Missing { .. }), "{named}: {error}");
        }
        let _socket = std::os::unix::net::UnixListener::bind(place.results.join("socket")).unwrap();
        let error = locate(&place.results, "socket").unwrap_err();
        assert!(matches!(error, GatherError::NotSendable { kind: "socket", .. }), "{error}");
        fs::write(place.results.join("done"), "done").unwrap();
        assert!(matches!(locate(&place.results, "done"), Err(GatherError::Itself(_))));
        symlink("round", place.results.join("round")).unwrap();
        assert!(matches!(locate(&place.results, "round"), Err(GatherError::Io(..))));
    }

    #[test]
    fn a_directory_that_is_replaced_by_a_link_is_not_packed() {
        let place = place();
        let gather_replaced = |named: &str, replaced: &str| {
            let located = locate(&place.results, named).unwrap();
            let (replaced, away) = (place.results.join(replaced), place.outer.join("away"));
            fs::rename(&replaced, &away).unwrap();
            symlink(&place.outer, &replaced).unwrap();
            let gathered = gather_located(&place.results, named, located, u64::MAX, &CancellationToken::new());
            fs::remove_file(&replaced).unwrap();
            fs::remove_dir_all(&away).unwrap();
            gathered.err()
        };
        assert!(gather_replaced("sub", "sub").is_some());
        assert!(!place.outer.join(PACKED_NAME).exists());
        fs::create_dir_all(place.results.join("a/deep")).unwrap();
        fs::create_dir(place.outer.join("deep")).unwrap();
        assert!(matches!(gather_replaced("a/deep", "a"), Some(GatherError::Outside { .. })));
        assert!(!place.outer.join("deep").join(PACKED_NAME).exists());
    }

    #[test]
    fn the_last_extension_decides() {
        for (name, expected) in [
            ("/tmp/results/e2e.tar.gz", "application/gzip"),
            ("x.gz", "application/gzip"),
            ("X.GZ", "application/gzip"),
            ("x.tgz", ""),
            ("x.gz.json", "application/json"),
            ("junit.xml", "text/xml; charset=utf-8"),
            ("index.html", "text/html; charset=utf-8"),
            ("notes.txt", "text/plain; charset=utf-8"),
            ("systemd_logs", ""),
            (".gz", ""),
            ("strange.xyz", ""),
            ("", ""),
        ] {
            assert_eq!(content_type(Path::new(name)), expected, "{name}");
        }
    }
}
