//! What is left: the report, the archive of everything, and the done file that names it.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use jiff::Timestamp;
use plumbline_app::AppError;
use plumbline_archive::pack::{PackOptions, pack_directory};

use super::super::deliver;
use super::junit;
use super::plan::Case;
use super::settings::Settings;

/// The archive that is sent.
const ARCHIVE: &str = "e2e.tar.gz";

/// Writes the report, packs the directory, and says that this is done.
pub(super) fn save(cases: &[Case], settings: &Settings, dir: &Path) -> Result<(), AppError> {
    let report = dir.join(junit::FILE);
    let written = File::create(&report).and_then(|file| {
        let mut out = BufWriter::new(file);
        junit::write(cases, settings, Timestamp::now(), &mut out)?;
        out.flush()
    });
    written.map_err(deliver::cannot("write", &report))?;
    let archive = dir.join(ARCHIVE);
    // Under its own name from the beginning, so that the worker may read it whoever it is; it is named in the done file only when it is whole.
    let file = File::create(&archive).map_err(deliver::cannot("write", &archive))?;
    let options = PackOptions { exclude: vec![archive.clone()], ..PackOptions::single_threaded() };
    pack_directory(dir, file, &options, &mut || false)
        .map_err(|error| AppError::system(format!("failed to pack `{}`", dir.display())).because(&error))?;
    deliver::done(dir, &archive)
}
