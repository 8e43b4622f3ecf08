//! The frame of every page: its head, its style sheet, its script and its security policy.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use plumbline_core::Digest;

/// The style sheet.
const STYLE: &str = include_str!("style.css");

/// The script, in the order in which its parts depend on each other.
pub(super) const SCRIPT: &str = concat!(
    "\"use strict\";\n",
    include_str!("script/data.js"),
    include_str!("script/table.js"),
    include_str!("script/item.js"),
    include_str!("script/charts.js"),
    include_str!("script/start.js"),
);

/// The start of a page, up to its content. It has the style sheet, and this script.
pub(crate) fn head(title: &str, script: Option<&str>) -> Markup {
    html! {
        (DOCTYPE)
        (PreEscaped("<html lang=\"en\">\n"))
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            meta http-equiv="Content-Security-Policy" content=(policy(script));
            title { (title) }
            style { (PreEscaped(STYLE)) }
        }
        (PreEscaped("\n<body>\n"))
    }
}

/// The end of a page without a script.
pub(crate) const END: &str = "</main>\n</body>\n</html>";

/// The content security policy. It allows only the style sheet and this script, and nothing from
/// outside. Even if markup from results were not escaped, it could not load or run anything.
fn policy(script: Option<&str>) -> String {
    let hash = |text: &str| BASE64_STANDARD.encode(Digest::of(text.as_bytes()).as_bytes());
    let script = script.map_or_else(String::new, |text| format!("script-src 'sha256-{}'; ", hash(text)));
    format!(
        "default-src 'none'; {script}style-src 'sha256-{}'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
        hash(STYLE)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_style_sheet_and_the_script_cannot_end_their_elements() {
        for text in [STYLE, SCRIPT] {
            assert!(!text.contains("</") && !text.contains("<!--"));
        }
        for forbidden in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "http"] {
            assert!(!SCRIPT.contains(forbidden), "{forbidden}");
        }
    }
}
