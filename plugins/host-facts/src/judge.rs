//! Evaluates facts that can be wrong by themselves: certificates, disks, the clock. Also reports
//! facts that could not be read.

use plumbline_drift_common::{WARNING, name};
use plumbline_sdk::text::{counted, shortened};
use plumbline_sdk::{Item, Output, Status};
use serde_json::{Value, json};

use crate::bound::Details;
use crate::date::{DAY, moment};
use crate::document::{Document, number};
use crate::groups::DEPTH;
use crate::options::Options;

/// Maximum number of certificates, disks or errors of a document to list.
const MAX_LISTED: usize = 500;
/// Maximum number of bytes of a text in the list of errors.
const MAX_REASON: usize = 1000;

/// The status of a fact, and the reason.
type Judged = (Status, Option<(&'static str, String)>);

pub(crate) fn judge(document: &Document, options: &Options, out: &mut Output) {
    if let Some(item) = time(document, options) {
        out.emit(item);
    }
    let now = document.gathered();
    let certificate = |certificate: &Value| judge_certificate(certificate, now, options);
    list(document, "certificates", "path", certificate, out);
    list(document, "disks", "mount", |disk| judge_disk(disk, options), out);
    if let Some(item) = errors(document) {
        out.emit(item);
    }
}

fn warning(text: impl Into<String>) -> Judged {
    (Status::Custom(WARNING.to_owned()), Some((WARNING, text.into())))
}

const PASSED: Judged = (Status::Passed, None);

fn time(document: &Document, options: &Options) -> Option<Item> {
    let time = document.own("time")?;
    let offset = time.get("offset_seconds").and_then(number);
    let judged = match (time.get("synchronised").and_then(Value::as_bool), offset) {
        (Some(false), _) => warning("the clock is not synchronised"),
        (_, Some(offset)) if offset.abs() > options.clock_offset_seconds => {
            warning(format!("the clock is off by {offset:.3} s (more than {} s)", options.clock_offset_seconds))
        }
        _ => PASSED,
    };
    Some(with_details(Item::new(DEPTH, "time"), time, judged))
}

/// Emits an item for the list, and one below it for each of its entries. The worst of those that are
/// not listed is one more item.
fn list(document: &Document, key: &'static str, named: &str, judge: impl Fn(&Value) -> Judged, out: &mut Output) {
    let Some(Value::Array(entries)) = document.own(key) else { return };
    if entries.is_empty() {
        return;
    }
    let (listed, rest) = entries.split_at(entries.len().min(MAX_LISTED));
    let mut item = Item::new(DEPTH, key);
    if !rest.is_empty() {
        item = item.text("cut", format!("{} more are not listed", rest.len()));
    }
    out.emit(item);
    for entry in listed {
        let text = entry.get(named).and_then(Value::as_str).unwrap_or_default();
        let below = Item::new(DEPTH + 1, name(text));
        out.emit(with_details(below, entry, judge(entry)));
    }
    if let Some((status, reason)) = rest.iter().map(judge).max_by_key(|(status, _)| severity(status)) {
        let item = Item::new(DEPTH + 1, format!("{} more", rest.len())).status(status);
        out.emit(match reason {
            Some((key, text)) => item.text(key, text),
            None => item,
        });
    }
}

/// Returns the order of statuses. The highest of several counts.
fn severity(status: &Status) -> u8 {
    match status {
        Status::Failed => 3,
        Status::Unknown => 2,
        Status::Custom(_) => 1,
        _ => 0,
    }
}

fn judge_certificate(certificate: &Value, now: Option<f64>, options: &Options) -> Judged {
    let Some(until) = certificate.get("not_after").and_then(moment) else {
        return (Status::Unknown, Some(("error", "it does not say when it expires".to_owned())));
    };
    let Some(now) = now else {
        return (Status::Skipped, Some(("skipped", "the document does not say when it was gathered".to_owned())));
    };
    let days = (until - now) / DAY;
    if days < 0.0 {
        (Status::Failed, Some(("failure", format!("it expired {:.1} days before the facts were gathered", -days))))
    } else if days <= options.certificate_days {
        warning(format!("it expires in {days:.1} days (within {})", options.certificate_days))
    } else {
        PASSED
    }
}

fn judge_disk(disk: &Value, options: &Options) -> Judged {
    let kinds = [("used_percent", "of its space"), ("inodes_used_percent", "of its inodes")];
    for (key, what) in kinds {
        if let Some(used) = disk.get(key).and_then(number).filter(|used| *used >= options.disk_percent) {
            return warning(format!("{used:.1} % {what} are used (at least {})", options.disk_percent));
        }
    }
    PASSED
}

fn with_details(item: Item, value: &Value, (status, reason): Judged) -> Item {
    let mut details = Details::new(item.status(status));
    details.add_all(value);
    if let Some((key, text)) = reason {
        details.add(key, &Value::String(text));
    }
    details.item()
}

fn errors(document: &Document) -> Option<Item> {
    let text =
        |error: &Value, key: &str| shortened(error.get(key).and_then(Value::as_str).unwrap_or_default(), MAX_REASON);
    let listed: Vec<Value> = document
        .errors
        .iter()
        .take(MAX_LISTED)
        .map(|error| json!({"fact": text(error, "fact"), "reason": text(error, "reason")}))
        .collect();
    let mut item = Item::new(DEPTH, "errors").status(Status::Skipped).json("errors", &Value::Array(listed));
    match document.errors.len() {
        0 => return None,
        all if all > MAX_LISTED => item = item.text("cut", format!("{} more are not listed", all - MAX_LISTED)),
        _ => {}
    }
    Some(item.text("skipped", format!("{} could not be read", counted(document.errors.len(), "fact"))))
}
