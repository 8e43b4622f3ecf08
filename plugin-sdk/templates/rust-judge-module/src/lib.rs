//! Failures whose names match the option `pattern` do not count.

use plumbline_sdk::{InputFile, Judge, PluginInfo, Ruling, Rulings, Tree};
use serde::Deserialize;

/// What the definition says.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    /// The names of failures that do not count.
    pattern: String,
    /// Why they do not.
    #[serde(default = "known")]
    reason: String,
    /// Where that stands.
    #[serde(default)]
    source: String,
}

fn known() -> String {
    "it is known to fail".into()
}

/// Excuses what matches.
pub struct __TYPE__;

impl Judge for __TYPE__ {
    fn judge(plugin: &PluginInfo, tree: Tree, _evidence: Vec<InputFile>, out: &mut Rulings) -> Result<(), String> {
        let options: Options = plugin.options()?;
        for judged in tree {
            let judged = judged?;
            // A failure that an earlier judge of the chain has ruled on is left alone.
            if judged.is_open_failure() && matches(&options.pattern, &judged.item.name) {
                out.rule(judged.index, Ruling::excused("excused", &options.reason).source(&options.source));
            }
        }
        Ok(())
    }
}

/// Whether `pattern` stands for the whole of `name`: `*` for any characters, everything else for itself.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(first) else { return false };
    let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in middle.split('*') {
        let Some(at) = name.find(part) else { return false };
        name = &name[at + part.len()..];
    }
    name.ends_with(last)
}

plumbline_sdk::module! {
    name: "__NAME__",
    formats: [],
    default_files: [],
    schema: {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "pattern": { "type": "string", "minLength": 1, "description": "The names of failures that do not count; `*` stands for any characters." },
            "reason": { "type": "string", "description": "Why they do not." },
            "source": { "type": "string", "description": "Where that stands." }
        },
        "required": ["pattern"],
        "additionalProperties": false
    },
    judge: __TYPE__,
}
