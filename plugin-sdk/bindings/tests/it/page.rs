//! Tests of the contract's page.

use std::collections::BTreeSet;
use std::path::Path;

use plumbline_bindings::generate;

use crate::root;

fn page() -> String {
    let files = generate(&root()).unwrap();
    String::from_utf8(files.get(Path::new("docs/wit.md")).unwrap().clone()).unwrap()
}

/// Returns every text between `open` and `close`.
fn between<'a>(text: &'a str, open: &str, close: char) -> BTreeSet<&'a str> {
    text.split(open).skip(1).filter_map(|rest| rest.split_once(close)).map(|(inner, _)| inner).collect()
}

#[test]
fn every_link_leads_to_an_anchor() {
    let page = page();
    let anchors = between(&page, "<a id=\"", '"');
    let links = between(&page, "](#", ')');
    assert!(links.len() > 10, "{links:?}");
    let lost: Vec<_> = links.difference(&anchors).collect();
    assert!(lost.is_empty(), "{lost:?}");
}

#[test]
fn the_page_has_the_whole_contract_with_its_documentation() {
    let page = page();
    for text in [
        "# The contract: `plumbline:plugin@0.1.0`",
        "### <a id=\"every-role-module\"></a>world `every-role-module`",
        "### <a id=\"post-processor\"></a>interface `post-processor`",
        "process: func(plugin: plugin-info, files: list<file>) -> result<_, string>",
        "read: func(max: u32) -> result<list<u8>, string>",
        "| `details` | [`list<tuple<string, detail>>`](#types.detail) | What people read when something went wrong",
        "A taint of a node (Kubernetes core/v1 `Taint`).",
        "| `custom` | `string` | A status of the format's own",
    ] {
        assert!(page.contains(text), "{text}\n{page}");
    }
}
