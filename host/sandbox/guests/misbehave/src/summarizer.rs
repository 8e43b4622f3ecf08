//! The role `summarizer`.

use std::hint::black_box;

use plumbline_sdk::{Item, Output, PluginInfo, Results, Status, Summarizer};
use serde_json::Map;

use crate::post_processor::{forever, grow, half, item, spin};
use crate::{Behaviour, Misbehave};

impl Summarizer for Misbehave {
    fn summarize(plugin: &PluginInfo, mut results: Results, out: &mut Output) -> Result<(), String> {
        // As the module `causes`, it gets no options.
        if plugin.options.as_object().is_none_or(Map::is_empty) {
            return one_cause(results, out);
        }
        match Behaviour::of(plugin)? {
            Behaviour::EndlessLoop => spin(),
            Behaviour::MemoryGrowth => grow(),
            Behaviour::ItemFlood => forever(|| out.emit(item())),
            Behaviour::ReadFlood => forever(|| _ = black_box(results.next())),
            Behaviour::ReadNothing => out.emit(item()),
            Behaviour::ReadAfterEnd => {
                count(&mut results, out)?;
                let after = (0..100).filter(|_| results.next().is_some()).count();
                out.emit(Item::new(0, format!("{after} after the end")).status(Status::Passed));
            }
            Behaviour::EmptyName => out.emit(Item::new(0, "")),
            Behaviour::PanicHalfway => {
                half(out);
                let nothing: Option<u32> = black_box(None);
                #[expect(clippy::expect_used, reason = "this is what it is about")]
                nothing.expect("a summary that is not there");
            }
            Behaviour::RefuseHalfway => {
                half(out);
                return Err("there is nothing to be said of this".into());
            }
            _ => count(&mut results, out)?,
        }
        Ok(())
    }
}

/// Emits one cause of all entries.
fn one_cause(results: Results, out: &mut Output) -> Result<(), String> {
    let mut numbers: Vec<u32> = Vec::new();
    for (number, entry) in (0..).zip(results) {
        entry?;
        numbers.push(number);
    }
    let cause = Item::new(0, "one cause").status(Status::Passed).meta("cause", "own-1");
    out.emit(cause.meta("template", "the same for all").raw_json("items", format!("{numbers:?}")));
    Ok(())
}

/// Emits an item for each entry, with what was read.
fn count(results: &mut Results, out: &mut Output) -> Result<(), String> {
    for entry in results {
        let entry = entry?;
        let status = entry.item.status.clone();
        let mut item = entry.item;
        item.name = format!("{}/{}/{}", entry.set, item.depth, item.name);
        item.depth = 0;
        out.emit(item.status(status));
    }
    Ok(())
}
