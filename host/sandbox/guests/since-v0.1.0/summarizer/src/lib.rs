//! A summarizer of the first contract generation. It emits an item per result set, with the number
//! of entries of each status.
#![cfg_attr(not(target_arch = "wasm32"), forbid(unsafe_code))]

#[cfg(target_arch = "wasm32")]
mod guest {
    #[expect(unsafe_code, reason = "generated")]
    mod bindings {
        wit_bindgen::generate!({ world: "summarizer-module", path: "../../../../../wit/since_v0.1.0" });
        use super::Module;
        export!(Module);
    }

    use std::collections::BTreeMap;

    use bindings::exports::plumbline::plugin::summarizer::Guest;
    use bindings::plumbline::plugin::log::{self, Level};
    use bindings::plumbline::plugin::output;
    use bindings::plumbline::plugin::results::Items;
    use bindings::plumbline::plugin::types::{Detail, Item, PluginInfo, Status};

    /// The metadata of the module, in the form of its generation.
    const ABOUT: &[u8; 60] = br#"{"name":"v0-1-0-summarizer","formats":[],"default-files":[]}"#;

    #[expect(unsafe_code, reason = "a section of the file, which nothing reads at run time")]
    #[used]
    #[unsafe(link_section = "plumbline:module")]
    static SECTION: [u8; 60] = *ABOUT;

    struct Module;

    impl Guest for Module {
        fn summarize(plugin: PluginInfo, items: Items) -> Result<(), String> {
            log::write(Level::Info, &plugin.name);
            let mut sets: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
            loop {
                // Reads few entries at a time, so that it takes several calls.
                let entries = items.next(2)?;
                if entries.is_empty() {
                    break;
                }
                for entry in entries {
                    *sets.entry(entry.set).or_default().entry(word(entry.item.status)).or_default() += 1;
                }
            }
            for (set, counts) in sets {
                let status = if counts.contains_key("failed") { Status::Failed } else { Status::Passed };
                let counts: Vec<String> = counts.into_iter().map(|(word, n)| format!("{word}: {n}")).collect();
                output::emit(&[Item {
                    depth: 0,
                    name: set,
                    status: Some(status),
                    meta: vec![("type".to_owned(), "summary".to_owned())],
                    details: vec![("counts".to_owned(), Detail::Text(counts.join(", ")))],
                }]);
            }
            Ok(())
        }
    }

    fn word(status: Option<Status>) -> String {
        match status {
            None => "none".to_owned(),
            Some(Status::Passed) => "passed".to_owned(),
            Some(Status::Failed) => "failed".to_owned(),
            Some(Status::Skipped) => "skipped".to_owned(),
            Some(Status::Timeout) => "timeout".to_owned(),
            Some(Status::Unknown) => "unknown".to_owned(),
            Some(Status::Custom(own)) => own,
        }
    }
}
