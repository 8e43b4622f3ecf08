//! The role `post-processor`.

use plumbline_sdk::{InputFile, Item, Output, PluginInfo, PostProcessor, Status};

use crate::HostFacts;
use crate::document::Document;
use crate::groups::groups;
use crate::judge::judge;
use crate::options::Options;

impl PostProcessor for HostFacts {
    fn process(plugin: &PluginInfo, files: Vec<InputFile>, out: &mut Output) -> Result<(), String> {
        let options: Options = plugin.options()?;
        for file in files {
            let item = Item::new(0, file.file_name()).meta("file", file.path()).meta("type", "file");
            match Document::read(file) {
                Ok(document) => {
                    out.emit(item);
                    groups(&document).for_each(|group| out.emit(group));
                    judge(&document, &options, out);
                }
                Err(reason) => out.emit(item.status(Status::Unknown).meta("error", reason)),
            }
        }
        Ok(())
    }
}
