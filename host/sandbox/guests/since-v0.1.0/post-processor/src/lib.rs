//! A post-processor of the first contract generation. Each line becomes an item, whose status is
//! its first word. The module uses everything that the contract offers to its role.
#![cfg_attr(not(target_arch = "wasm32"), forbid(unsafe_code))]

#[cfg(target_arch = "wasm32")]
mod guest {
    #[expect(unsafe_code, reason = "generated")]
    mod bindings {
        wit_bindgen::generate!({ world: "post-processor-module", path: "../../../../../wit/since_v0.1.0" });
        use super::Module;
        export!(Module);
    }

    use bindings::exports::plumbline::plugin::post_processor::Guest;
    use bindings::plumbline::plugin::input::File;
    use bindings::plumbline::plugin::log::{self, Level};
    use bindings::plumbline::plugin::output;
    use bindings::plumbline::plugin::types::{Detail, Item, PluginInfo, Status};

    /// The metadata of the module, in the form of its generation.
    const ABOUT: &[u8; 114] = br#"{"name":"v0-1-0-post-processor","formats":["old-lines"],"default-files":["**/*.old"],"limits":{"memory":16777216}}"#;

    #[expect(unsafe_code, reason = "a section of the file, which nothing reads at run time")]
    #[used]
    #[unsafe(link_section = "plumbline:module")]
    static SECTION: [u8; 114] = *ABOUT;

    struct Module;

    impl Guest for Module {
        fn process(plugin: PluginInfo, files: Vec<File>) -> Result<(), String> {
            for (level, text) in
                [(Level::Debug, "debug"), (Level::Info, "info"), (Level::Warning, "warning"), (Level::Error, "error")]
            {
                log::write(level, text);
            }
            output::emit(&[of_plugin(&plugin)]);
            for file in files {
                of_file(&file)?;
            }
            Ok(())
        }
    }

    /// Returns an item with everything that the module knows about the plugin.
    fn of_plugin(plugin: &PluginInfo) -> Item {
        let meta = [
            ("driver", plugin.driver.clone()),
            ("format", plugin.format.clone()),
            ("expected-results", plugin.expected_results.to_string()),
        ];
        Item {
            depth: 0,
            name: plugin.name.clone(),
            status: Some(Status::Passed),
            meta: meta.into_iter().map(|(key, value)| (key.to_owned(), value)).collect(),
            details: vec![
                ("options".to_owned(), Detail::Json(plugin.options.clone())),
                ("note".to_owned(), Detail::Text("as text".to_owned())),
            ],
        }
    }

    /// Emits an item for a file, and one for each of its lines.
    fn of_file(file: &File) -> Result<(), String> {
        let meta = vec![("file".to_owned(), file.path()), ("size".to_owned(), file.size().to_string())];
        output::emit(&[Item { depth: 0, name: file.path(), status: None, meta, details: Vec::new() }]);
        let mut content = Vec::new();
        loop {
            // Reads few bytes at a time, so that a file takes several calls.
            match file.read(16) {
                Ok(bytes) if bytes.is_empty() => break,
                Ok(bytes) => content.extend(bytes),
                Err(error) => {
                    let meta = vec![("error".to_owned(), error)];
                    output::emit(&[Item {
                        depth: 1,
                        name: "unreadable".to_owned(),
                        status: Some(Status::Unknown),
                        meta,
                        details: Vec::new(),
                    }]);
                    return Ok(());
                }
            }
        }
        let mut items = Vec::new();
        for line in String::from_utf8_lossy(&content).lines() {
            let (word, name) = line.split_once(' ').unwrap_or(("", line));
            let status = match word {
                "" => None,
                "passed" => Some(Status::Passed),
                "failed" => Some(Status::Failed),
                "skipped" => Some(Status::Skipped),
                "timeout" => Some(Status::Timeout),
                "unknown" => Some(Status::Unknown),
                "give-up" => {
                    output::emit(&items);
                    return Err(format!("gave up at {name}"));
                }
                other => Some(Status::Custom(other.to_owned())),
            };
            items.push(Item { depth: 1, name: name.to_owned(), status, meta: Vec::new(), details: Vec::new() });
        }
        output::emit(&items);
        Ok(())
    }
}
