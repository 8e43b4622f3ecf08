//! The archives that tools read: those that the user named, and those in directories that the user
//! named. Also what is reported meanwhile.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;

use crate::context::{Context, Reporter};
use crate::error::{AppError, Explain as _};
use crate::mcp::answer::text_of;
use crate::modules::LimitsFile;
use crate::results::{archive_files, is_unpacked};

/// The most notes of an answer, and the most characters of each.
const MAX_NOTES: usize = 20;
const MAX_NOTE: usize = 500;

/// What tools read.
pub(crate) struct Archives {
    pub(super) context: Context,
    notes: Arc<Notes>,
    pub(super) sources: Sources,
    pub(super) limits: LimitsFile,
}

impl Archives {
    /// Opens nothing yet: each call of a tool reads what it needs.
    pub(super) fn new(context: &Context, paths: &[PathBuf], limits: &LimitsFile) -> Result<Self, AppError> {
        let notes = Arc::new(Notes::default());
        let context = Context { reporter: notes.clone(), ..context.clone() };
        Ok(Self { context, notes, sources: Sources::new(paths)?, limits: limits.clone() })
    }

    /// Returns what was reported since the last call.
    pub(super) fn take_notes(&self) -> Vec<String> {
        self.notes.take()
    }
}

/// Collects what is reported while a tool runs.
#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

impl Notes {
    fn add(&self, text: &str) {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if notes.len() < MAX_NOTES {
            notes.push(text_of(text, MAX_NOTE));
        }
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Reporter for Notes {
    fn error(&self, error: &AppError) {
        self.add(&format!("error: {error}"));
    }

    fn warning(&self, text: &str) {
        self.add(&format!("warning: {text}"));
    }

    fn hint(&self, text: &str) {
        self.add(&format!("hint: {text}"));
    }

    fn note(&self, text: &str) {
        self.add(text);
    }
}

/// The sources of runs. Clients name runs as [`Sources::runs`] lists them, and never a path.
pub(super) struct Sources(Vec<PathBuf>);

/// A run that clients can ask about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) path: PathBuf,
    /// The size of the archive; 0 for a directory.
    pub(super) bytes: u64,
    pub(super) modified: Option<Timestamp>,
}

impl Sources {
    /// Takes archives, unpacked archives, and directories with archives.
    pub(super) fn new(paths: &[PathBuf]) -> Result<Self, AppError> {
        let resolve = |path: &PathBuf| {
            path.canonicalize()
                .usage_error(format_args!("failed to read `{}`", path.display()))
                .hint("pass archives of runs (`*.tar.gz`), or directories with archives")
        };
        paths.iter().map(resolve).collect::<Result<_, _>>().map(Self)
    }

    /// The paths, for the history of runs.
    pub(super) fn paths(&self) -> &[PathBuf] {
        &self.0
    }

    /// The runs by name. Directories are read each time, because runs may be added to them.
    pub(super) fn runs(&self) -> Result<BTreeMap<String, Run>, AppError> {
        let mut runs = BTreeMap::new();
        for source in &self.0 {
            if source.is_dir() && !is_unpacked(source) {
                for path in archive_files(source)? {
                    // A link may lead anywhere.
                    if fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_file()) {
                        add(&mut runs, &path);
                    }
                }
            } else {
                add(&mut runs, source);
            }
        }
        Ok(runs)
    }

    /// The run of this name.
    pub(super) fn run(&self, name: &str) -> Result<Run, AppError> {
        self.runs()?
            .remove(name)
            .ok_or_else(|| AppError::usage("no run has this name").hint("call `runs` for the names of all runs"))
    }
}

fn add(runs: &mut BTreeMap<String, Run>, path: &Path) {
    let metadata = fs::metadata(path).ok();
    let modified = metadata.as_ref().and_then(|metadata| metadata.modified().ok());
    let run = Run {
        path: path.to_owned(),
        bytes: metadata.filter(fs::Metadata::is_file).map_or(0, |metadata| metadata.len()),
        modified: modified.and_then(|time| Timestamp::try_from(time).ok()),
    };
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    // Archives of the same name in several directories.
    let name = if runs.get(&name).is_some_and(|known| known.path != path) { path.display().to_string() } else { name };
    runs.insert(name, run);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_named_archives_and_those_in_named_directories_are_runs() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for name in ["runs/a.tar.gz", "runs/.b.tar.gz", "runs/note.txt", "more/a.tar.gz", "other/secret.tar.gz"] {
            fs::create_dir_all(at(name).parent().unwrap()).unwrap();
            fs::write(at(name), "x").unwrap();
        }
        fs::create_dir_all(at("unpacked/meta")).unwrap();
        std::os::unix::fs::symlink(at("other/secret.tar.gz"), at("runs/link.tar.gz")).unwrap();
        let sources = Sources::new(&[at("runs"), at("more"), at("unpacked")]).unwrap();
        let runs = sources.runs().unwrap();
        let more = fs::canonicalize(at("more/a.tar.gz")).unwrap().display().to_string();
        assert_eq!(runs.keys().map(String::as_str).collect::<Vec<_>>(), [more.as_str(), "a.tar.gz", "unpacked"]);
        assert_eq!(runs["a.tar.gz"].bytes, 1);
        for name in ["../other/secret.tar.gz", "link.tar.gz", "note.txt", "", "/etc/passwd", "runs"] {
            assert!(sources.run(name).is_err(), "{name}");
        }
        assert!(Sources::new(&[at("absent")]).is_err());
    }
}
