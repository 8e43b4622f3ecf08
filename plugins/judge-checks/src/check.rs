//! A check, as it is written in a file.

use plumbline_sdk::text::shortened;
use regex::bytes::Regex;
use serde_json::{Map, Value};

use crate::needle::Needle;
use crate::quantity::{self, Kind};
use crate::samples::Measure;
use crate::want::Want;
use crate::{glob, pattern};

/// Maximum size of an ID in bytes, which is the host's limit.
const MAX_ID: usize = 64;

/// Maximum number of bytes of a name to show.
const MAX_NAME: usize = 1000;

/// Maximum size of a class in bytes, which is the host's limit.
const MAX_CLASS: usize = 64;

/// The standard statuses.
const STATUSES: [&str; 5] = ["passed", "failed", "skipped", "timeout", "unknown"];

/// The classes of the built-in judges, and that of failures without a ruling.
const CLASSES: [&str; 9] = [
    "allowed-skip",
    "baseline-failure",
    "expired",
    "failed-again",
    "failure",
    "flaky",
    "known-failure",
    "new-failure",
    "skip-not-allowed",
];

/// The keys that say what is measured. A check has exactly one of them.
const SUBJECTS: [&str; 6] = ["healthy", "unhealthy", "items", "class", "duration", "log"];

/// The other keys of a check.
const KEYS: [&str; 4] = ["id", "name", "want", "matching"];

/// A check.
#[derive(Debug)]
pub(crate) struct Check {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) want: Want,
    pub(crate) subject: Subject,
}

/// What a check measures.
#[derive(Debug)]
pub(crate) enum Subject {
    /// Nodes or pods, and whether to count the healthy ones.
    Health { of: Group, healthy: bool },
    /// Items by status.
    Items { statuses: Vec<String>, matching: Option<Matching> },
    /// Items by the class that earlier judges gave them.
    Class { class: String, matching: Option<Matching> },
    /// Durations of items.
    Duration { measure: Measure, matching: Option<Matching> },
    /// Values in logs.
    Log(Box<Log>),
}

/// A pattern for names.
#[derive(Debug, Clone)]
pub(crate) struct Matching {
    pub(crate) text: String,
    pub(crate) regex: Regex,
}

/// The objects whose health is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    Nodes,
    Pods,
}

/// Values in logs.
#[derive(Debug)]
pub(crate) struct Log {
    /// The glob as written.
    pub(crate) glob: String,
    pub(crate) files: Regex,
    pub(crate) pattern: Regex,
    /// A text with which every match starts.
    pub(crate) needle: Needle,
    pub(crate) unit: Unit,
    pub(crate) measure: Measure,
}

/// The notation of a captured text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Unit {
    /// A duration with its units.
    Duration,
    /// A number, and a factor for it.
    Times(Kind, f64),
}

impl Check {
    /// Reads a check. The error is a fragment that follows the place.
    pub(crate) fn read(value: &Value) -> Result<Self, String> {
        let fields = value.as_object().ok_or("it is not a mapping")?;
        if let Some(key) = fields.keys().find(|key| !KEYS.iter().chain(&SUBJECTS).any(|known| known == key)) {
            let known: Vec<&str> = KEYS.into_iter().chain(SUBJECTS).collect();
            return Err(format!("unknown key `{}`: the keys are `{}`", shortened(key, 60), known.join("`, `")));
        }
        let id = text(fields, "id")?.ok_or("it has no `id`")?.trim();
        if id.is_empty() || id.len() > MAX_ID {
            return Err(format!("`id` must have 1 to {MAX_ID} bytes"));
        }
        let want = Want::parse(text(fields, "want")?.ok_or("it has no `want`")?)?;
        let mut subjects = SUBJECTS.into_iter().filter_map(|key| Some((key, fields.get(key)?)));
        let (key, value) =
            subjects.next().ok_or_else(|| format!("it has none of `{}`: what is measured?", SUBJECTS.join("`, `")))?;
        if let Some((other, _)) = subjects.next() {
            return Err(format!("it has both `{key}` and `{other}`: make two checks of it"));
        }
        let matching = matching(fields, key)?;
        let subject = subject(key, value, matching)?;
        let name = shortened(text(fields, "name")?.unwrap_or_default().trim(), MAX_NAME);
        let check =
            Self { id: id.to_owned(), name: if name.is_empty() { subject.name() } else { name }, want, subject };
        check.fits()?;
        Ok(check)
    }

    /// Checks that the kind of `want` fits what is measured.
    fn fits(&self) -> Result<(), String> {
        let can: &[Kind] = match &self.subject {
            Subject::Health { .. } | Subject::Items { .. } | Subject::Class { .. } => &[Kind::Number, Kind::Share],
            Subject::Duration { measure: Measure::Count, .. } => &[Kind::Number],
            Subject::Duration { .. } => &[Kind::Seconds],
            Subject::Log(log) => match (log.measure, log.unit) {
                (Measure::Count, _) | (_, Unit::Times(Kind::Number, _)) => &[Kind::Number],
                (_, Unit::Duration | Unit::Times(Kind::Seconds, _)) => &[Kind::Seconds],
                (_, Unit::Times(Kind::Bytes, _)) => &[Kind::Bytes],
                (_, Unit::Times(Kind::Share, _)) => &[Kind::Share],
            },
        };
        if can.contains(&self.want.kind()) {
            return Ok(());
        }
        let can: Vec<&str> = can.iter().map(|kind| kind.name()).collect();
        Err(format!(
            "what is measured is {}, and `want` is {}: `{}`",
            can.join(" or "),
            self.want.kind().name(),
            self.want.text
        ))
    }
}

impl Subject {
    /// Returns a name for a check that has none.
    fn name(&self) -> String {
        let of = |matching: &Option<Matching>| {
            matching
                .as_ref()
                .map(|matching| format!(" matching {}", shortened(&matching.text, 200)))
                .unwrap_or_default()
        };
        match self {
            Self::Health { of, healthy } => format!("{} {}", if *healthy { "healthy" } else { "unhealthy" }, of.name()),
            Self::Items { statuses, matching } => format!("items {}{}", statuses.join(" or "), of(matching)),
            Self::Class { class, matching } => format!("items of class {class}{}", of(matching)),
            Self::Duration { matching, .. } => format!("durations of items{}", of(matching)),
            Self::Log(log) => format!("values in {}", log.glob),
        }
    }
}

impl Group {
    /// Returns the name for checks and messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Nodes => "nodes",
            Self::Pods => "pods",
        }
    }
}

fn subject(key: &str, value: &Value, matching: Option<Matching>) -> Result<Subject, String> {
    Ok(match key {
        "healthy" | "unhealthy" => {
            let of = match value.as_str() {
                Some("nodes") => Group::Nodes,
                Some("pods") => Group::Pods,
                _ => return Err(format!("`{key}` is neither `nodes` nor `pods`")),
            };
            Subject::Health { of, healthy: key == "healthy" }
        }
        "items" => Subject::Items { statuses: statuses(value)?, matching },
        "class" => Subject::Class { class: class(value)?, matching },
        "duration" => Subject::Duration { measure: measure(value, "duration")?, matching },
        _ => Subject::Log(Box::new(log(value)?)),
    })
}

fn statuses(value: &Value) -> Result<Vec<String>, String> {
    let values = match value {
        Value::Array(values) => values.as_slice(),
        value => std::slice::from_ref(value),
    };
    let texts: Option<Vec<String>> = values.iter().map(|value| value.as_str().map(str::to_owned)).collect();
    let texts = texts
        .filter(|texts| texts.iter().all(|text| !text.is_empty()) && !texts.is_empty())
        .ok_or_else(|| "`items` must be a status, such as `failed`, or a list of them".to_owned())?;
    match texts.iter().find_map(|text| Some((text, meant(text, &STATUSES)?))) {
        // No item can have such a status, so the check would always count zero.
        Some((text, meant)) => {
            Err(format!("`items` has the unknown status `{}`: did you mean `{meant}`?", shortened(text, 60)))
        }
        None => Ok(texts),
    }
}

fn class(value: &Value) -> Result<String, String> {
    // No judge can give such a class, so the check would always count zero.
    let class = value
        .as_str()
        .filter(|class| is_class(class))
        .ok_or("`class` is not a class, such as `known-failure`: 1 to 64 of `a-z`, `0-9` and `-`")?;
    match meant(class, &CLASSES) {
        // Other judges may give any other class, which a judge cannot know.
        Some(meant) => Err(format!("`class` has the unknown class `{class}`: did you mean `{meant}`?")),
        None => Ok(class.to_owned()),
    }
}

/// Returns the word of `known` that `text` differs from only by case, spaces or one letter. Other
/// words may be custom statuses of the plugin, or classes of other judges.
fn meant(text: &str, known: &[&'static str]) -> Option<&'static str> {
    if known.contains(&text) {
        return None;
    }
    let word = text.trim().to_ascii_lowercase();
    known.iter().copied().find(|known| word == *known || is_one_letter_off(&word, known))
}

/// Returns whether one letter is missing, added or different.
fn is_one_letter_off(word: &str, status: &str) -> bool {
    let (word, status) = (word.as_bytes(), status.as_bytes());
    let same = word.iter().zip(status).take_while(|(one, other)| one == other).count();
    let (left, right) = (word.get(same..).unwrap_or_default(), status.get(same..).unwrap_or_default());
    let behind = |bytes: &[u8]| bytes.get(1..).map(<[u8]>::to_vec);
    behind(left).as_deref() == Some(right)
        || Some(left) == behind(right).as_deref()
        || (!left.is_empty() && behind(left) == behind(right))
}

/// Returns whether the host accepts this class.
fn is_class(text: &str) -> bool {
    let good = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=MAX_CLASS).contains(&text.len()) && text.bytes().all(good)
}

fn measure(value: &Value, key: &str) -> Result<Measure, String> {
    value.as_str().and_then(Measure::parse).ok_or_else(|| {
        format!(
            "`{key}` is not one of `count`, `min`, `max`, `mean`, `last`, `p50`, `p90`, `p95`, `p99`: {}",
            shortened(&value.to_string(), 60)
        )
    })
}

fn matching(fields: &Map<String, Value>, subject: &str) -> Result<Option<Matching>, String> {
    let Some(text) = text(fields, "matching")? else { return Ok(None) };
    if !matches!(subject, "items" | "class" | "duration") {
        return Err(format!("`matching` does not apply to `{subject}`: it selects items by name"));
    }
    let regex = pattern::compile(text).map_err(|error| format!("`matching`: {error}"))?;
    Ok(Some(Matching { text: text.to_owned(), regex }))
}

fn log(value: &Value) -> Result<Log, String> {
    let fields = value.as_object().ok_or("`log` is not a mapping")?;
    let keys = ["files", "pattern", "unit", "measure"];
    if let Some(key) = fields.keys().find(|key| !keys.contains(&key.as_str())) {
        return Err(format!("unknown key `log.{}`: the keys are `{}`", shortened(key, 60), keys.join("`, `")));
    }
    let needed = |key| text(fields, key)?.ok_or_else(|| format!("`log` has no `{key}`"));
    let glob = needed("files")?;
    let files = glob::compile(glob).map_err(|error| format!("`log.files`: {error}"))?;
    let text_of_pattern = needed("pattern")?;
    let regex = pattern::compile(text_of_pattern).map_err(|error| format!("`log.pattern`: {error}"))?;
    let measure = measure(fields.get("measure").ok_or("`log` has no `measure`")?, "log.measure")?;
    let groups = regex.captures_len() - 1;
    if groups != 1 && measure != Measure::Count {
        return Err(format!(
            "`log.pattern` must have one group that captures what is measured, and has {groups}; `(?:…)` captures nothing"
        ));
    }
    let unit = match text(fields, "unit")? {
        None | Some("duration") => Unit::Duration,
        Some("number") => Unit::Times(Kind::Number, 1.0),
        Some(name) => match quantity::unit(name) {
            Some((kind, factor)) => Unit::Times(kind, factor),
            None => {
                return Err(format!(
                    "unknown unit `{}`: the units are `duration`, `number`, `%`, `ns`, `us`, `ms`, `s`, `m`, `h`, `B`, `KiB`, `MiB`, `GiB`, `kB`, `MB`, `GB`",
                    shortened(name, 60)
                ));
            }
        },
    };
    Ok(Log { glob: glob.to_owned(), files, pattern: regex, needle: Needle::of(text_of_pattern), unit, measure })
}

fn text<'a>(fields: &'a Map<String, Value>, key: &str) -> Result<Option<&'a str>, String> {
    match fields.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("`{key}` is not a string: put it in quotes")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn validate(subject: Value) -> Result<(), String> {
        let mut check = json!({"id": "A", "want": "== 0"});
        let fields = check.as_object_mut().unwrap();
        fields.extend(subject.as_object().unwrap().clone());
        Check::read(&check).map(drop)
    }

    #[test]
    fn a_misspelled_status_is_an_error() {
        for (text, meant) in [
            ("Failed", "failed"),
            ("faild", "failed"),
            ("failled", "failed"),
            ("fauled", "failed"),
            (" failed", "failed"),
            ("TIMEOUT", "timeout"),
        ] {
            let message = validate(json!({"items": ["passed", text]})).unwrap_err();
            assert!(message.contains(&format!("did you mean `{meant}`?")), "{text}: {message}");
        }
        assert!(validate(json!({"items": ""})).unwrap_err().contains("must be a status"));
        for own in ["warning", "FAIL", "pass", "error", "unknown", "timed out"] {
            assert_eq!(validate(json!({"items": own})), Ok(()), "{own}");
        }
        for class in ["Flaky", "known failure", "", &"x".repeat(65)] {
            assert!(validate(json!({"class": class})).unwrap_err().contains("is not a class"), "{class}");
        }
        assert_eq!(validate(json!({"class": "known-failure"})), Ok(()));
    }

    #[test]
    fn a_misspelled_class_is_an_error() {
        for (text, meant) in [
            ("failures", "failure"),
            ("known-failures", "known-failure"),
            ("knownfailure", "known-failure"),
            ("flakey", "flaky"),
            ("allowed-skips", "allowed-skip"),
            ("new-failures", "new-failure"),
        ] {
            let message = validate(json!({"class": text})).unwrap_err();
            assert!(message.contains(&format!("unknown class `{text}`: did you mean `{meant}`?")), "{message}");
        }
        for class in CLASSES.into_iter().chain(["regression", "quarantined", "failed"]) {
            assert_eq!(validate(json!({"class": class})), Ok(()), "{class}");
        }
    }
}
