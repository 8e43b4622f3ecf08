//! The checks of the options and data files.

use std::collections::BTreeSet;

use plumbline_sdk::InputFile;
use serde_json::Value;

use crate::check::Check;
use crate::files::DATA;
use crate::problems::Problems;
use crate::yaml;

/// Maximum size of a file of checks in bytes: 1 MiB, which is the limit of a ConfigMap.
pub const MAX_FILE_BYTES: usize = 1 << 20;

/// Maximum number of checks: more than people read.
pub const MAX_CHECKS: usize = 500;

/// The problem of a list without checks. Such a list must not pass, because it checks nothing.
const NO_CHECKS: &str = "it has no checks, so there is nothing to check";

/// Returns the checks of the option and of the files of `data`, in this order. Errors are added to
/// `problems`.
pub(crate) fn read(option: Option<&[Value]>, data: Vec<InputFile>, problems: &mut Problems) -> Vec<Check> {
    let mut checks = Checks::default();
    if let Some(values) = option {
        checks.add("option `checks`", values, problems);
    }
    let files = data.len();
    for mut file in data {
        let name = file.path().strip_prefix(DATA).unwrap_or(file.path()).to_owned();
        match yaml::read::<Option<Value>>(&mut file, MAX_FILE_BYTES) {
            Ok(Some(Value::Array(values))) => checks.add(&name, &values, problems),
            Ok(Some(Value::Object(fields))) => match fields.get("checks").filter(|_| fields.len() == 1) {
                Some(Value::Array(values)) => checks.add(&name, values, problems),
                Some(Value::Null) => problems.add(&name, NO_CHECKS),
                _ => problems.add(&name, "it must be a list of checks, alone or under the key `checks`"),
            },
            Ok(None | Some(Value::Null)) => problems.add(&name, NO_CHECKS),
            Ok(Some(_)) => problems.add(&name, "it must be a list of checks, each beginning with `- `"),
            Err(error) => problems.add(&name, &error),
        }
    }
    if checks.seen == 0 && files == 0 && option.is_none() {
        problems.add("the chain", "there is nothing to check: name a file under `data`, or set the option `checks`");
    }
    checks.good
}

#[derive(Default)]
struct Checks {
    good: Vec<Check>,
    ids: BTreeSet<String>,
    seen: usize,
}

impl Checks {
    fn add(&mut self, file: &str, values: &[Value], problems: &mut Problems) {
        if values.is_empty() {
            problems.add(file, NO_CHECKS);
        }
        for (at, value) in values.iter().enumerate() {
            if self.seen == MAX_CHECKS {
                return problems.add(file, &format!("there are more than {MAX_CHECKS} checks"));
            }
            self.seen += 1;
            let place = format!("{file}, check {}", at + 1);
            match Check::read(value) {
                Ok(check) if self.ids.insert(check.id.clone()) => self.good.push(check),
                Ok(check) => problems.add(&place, &format!("the id `{}` is used twice", check.id)),
                Err(error) => problems.add(&place, &error),
            }
        }
    }
}
