//! The files that a profile submits.

use super::raw::{RawSubmitted, Text};
use super::rules::{cut, invalid, is_file_name, is_relative};
use crate::profile::error::ProfileError;
use crate::profile::model::{OptionType, ProfileOption, Source, SubmittedFile};

/// Checks the list of submitted files. An option that gives the content of one must have the type
/// `file`, and must not be a secret: the archive does not contain its value.
pub(super) fn submission(
    raw: Vec<RawSubmitted>,
    options: &[ProfileOption],
) -> Result<Vec<SubmittedFile>, ProfileError> {
    let mut files: Vec<SubmittedFile> = Vec::new();
    for (at, RawSubmitted { name, from, option }) in raw.into_iter().enumerate() {
        let path = format!("submission[{at}]");
        if !is_file_name(&name.value) {
            return Err(invalid(
                format!("{path}.name"),
                &name,
                "write a file name of letters, digits, `-`, `_` and `.`",
            ));
        }
        if files.iter().any(|file| file.name.eq_ignore_ascii_case(&name.value)) {
            return Err(invalid(format!("{path}.name"), &name, format!("file `{}` is listed twice", name.value)));
        }
        let source = match (from, option) {
            (Some(from), None) => archived(&path, from)?,
            (None, Some(option)) => given(&path, option, options)?,
            _ => return Err(invalid(path, &name, "write either `from` or `option`")),
        };
        files.push(SubmittedFile { name: name.value, source });
    }
    Ok(files)
}

fn archived(path: &str, from: Text) -> Result<Source, ProfileError> {
    if is_relative(&from.value) {
        return Ok(Source::Archive(from.value));
    }
    let why = "write a path in the archive, such as `plugins/NAME/results/global/junit.xml`";
    Err(invalid(format!("{path}.from"), &from, why))
}

fn given(path: &str, name: Text, options: &[ProfileOption]) -> Result<Source, ProfileError> {
    let why = match options.iter().find(|option| option.name == name.value) {
        None => format!("unknown option `{}`", cut(&name.value)),
        Some(option) if option.kind != OptionType::File => "the option must have the type `file`".to_owned(),
        Some(option) if option.secret => "the option is a secret".to_owned(),
        Some(_) => return Ok(Source::Option(name.value)),
    };
    Err(invalid(format!("{path}.option"), &name, why))
}
