//! Writing the folder of a submission, completely or not at all, and its `README.md`, which tells how
//! to reproduce the results.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use plumbline_archive::disk::Disk;
use thiserror::Error;

use super::contents::{FILES, SubmissionPath};
use super::product::Product;

/// A submission that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assembled {
    /// The folder with the four files.
    pub folder: PathBuf,
    /// Names and sizes of the files, in the order of [`FILES`].
    pub files: Vec<(&'static str, u64)>,
}

/// Error while writing a submission. No files are left behind, unless only the last sync failed.
#[derive(Debug, Error)]
pub enum SubmissionError {
    /// The target already exists.
    #[error("`{0}` already exists")]
    Exists(PathBuf),
    /// A file or directory could not be written.
    #[error("failed to write `{path}`: {source}")]
    Write {
        /// Path of the file or directory.
        path: PathBuf,
        /// The underlying I/O error.
        source: io::Error,
    },
    /// The content of a file could not be produced.
    #[error("failed to produce `{file}`: {source}")]
    Content {
        /// Name of the file.
        file: &'static str,
        /// The underlying I/O error.
        source: io::Error,
    },
    /// A file would be empty, which a submission must not contain.
    #[error("`{0}` would be empty")]
    Empty(&'static str),
}

/// Writes the four files to `dir/vX.Y/product`. They are written to a temporary directory, which is
/// renamed when all are complete. On return, they are durable. `content` writes the content of the file
/// with the given name, in the order of [`FILES`].
pub fn assemble(
    place: &SubmissionPath,
    dir: &Path,
    content: &mut dyn FnMut(&'static str, &mut dyn Write) -> io::Result<()>,
) -> Result<Assembled, SubmissionError> {
    assemble_on(&Disk::default(), place, dir, content)
}

fn assemble_on(
    disk: &Disk,
    place: &SubmissionPath,
    dir: &Path,
    content: &mut dyn FnMut(&'static str, &mut dyn Write) -> io::Result<()>,
) -> Result<Assembled, SubmissionError> {
    let release = dir.join(place.release.to_string());
    let folder = release.join(&place.product);
    if folder.symlink_metadata().is_ok() {
        return Err(SubmissionError::Exists(folder));
    }
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| SubmissionError::Write { path, source }
    };
    disk.create_directories(&release).map_err(failed(&release))?;
    // The directory is on the same file system, so that the rename does not copy. It is removed on
    // an error.
    let staged = tempfile::Builder::new().prefix(".submission-").tempdir_in(dir).map_err(failed(dir))?;
    // Use a subdirectory, because temporary directories are private to their owner, but others must
    // be able to read a submission.
    let inside = staged.path().join(&place.product);
    fs::create_dir(&inside).map_err(failed(&inside))?;
    let mut files = Vec::new();
    for name in FILES {
        let path = inside.join(name);
        let mut file = BufWriter::new(File::create_new(&path).map_err(failed(&path))?);
        content(name, &mut file).map_err(|source| SubmissionError::Content { file: name, source })?;
        let file = file
            .into_inner()
            .map_err(|error| SubmissionError::Write { path: path.clone(), source: error.into_error() })?;
        file.sync_all().map_err(failed(&path))?;
        let bytes = file.metadata().map_err(failed(&path))?.len();
        if bytes == 0 {
            return Err(SubmissionError::Empty(name));
        }
        files.push((name, bytes));
    }
    disk.sync_directory(&inside).map_err(failed(&inside))?;
    disk.rename(&inside, &folder).map_err(failed(&folder))?;
    disk.sync_directory(&release).map_err(failed(&release))?;
    Ok(Assembled { folder, files })
}

/// Facts about the run.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// Location of the submission.
    pub place: &'a SubmissionPath,
    /// The tested product.
    pub product: &'a Product,
    /// Full version that the cluster reports: `v1.30.2-vendor.1`.
    pub kubernetes: &'a str,
    /// The tool that created the archive, with its version.
    pub tool: &'a str,
    /// ID of the run.
    pub run: Option<&'a str>,
    /// Number of tests that ran.
    pub ran: u64,
    /// Number of skipped tests.
    pub skipped: u64,
}

/// Returns the text in Markdown.
pub fn readme(facts: &Facts<'_>) -> String {
    let get = |field: &str| line(facts.product.get(field));
    let name = if get("name").is_empty() { facts.place.product.clone() } else { get("name") };
    // The numbers are not known if the results could not be read.
    let known = facts.ran > 0 || facts.skipped > 0;
    let tests = if known { format!("{} ran, {} skipped", facts.ran, facts.skipped) } else { String::new() };
    let rows = [
        ("vendor", get("vendor")),
        ("product", name.clone()),
        ("version", get("version")),
        ("Kubernetes", line(facts.kubernetes)),
        ("results by", line(facts.tool)),
        ("run", facts.run.map(line).unwrap_or_default()),
        ("tests", tests),
    ];
    let rows = rows.iter().filter(|(_, value)| !value.is_empty());
    let rows: String = rows.map(|(title, value)| format!("| {title} | {value} |\n")).collect();
    let docs = get("documentation_url");
    let docs = if docs.is_empty() { docs } else { format!(" (<{docs}>)") };
    format!(
        "# Conformance results of {name} for Kubernetes {}

| | |
|---|---|
{rows}
## Reproduce these results

1. Set up a cluster of {name} {} with at least two nodes that pods can run on{docs}.
2. Point `KUBECONFIG` at it, as a cluster's administrator.
3. Run the suite in the mode that certification requires, with this folder's `PRODUCT.yaml`:

   ```sh
   plumbline conformance run --submission-dir submission --product PRODUCT.yaml
   ```

4. `submission/{}` then holds `e2e.log` and `junit_01.xml` of the run. To check them against the rules again:

   ```sh
   plumbline conformance submission check submission
   ```
",
        facts.place.release,
        get("version"),
        facts.place
    )
}

/// Returns the text on one line, escaped for a table cell.
fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use plumbline_archive::disk::{Faults, Step};

    use super::*;

    /// Records the renames and the syncs of directories.
    #[derive(Default)]
    struct Steps(Mutex<Vec<String>>);

    impl Faults for Steps {
        fn step(&self, step: Step<'_>, act: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()> {
            let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
            match step {
                Step::Rename(_, to) => self.0.lock().unwrap().push(format!("rename to {}", name(to))),
                Step::SyncDirectory(dir) => self.0.lock().unwrap().push(format!("sync {}", name(dir))),
                _ => {}
            }
            act()
        }
    }

    fn place() -> SubmissionPath {
        SubmissionPath::new("v1.30".parse().unwrap(), "engine").unwrap()
    }

    #[test]
    fn four_files_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let done = assemble(&place(), dir.path(), &mut |name, out| out.write_all(name.as_bytes())).unwrap();
        assert_eq!(done.folder, dir.path().join("v1.30/engine"));
        for (name, bytes) in &done.files {
            assert_eq!(fs::read_to_string(done.folder.join(name)).unwrap(), *name);
            assert_eq!(*bytes, name.len() as u64);
        }
        assert_eq!(fs::read_dir(&done.folder).unwrap().count(), 4);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        let again = assemble(&place(), dir.path(), &mut |_, _| Ok(())).unwrap_err();
        assert!(matches!(again, SubmissionError::Exists(_)), "{again}");
    }

    #[test]
    fn a_folder_is_durable_before_its_rename_and_its_name_after_it() {
        let dir = tempfile::tempdir().unwrap();
        let steps = Arc::new(Steps::default());
        let disk = Disk::faulty(steps.clone());
        assemble_on(&disk, &place(), &dir.path().join("new"), &mut |_, out| out.write_all(b"x")).unwrap();
        let steps = steps.0.lock().unwrap();
        assert_eq!(steps[steps.len() - 3..], ["sync engine", "rename to engine", "sync v1.30"]);
        // The new directories above it are durable, too.
        let temporary = dir.path().file_name().unwrap().to_str().unwrap();
        assert_eq!(steps[..steps.len() - 3], [format!("sync {temporary}"), "sync new".to_owned()]);
    }

    #[test]
    fn an_interrupted_assembly_leaves_no_folder() {
        let dir = tempfile::tempdir().unwrap();
        let broken = assemble(&place(), dir.path(), &mut |name, out| match name {
            "e2e.log" => Err(io::Error::other("gone")),
            _ => out.write_all(b"x"),
        });
        assert!(broken.unwrap_err().to_string().contains("failed to produce `e2e.log`: gone"));
        let empty = assemble(&place(), dir.path(), &mut |_, _| Ok(())).unwrap_err();
        assert!(matches!(empty, SubmissionError::Empty("README.md")));
        assert_eq!(fs::read_dir(dir.path().join("v1.30")).unwrap().count(), 0);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn it_says_what_was_tested_and_how() {
        let product = Product::parse(
            b"vendor: A | B\nname: Engine\nversion: 1.30\ndocumentation_url: https://example.org/docs\n",
        )
        .unwrap();
        let place = SubmissionPath::new("v1.30".parse().unwrap(), "engine").unwrap();
        let facts = Facts {
            place: &place,
            product: &product,
            kubernetes: "v1.30.2",
            tool: "Plumbline v0.1.0",
            run: Some("r1"),
            ran: 402,
            skipped: 6799,
        };
        insta::assert_snapshot!(readme(&facts));
    }
}
