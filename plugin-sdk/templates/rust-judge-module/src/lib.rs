//! A judge that excuses failures whose names match the option `pattern`.

use plumbline_sdk::{InputFile, Judge, PluginInfo, Ruling, Rulings, Tree};
use serde::Deserialize;

/// Options of the definition.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    /// Matches the names of failures that do not count.
    pattern: String,
    /// Why they do not count.
    #[serde(default = "known")]
    reason: String,
    /// Where the reason is recorded, such as a URL.
    #[serde(default)]
    source: String,
}

fn known() -> String {
    "it is known to fail".into()
}

/// Excuses the failures that match.
pub struct __TYPE__;

impl Judge for __TYPE__ {
    fn judge(plugin: &PluginInfo, tree: Tree, _evidence: Vec<InputFile>, out: &mut Rulings) -> Result<(), String> {
        let options: Options = plugin.options()?;
        for judged in tree {
            let judged = judged?;
            // Keep the ruling of an earlier judge in the chain.
            if judged.is_open_failure() && matches(&options.pattern, &judged.item.name) {
                out.rule(judged.index, Ruling::excused("excused", &options.reason).source(&options.source));
            }
        }
        Ok(())
    }
}

/// Whether `pattern` matches all of `name`. `*` matches any characters, and every other character
/// matches itself.
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
            "reason": { "type": "string", "description": "Why they do not count." },
            "source": { "type": "string", "description": "The source of the reason, such as a URL." }
        },
        "required": ["pattern"],
        "additionalProperties": false
    },
    judge: __TYPE__,
}
