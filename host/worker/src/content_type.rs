//! Content types by the last extension of a file name (docs/protocol.md, "Results").

use std::path::Path;

use plumbline_phonehome::CONTENT_TYPE_ARCHIVE;

/// The types that clients of this protocol send. The table is built in, so that a file has the same
/// type on every machine.
const TYPES: &[(&str, &str)] = &[
    ("css", "text/css; charset=utf-8"),
    ("csv", "text/csv; charset=utf-8"),
    ("gif", "image/gif"),
    ("gz", CONTENT_TYPE_ARCHIVE),
    ("htm", "text/html; charset=utf-8"),
    ("html", "text/html; charset=utf-8"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript; charset=utf-8"),
    ("json", "application/json"),
    ("log", "text/plain; charset=utf-8"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("svg", "image/svg+xml"),
    ("txt", "text/plain; charset=utf-8"),
    ("wasm", "application/wasm"),
    ("webp", "image/webp"),
    ("xml", "text/xml; charset=utf-8"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
];

/// Returns the content type for a file name, ignoring case. Returns an empty string for an unknown
/// extension, or none.
///
/// `.tgz` is omitted on purpose. By convention only `.gz` means "unpack this", and `.tgz` is kept
/// as it is.
#[must_use]
pub fn content_type(path: &Path) -> &'static str {
    let Some(extension) = path.extension().and_then(|e| e.to_str()) else { return "" };
    TYPES.iter().find(|(known, _)| known.eq_ignore_ascii_case(extension)).map_or("", |(_, content_type)| content_type)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_extension_decides() {
        for (name, expected) in [
            ("/tmp/results/e2e.tar.gz", "application/gzip"),
            ("x.gz", "application/gzip"),
            ("X.GZ", "application/gzip"),
            ("x.tgz", ""),
            ("x.gz.json", "application/json"),
            ("junit.xml", "text/xml; charset=utf-8"),
            ("index.html", "text/html; charset=utf-8"),
            ("notes.txt", "text/plain; charset=utf-8"),
            ("systemd_logs", ""),
            (".gz", ""),
            ("strange.xyz", ""),
            ("", ""),
        ] {
            assert_eq!(content_type(Path::new(name)), expected, "{name}");
        }
    }
}
