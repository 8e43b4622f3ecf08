//! Scripts that tests write and execute at once.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Writes an executable script.
///
/// Another process creates the file. A process that another test starts at this moment inherits all
/// open files of this one. If it had this file open for writing, executing the script would fail
/// with "Text file busy".
pub(crate) fn write_script(path: &Path, text: &str) {
    let draft = path.with_extension("draft");
    fs::write(&draft, format!("#!/bin/sh\n{text}\n")).unwrap();
    assert!(Command::new("install").args(["-m", "755"]).arg(&draft).arg(path).status().unwrap().success());
    fs::remove_file(&draft).unwrap();
}
