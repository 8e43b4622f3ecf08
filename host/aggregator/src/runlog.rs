//! The log of the run in the archive: `meta/run.log`, with one JSON object per line. Each has
//! `level`, `msg`, `time` and the event's fields.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

/// Maximum size of the log in bytes. A run that logs more has a problem that the first 64 MiB show.
const MAX_BYTES: u64 = 64 << 20;

/// A layer that writes events of level `info` and above to a file, up to 64 MiB.
pub struct RunLogLayer {
    out: Mutex<Out>,
}

struct Out {
    file: File,
    written: u64,
}

impl RunLogLayer {
    /// Creates a layer that appends to the file at `path`.
    pub fn create(path: &Path) -> io::Result<Self> {
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        let written = file.metadata()?.len();
        Ok(Self { out: Mutex::new(Out { file, written }) })
    }
}

impl<S: Subscriber> Layer<S> for RunLogLayer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if *event.metadata().level() > Level::INFO {
            return;
        }
        let mut fields = Fields(Map::new());
        event.record(&mut fields);
        let mut object = fields.0;
        object.insert("level".into(), event.metadata().level().as_str().to_ascii_lowercase().into());
        object.insert("time".into(), Timestamp::now().to_string().into());
        let mut line = Value::Object(object).to_string().into_bytes();
        line.push(b'\n');
        self.out.lock().write(&line);
    }
}

impl Out {
    fn write(&mut self, line: &[u8]) {
        let before = self.written;
        self.written += line.len() as u64;
        let line = if self.written <= MAX_BYTES {
            line
        } else if before <= MAX_BYTES {
            b"{\"level\":\"warn\",\"msg\":\"the log is full: later lines are dropped\"}\n"
        } else {
            return;
        };
        // An error cannot be reported, because this is the log.
        let _ = self.file.write_all(line);
    }
}

struct Fields(Map<String, Value>);

impl Fields {
    fn put(&mut self, field: &Field, value: Value) {
        let name = if field.name() == "message" { "msg" } else { field.name() };
        self.0.insert(name.to_owned(), value);
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, format!("{value:?}").into());
    }
    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, value.into());
    }
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value.into());
    }
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value.into());
    }
    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value.into());
    }
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, value.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracing_subscriber::layer::SubscriberExt;

    #[test]
    fn a_line_is_an_object_with_level_message_time_and_fields() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("meta/run.log");
        let subscriber = tracing_subscriber::registry().with(RunLogLayer::create(&path).unwrap());
        tracing::subscriber::with_default(subscriber, || {
            tracing::warn!(plugin = "e2e", bytes = 3, "late \"result\"");
            tracing::debug!("not for the archive");
        });
        let text = std::fs::read_to_string(path).unwrap();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0]["msg"], "late \"result\"");
        assert_eq!(
            (&lines[0]["level"], &lines[0]["plugin"], &lines[0]["bytes"]),
            (&"warn".into(), &"e2e".into(), &3.into())
        );
        lines[0]["time"].as_str().unwrap().parse::<Timestamp>().unwrap();
    }
}
