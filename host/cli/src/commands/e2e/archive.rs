//! Tests out of an archive.

use std::path::Path;

use plumbline_app::AppError;
use plumbline_app::Context;
use plumbline_app::trees::{Reprocess, Trees};
use plumbline_conformance::lists::TestList;

/// The plugin whose results name tests.
const PLUGIN: &str = "e2e";
/// How the files of archives end.
const ENDINGS: [&str; 3] = [".tar.gz", ".tgz", ".tar"];

/// Whether the path is meant as an archive, or as a directory with the content of one.
pub(super) fn is_archive(path: &Path) -> bool {
    match path.is_dir() {
        true => path.join("plugins").is_dir(),
        false => path.to_str().is_some_and(|name| ENDINGS.iter().any(|ending| name.ends_with(ending))),
    }
}

/// Every leaf of the tree of plugin `e2e`, or of the only one that there is.
pub(super) fn read(context: &Context, path: &Path) -> Result<TestList, AppError> {
    let mut trees = Trees::open(context, path, Reprocess::default())?;
    let plugins = trees.plugins();
    let plugin = match plugins.as_slice() {
        [only] => only.clone(),
        all if all.iter().any(|plugin| plugin == PLUGIN) => PLUGIN.to_owned(),
        all => {
            let there =
                if all.is_empty() { "it has none".to_owned() } else { format!("it has `{}`", all.join("`, `")) };
            return Err(AppError::usage(format!("archive `{}` has no plugin `{PLUGIN}`", path.display())).hint(there));
        }
    };
    let root = trees.item(&plugin)?;
    let source = format!("plugin `{plugin}` of `{}`", path.display());
    let list = TestList::new(
        "",
        root.leaves().filter(|item| !std::ptr::eq(*item, &root)).map(|item| item.name.as_str()),
        &source,
    );
    root.dismantle();
    if list.tests.is_empty() {
        return Err(AppError::usage(format!("{source} has no results that name a test")));
    }
    Ok(list)
}
