//! The adapter's result: one regular file in the results directory, with a size limit. Its content
//! is JSON with `status`, `reason`, `message` and `details`.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, MetadataExt, OpenOptions, OpenOptionsExt};
use jiff::Timestamp;
use serde_json::value::RawValue;

use crate::done_file::changed;

/// Maximum size of a result file in bytes: 1 MiB, according to the contract.
const MAX_FILE: u64 = 1 << 20;

/// Maximum length of a reason in characters.
const MAX_REASON: usize = 128;
/// Maximum length of a message in characters.
pub(super) const MAX_MESSAGE: usize = 1024;
/// The reason of a result without one.
const NO_REASON: &str = "NoReasonProvided";
/// The message of a result without one.
const NO_MESSAGE: &str = "No message provided";

/// `O_NONBLOCK`, which has the same value on every Linux architecture that is built.
#[cfg(target_os = "linux")]
const NONBLOCK: i32 = rustix::fs::OFlags::NONBLOCK.bits() as i32;
#[cfg(not(target_os = "linux"))]
const NONBLOCK: i32 = 0;

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
pub(crate) enum Read {
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
    pub(crate) fn unusable(why: impl Into<String>) -> Self {
        let why = why.into();
        let mark = Mark::of(&why);
        Self::Unusable { why, mark }
    }
}

/// Returns when the file at `path` was last changed, if known. Blocks.
pub(crate) fn last_changed(path: &Path) -> Option<Timestamp> {
    changed(&std::fs::metadata(path).ok()?)
}

/// Reads the file at `path`, whose directory is the results directory. Blocks.
///
/// Links are followed if they stay in that directory, like those of volumes (`..data`).
pub(crate) fn read(path: &Path) -> Read {
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

/// The content of the condition: the adapter's result, or what the reporter says in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Whether the status is `True`, or else `False`.
    pub success: bool,
    /// The reason, an identifier for programs with at most 128 characters.
    pub reason: String,
    /// The message, a sentence for people with at most 1,024 characters.
    pub message: String,
    /// Further details, as the JSON that the adapter wrote.
    pub details: Option<Box<str>>,
}

impl Outcome {
    /// Creates a result within the limits of the contract, with defaults for missing texts.
    #[must_use]
    pub fn new(success: bool, reason: &str, message: &str, details: Option<Box<str>>) -> Self {
        let or = |text: String, other: &str| if text.is_empty() { other.to_owned() } else { text };
        Self {
            success,
            reason: or(clipped(reason, MAX_REASON), NO_REASON),
            message: or(clipped(message, MAX_MESSAGE), NO_MESSAGE),
            details,
        }
    }
}

/// Error in a result file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FormatError {
    /// The file is empty.
    #[error("the file is empty")]
    Empty,
    /// The file is not valid JSON, or is incomplete.
    #[error("not valid JSON: {0}")]
    Json(String),
    /// The file is valid JSON, but not an object.
    #[error("must be a JSON object")]
    NotAnObject,
    /// The status is missing or invalid.
    #[error("status: must be either 'success' or 'failure'")]
    Status,
    /// The value is not a string.
    #[error("{0}: must be a string")]
    NotAString(&'static str),
}

/// Parses a result.
///
/// It is lenient, because existing adapters depend on that. Unknown keys are ignored, and the last
/// of two equal keys applies. If the exact key is missing, another letter case is accepted. `null`
/// counts as missing, and invalid UTF-8 is replaced.
pub(crate) fn parse(bytes: &[u8]) -> Result<Outcome, FormatError> {
    if bytes.is_empty() {
        return Err(FormatError::Empty);
    }
    let text = String::from_utf8_lossy(bytes);
    // Values stay unparsed, so that `details` may have any nesting depth and any size of numbers.
    let whole: &RawValue = serde_json::from_str(&text).map_err(|error| FormatError::Json(error.to_string()))?;
    let fields: BTreeMap<String, &RawValue> = match whole.get().as_bytes().first() {
        Some(b'{') => serde_json::from_str(whole.get()).map_err(|error| FormatError::Json(error.to_string()))?,
        _ => return Err(FormatError::NotAnObject),
    };
    let status = string(&fields, "status").map_err(|_| FormatError::Status)?;
    let success = match status.as_str() {
        "success" => true,
        "failure" => false,
        _ => return Err(FormatError::Status),
    };
    let (reason, message) = (string(&fields, "reason")?, string(&fields, "message")?);
    let details = field(&fields, "details").map(RawValue::get).filter(|json| *json != "null").map(Box::from);
    Ok(Outcome::new(success, &reason, &message, details))
}

fn field<'a>(fields: &BTreeMap<String, &'a RawValue>, name: &str) -> Option<&'a RawValue> {
    let exact = fields.get(name);
    exact.or_else(|| fields.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)).copied()
}

fn string(fields: &BTreeMap<String, &RawValue>, name: &'static str) -> Result<String, FormatError> {
    let Some(value) = field(fields, name) else { return Ok(String::new()) };
    let text: Option<String> = serde_json::from_str(value.get()).map_err(|_| FormatError::NotAString(name))?;
    Ok(text.unwrap_or_default())
}

/// Returns at most `max` characters of a string, after trimming white space.
pub(crate) fn clipped(text: &str, max: usize) -> String {
    text.trim().chars().take(max).collect()
}

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
    fn refused(path: &Path, expected: &str) {
        let Read::Unusable { why, .. } = read(path) else { panic!("{:?}", read(path)) };
        assert!(why.contains(expected), "{why}");
    }

    #[test]
    fn a_file_is_read_and_its_state_reported() {
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

    fn good(text: &str) -> Outcome {
        parse(text.as_bytes()).unwrap()
    }

    #[track_caller]
    fn bad(text: &str, expected: &str) {
        assert_eq!(parse(text.as_bytes()).unwrap_err().to_string(), expected, "{text}");
    }

    #[test]
    fn a_result_is_what_the_contract_says() {
        let result = good(
            r#"{"status": "failure", "reason": " MissingPermissions ", "message": "lacks\n", "details": {"a": [1, 2]}, "x": 1}"#,
        );
        assert!(!result.success);
        assert_eq!((result.reason.as_str(), result.message.as_str()), ("MissingPermissions", "lacks"));
        assert_eq!(result.details.as_deref(), Some(r#"{"a": [1, 2]}"#));
        assert!(good(r#"{"status":"success"}"#).success);
    }

    #[test]
    fn missing_and_blank_fields_have_default_text() {
        for text in [r#"{"status":"success"}"#, r#"{"status":"success","reason":"  ","message":null,"details":null}"#] {
            let result = good(text);
            assert_eq!((result.reason.as_str(), result.message.as_str()), (NO_REASON, NO_MESSAGE));
            assert_eq!(result.details, None);
        }
    }

    #[test]
    fn long_texts_are_cut_by_characters() {
        let text = format!(r#"{{"status":"success","reason":"{}","message":"{}"}}"#, "ä".repeat(129), "ö".repeat(1025));
        let result = good(&text);
        assert_eq!((result.reason.chars().count(), result.message.chars().count()), (128, 1024));
    }

    #[test]
    fn the_status_is_one_of_two_words() {
        let expected = "status: must be either 'success' or 'failure'";
        for status in [r#""Success""#, r#""passed""#, r#""success ""#, "null", "true", "1", "[]"] {
            bad(&format!(r#"{{"status":{status}}}"#), expected);
        }
        bad("{}", expected);
    }

    #[test]
    fn an_invalid_result_is_rejected_with_the_reason() {
        bad("", "the file is empty");
        bad("[]", "must be a JSON object");
        bad("null", "must be a JSON object");
        bad(r#"{"status":"success","reason":7}"#, "reason: must be a string");
        bad(r#"{"status":"success","message":{}}"#, "message: must be a string");
        for text in [" \n", "{", r#"{"status":"success""#, r#"{"status":"success"} x"#, "success", "\u{feff}{}"] {
            assert!(matches!(parse(text.as_bytes()), Err(FormatError::Json(_))), "{text}");
        }
    }

    #[test]
    fn details_may_be_anything() {
        let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
        for details in ["1e999", "\"text\"", "false", deep.as_str()] {
            let result = good(&format!(r#"{{"details":{details},"status":"success"}}"#));
            assert_eq!(result.details.as_deref(), Some(details));
        }
    }

    #[test]
    fn common_deviations_are_accepted() {
        assert!(good(r#"{"Status":"success"}"#).success);
        assert!(!good(r#"{"Status":"success","status":"failure"}"#).success);
        assert!(!good(r#"{"status":"success","status":"failure"}"#).success);
        let result = parse(b"{\"status\":\"success\",\"message\":\"a\xffb\"}").unwrap();
        assert_eq!(result.message, "a\u{fffd}b");
    }

    #[test]
    fn characters_are_counted_and_not_bytes() {
        assert_eq!(clipped("  äöü  ", 2), "äö");
        assert_eq!(clipped("\u{a0}x\n", 9), "x");
        assert_eq!(clipped(" \t ", 9), "");
    }
}
