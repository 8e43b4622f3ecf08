//! A check that compares settings of the kernel with the values that they should have.

use std::collections::BTreeMap;

use plumbline_sdk::context::FileError;
use plumbline_sdk::{Checker, Context, Item, Output, PluginInfo, Status};
use serde::Deserialize;

/// The directory of the settings. The definition grants it.
const DIRECTORY: &str = "/proc/sys";

/// Options of the definition.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Options {
    /// The settings, such as `net/ipv4/ip_forward`, with their values.
    settings: BTreeMap<String, String>,
}

impl Default for Options {
    fn default() -> Self {
        let settings = [("fs/protected_hardlinks", "1"), ("kernel/panic_on_oops", "1")];
        Self { settings: settings.map(|(name, value)| (name.into(), value.into())).into() }
    }
}

/// Compares settings.
pub struct __TYPE__;

impl Checker for __TYPE__ {
    fn run(plugin: &PluginInfo, context: &mut Context, out: &mut Output) -> Result<(), String> {
        let Options { settings } = plugin.options()?;
        let total = settings.len() as u64;
        for (done, (name, want)) in (0..).zip(settings) {
            context.progress(done, total, name.as_str());
            let item = Item::new(0, name.as_str());
            out.emit(match context.read_to_string(&format!("{DIRECTORY}/{name}")) {
                Ok(text) if text.trim() == want => item.status(Status::Passed),
                Ok(text) => {
                    let failure = format!("want {want}, got {}", text.trim());
                    item.status(Status::Failed).text("failure", failure)
                }
                Err(error @ FileError::NotFound { .. }) => {
                    item.status(Status::Skipped).text("reason", error.to_string())
                }
                // What cannot be read never passes.
                Err(error) => item.status(Status::Unknown).meta("error", error.to_string()),
            });
        }
        context.progress(total, total, "done");
        Ok(())
    }
}

plumbline_sdk::module! {
    name: "__NAME__",
    formats: [],
    default_files: [],
    schema: {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "settings": {
                "type": "object",
                "description": "Settings of the kernel, such as net/ipv4/ip_forward, with their values.",
                "additionalProperties": { "type": "string" }
            }
        },
        "additionalProperties": false
    },
    rights: { "files": ["/proc/sys"] },
    check: __TYPE__,
}
