//! Copies the files that a profile submits from an archive into a folder, and checks such a folder.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use plumbline_archive::atomic::parent_directory;
use plumbline_archive::disk::Disk;
use plumbline_archive::layout::META_MODULES;
use plumbline_archive::results::ResultsArchive;
use plumbline_bundle::profile::{Profile, Source, SubmittedFile};
use plumbline_bundle::signing::named_path;
use plumbline_conformance::submission::{Finding, rules};
use plumbline_core::Definition;
use plumbline_core::size::Bytes;
use serde_json::Value;
use tempfile::TempDir;

use super::find::FoundProfile;
use crate::attest::{AttestationTrust, SubmittedSuite, TestOutcome, outcome_of};
use crate::context::Context;
use crate::error::{AppError, Explain as _};
use crate::submission::attestation_finding;

/// The largest submitted file, in bytes.
const MAX_FILE: u64 = 1 << 30;

/// The largest `definition.json` with values of options, in bytes.
const MAX_DEFINITION: u64 = 16 << 20;

/// A submission that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submitted {
    /// The folder.
    pub dir: PathBuf,
    /// The names of its files.
    pub files: Vec<String>,
    /// The suite that ran, as the archive says.
    pub suite: SubmittedSuite,
}

/// Checks before a run that its results can be submitted into `dir`.
pub fn can_submit(profile: &Profile, dir: &Path) -> Result<(), AppError> {
    if profile.submission.is_empty() {
        return Err(AppError::usage(format!("profile `{}` submits no files", profile.name))
            .hint("leave out `--submission-dir`; the archive has all results"));
    }
    match named_path(dir).symlink_metadata() {
        Err(_) => Ok(()),
        Ok(_) => Err(AppError::usage(format!("failed to write the submission: `{}` exists", dir.display()))
            .hint("remove it, or choose another directory with `--submission-dir`")),
    }
}

/// Returns the mode of a run whose results will be submitted: the one that the user names, or else
/// the one whose results the profile submits.
pub fn mode_to_submit(profile: &Profile, named: Option<String>) -> Result<Option<String>, AppError> {
    match (profile.submitted_mode(), named) {
        (Some(submitted), Some(named)) if submitted.name != named => {
            Err(AppError::usage("the results of this run could not be submitted")
                .cause(format!("results of the mode `{named}` are not submitted, only those of `{}`", submitted.name))
                .hint("leave out `--submission-dir`, or `--mode`"))
        }
        (Some(submitted), _) => Ok(Some(submitted.name.clone())),
        (None, named) => Ok(named),
    }
}

/// Copies the files that the profile submits from `archive` into the new directory `dir`: all of them
/// or none. The run must have been one of this profile, in which nothing failed.
pub fn submit(context: &Context, found: &FoundProfile, archive: &Path, dir: &Path) -> Result<Submitted, AppError> {
    // A directory cannot be renamed to `sub/.`.
    let (profile, dir) = (&found.profile, &named_path(dir));
    can_submit(profile, dir)?;
    must_have_passed(context, archive)?;
    let wrong = |error: &dyn std::error::Error| {
        AppError::usage(format!("failed to read archive `{}`", archive.display()))
            .because(error)
            .hint("download the archive again with `plumbline retrieve`")
    };
    let write = |path: &Path, error: &io::Error| {
        AppError::system(format!("failed to write `{}`", path.display())).because(error)
    };
    let mut opened = ResultsArchive::open(archive).map_err(|error| wrong(&error))?;
    let definition = definition(profile, &mut opened).map_err(|error| wrong(&*error))?;
    let suite = suite_in(&definition, &mut opened, found, archive)?;
    let parent = parent_directory(dir);
    Disk::default().create_directories(parent).map_err(|error| write(parent, &error))?;
    let staging = tempfile::tempdir_in(parent).map_err(|error| write(parent, &error))?;
    let mut files = Vec::new();
    for file in &profile.submission {
        let path = staging.path().join(&file.name);
        let create = || File::create(&path).map_err(|error| write(&path, &error));
        let out = match &file.source {
            Source::Archive(from) => {
                let Some(bytes) = opened.size(from) else {
                    return Err(AppError::usage(format!("archive `{}` has no file `{from}`", archive.display()))
                        .cause(format!("profile `{}` submits it as `{}`", profile.name, file.name))
                        .hint("run the suite again; if the file is missing again, correct the profile"));
                };
                if bytes > MAX_FILE {
                    let reason = format!("`{from}` has {}: the limit is {}", Bytes(bytes), Bytes(MAX_FILE));
                    return Err(wrong(&io::Error::other(reason)));
                }
                let mut out = create()?;
                let mut reader = opened.file(from).map_err(|error| wrong(&error))?;
                io::copy(&mut reader, &mut out).map_err(|error| wrong(&error))?;
                out
            }
            // What the run got is submitted, and not what a file contains now.
            Source::Option(name) => {
                let value = profile.option(name).and_then(|option| option.value_in(&definition));
                let Some(value) = value else { continue };
                let mut out = create()?;
                out.write_all(value.as_bytes()).map_err(|error| write(&path, &error))?;
                out
            }
        };
        out.sync_all().map_err(|error| write(&path, &error))?;
        files.push(file.name.clone());
    }
    publish(&Disk::default(), staging, dir).map_err(|error| write(dir, &error))?;
    Ok(Submitted { dir: dir.to_owned(), files, suite })
}

/// Moves a folder with complete files to `dir`. On return, it is durable there.
fn publish(disk: &Disk, staging: TempDir, dir: &Path) -> io::Result<()> {
    // A temporary directory is private, and a submission is for others.
    let public = <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o755);
    fs::set_permissions(staging.path(), public)?;
    disk.sync_directory(staging.path())?;
    disk.rename(staging.path(), dir)?;
    // The directory was renamed, so there is nothing to remove at its old path.
    let _ = staging.keep();
    disk.sync_directory(parent_directory(dir))
}

/// Rejects a run that did not pass, and one whose failures were excused: only the programme may excuse
/// failures, and its rules are judges of the profile.
fn must_have_passed(context: &Context, archive: &Path) -> Result<(), AppError> {
    let (outcome, verdict) = outcome_of(context, archive)?;
    let why = match outcome {
        TestOutcome::Passed => return Ok(()),
        TestOutcome::Warned => "its verdict is `passed` only because failures were excused".to_owned(),
        TestOutcome::Failed => format!("its verdict is `{verdict}`"),
    };
    Err(AppError::failed(format!("the run in `{}` cannot be submitted", archive.display()))
        .cause(why)
        .hint(format!("see why with `plumbline results {}`", archive.display())))
}

/// Checks a folder of submitted files. Its attestation says that the run passed, and so that the
/// rules of the profile's judges were kept. Programmes may ask for more files, which no run writes.
pub fn check_submission(found: &FoundProfile, dir: &Path, trust: &AttestationTrust) -> Result<Vec<Finding>, AppError> {
    let profile = &found.profile;
    if profile.submission.is_empty() {
        return Err(AppError::usage(format!("profile `{}` submits no files", profile.name))
            .hint("name the profile of the submission with `--profile`"));
    }
    let names = file_names(dir)?;
    let readable = |name: &str| fs::metadata(dir.join(name)).is_ok_and(|found| found.is_file() && found.len() > 0);
    // The file of an option without a value does not exist.
    let wanted = |file: &&SubmittedFile| matches!(file.source, Source::Archive(_)) || names.contains(&file.name);
    let wanted: Vec<&str> = profile.submission.iter().filter(wanted).map(|file| file.name.as_str()).collect();
    let missing: Vec<&str> = wanted.iter().copied().filter(|name| !readable(name)).collect();
    let others: Vec<&str> = names.iter().map(String::as_str).filter(|name| !wanted.contains(name)).collect();
    let required = match missing.is_empty() {
        true => Finding::passed(rules::REQUIRED_FILES, format!("the submission has {}", wanted.join(", "))),
        false => Finding::failed(rules::REQUIRED_FILES, "files are missing or empty").names(missing),
    };
    let other = match others.is_empty() {
        true => "there are no other files".to_owned(),
        false => format!("the run did not write, and the attestation does not cover: {}", others.join(", ")),
    };
    let other = Finding::passed(rules::OTHER_FILES, other).names(others);
    let none = || {
        Finding::not_checked(rules::ATTESTATION, "the files are not signed: no attestation was found or trusted")
            .hint("sign the run, or `submission assemble`, with `--sign FILE`")
            .ours()
    };
    let suite = SubmittedSuite {
        profile: profile.name.to_string(),
        bundle: Some(found.bundle.digest()),
        ..SubmittedSuite::default()
    };
    let attestation = attestation_finding(dir, Some(&wanted), &suite, trust)?.unwrap_or_else(none);
    Ok(vec![required.ours(), other.ours(), attestation])
}

fn file_names(dir: &Path) -> Result<Vec<String>, AppError> {
    let entries = fs::read_dir(dir)
        .and_then(Iterator::collect::<io::Result<Vec<_>>>)
        .usage_error(format_args!("failed to read the submission in `{}`", dir.display()))
        .hint("pass the directory that contains the submitted files")?;
    let mut names: Vec<String> = entries.iter().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    Ok(names)
}

/// Returns the suite that ran. Only a whole run of this profile, with this bundle, can be submitted: the
/// bundle has the rules, and the settings select the tests.
fn suite_in(
    definition: &Definition,
    archive: &mut ResultsArchive,
    found: &FoundProfile,
    path: &Path,
) -> Result<SubmittedSuite, AppError> {
    let name = &found.profile.name;
    let wrong = |why: String| {
        AppError::usage(format!("the run in `{}` cannot be submitted", path.display()))
            .cause(why)
            .hint(format!("run the whole suite with `plumbline conformance run {name}`"))
    };
    let Some(run) = &definition.plumbline.suite else {
        return Err(wrong(format!("it ran the plugin `{name}` without its profile")));
    };
    if run.rerun {
        return Err(wrong("it ran only the failed tests of another run".to_owned()));
    }
    if let Some(submitted) = found.profile.submitted_mode()
        && run.mode.as_deref() != Some(submitted.name.as_str())
    {
        return Err(wrong(format!("its mode is not `{}`", submitted.name)));
    }
    let document = archive.read(META_MODULES, MAX_DEFINITION).ok();
    let document: Value = document.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    let plugins = document.get("plugins").and_then(Value::as_array).into_iter().flatten();
    let mut entries = plugins.filter(|entry| entry.get("plugin").and_then(Value::as_str) == Some(name.as_str()));
    let used = entries.next().and_then(|entry| entry.get("bundle")?.as_str()).unwrap_or("unknown");
    let bundle = found.bundle.digest();
    if used != bundle.to_string() {
        return Err(wrong(format!("the digest of its bundle is {used}, and that of this profile is {bundle}")));
    }
    Ok(SubmittedSuite {
        profile: name.to_string(),
        version: run.version.clone(),
        bundle: Some(bundle),
        mode: run.mode.clone(),
        set: run.set.clone(),
    })
}

/// Reads the definition of the suite from an archive.
fn definition(
    profile: &Profile,
    archive: &mut ResultsArchive,
) -> Result<Definition, Box<dyn std::error::Error + Send + Sync>> {
    let name = profile.name.as_str();
    let member = archive.definition(name).ok_or_else(|| format!("it has no definition of the plugin `{name}`"))?;
    let bytes = archive.read(&member, MAX_DEFINITION)?;
    Ok(Definition::from_json(serde_json::from_slice(&bytes)?)?.definition)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use plumbline_archive::disk::{Faults, Step};

    use super::*;

    /// Records the steps on the disk.
    #[derive(Default)]
    struct Steps(Mutex<Vec<String>>);

    impl Faults for Steps {
        fn step(&self, step: Step<'_>, act: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()> {
            self.0.lock().unwrap().push(format!("{step:?}"));
            act()
        }
    }

    #[test]
    fn a_submission_is_durable_before_its_rename_and_its_name_after_it() {
        let above = tempfile::tempdir().unwrap();
        let (staging, dir) = (tempfile::tempdir_in(above.path()).unwrap(), above.path().join("submission"));
        let staged = staging.path().to_owned();
        fs::write(staged.join("junit.xml"), "x").unwrap();
        let steps = Arc::new(Steps::default());
        publish(&Disk::faulty(steps.clone()), staging, &dir).unwrap();
        let expected = [Step::SyncDirectory(&staged), Step::Rename(&staged, &dir), Step::SyncDirectory(above.path())];
        assert_eq!(*steps.0.lock().unwrap(), expected.map(|step| format!("{step:?}")));
        assert_eq!(fs::read_to_string(dir.join("junit.xml")).unwrap(), "x");
    }
}
