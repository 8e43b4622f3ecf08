//! Detection of the module for each file of a plugin with the result format `auto`. Rules are
//! applied to the start and the end of a file.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use globset::GlobSet;
use plumbline_sandbox::{DETECT_BYTES, DetectRule};

use super::files::{SetFile, file_patterns};
use super::outcome::PostProcessError;
use crate::modules::LazyModule;

/// Number of bytes at the end of a file that rules check: 64 KiB. TAP may end with its plan.
const TAIL_BYTES: u64 = 64 << 10;

/// Maximum number of bytes before the root of an XML document: 1 MiB, for comments.
const XML_BYTES: u64 = 1 << 20;

/// The modules that detect their files, with compiled rules.
pub(super) struct Detectors<'a> {
    modules: Vec<(&'a LazyModule, Vec<Rule<'a>>)>,
}

struct Rule<'a> {
    rule: &'a DetectRule,
    files: Option<GlobSet>,
}

impl<'a> Detectors<'a> {
    pub(super) fn new(modules: &'a [LazyModule]) -> Result<Self, PostProcessError> {
        let ready = |module: &'a LazyModule| {
            let rules = module.info().detect.iter().map(Rule::new).collect::<Result<Vec<_>, _>>();
            let rules = rules.map_err(|source| PostProcessError::Pattern { module: module.name(), source })?;
            Ok((module, rules))
        };
        Ok(Self { modules: modules.iter().map(ready).collect::<Result<_, _>>()? })
    }

    /// Returns the first module with a rule that matches `file`, and the name of the format.
    pub(super) fn find(&self, file: &SetFile) -> io::Result<Option<(&'a LazyModule, String)>> {
        let head = Head::read(&file.absolute)?;
        Ok(self.modules.iter().find_map(|(module, rules)| {
            let Rule { rule, .. } = rules.iter().find(|rule| rule.matches(file.path_in_results(), &head))?;
            Some((*module, if rule.title.is_empty() { module.name() } else { rule.title.clone() }))
        }))
    }
}

impl<'a> Rule<'a> {
    fn new(rule: &'a DetectRule) -> Result<Self, globset::Error> {
        let files = (!rule.files.is_empty()).then(|| file_patterns(&rule.files)).transpose()?;
        Ok(Self { rule, files })
    }

    fn matches(&self, path: &str, head: &Head) -> bool {
        let DetectRule { prefix, contains, xml_root, .. } = self.rule;
        // Tools write the names of JUnit's elements in any case. Other files must match exactly.
        let is_xml = Path::new(path).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("xml"));
        let same = |name: &str, root: &str| if is_xml { name.eq_ignore_ascii_case(root) } else { name == root };
        let root = head.root.as_deref();
        self.files.as_ref().is_none_or(|files| files.is_match(path))
            && (prefix.is_empty() || prefix.iter().any(|text| head.text.trim_start().starts_with(text.as_str())))
            && contains.iter().all(|text| head.text.contains(text.as_str()) || head.tail.contains(text.as_str()))
            && (xml_root.is_empty() || root.is_some_and(|root| xml_root.iter().any(|name| same(name, root))))
    }
}

/// The parts of a file that rules check, as text.
struct Head {
    /// The first [`DETECT_BYTES`], without a byte order mark.
    text: String,
    /// The last [`TAIL_BYTES`] of a longer file, as UTF-8.
    tail: String,
    /// The local name of the root element, if this is an XML document.
    root: Option<String>,
}

impl Head {
    fn read(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let mut bytes = Vec::new();
        file.by_ref().take(DETECT_BYTES as u64).read_to_end(&mut bytes)?;
        let text = decode(&bytes);
        let mut root = xml_root(&text).map(str::to_owned);
        if bytes.len() < DETECT_BYTES {
            return Ok(Self { text, tail: String::new(), root });
        }
        // The start may end before the root, or within its name.
        let is_cut = root.as_deref().is_none_or(|root| text.ends_with(root));
        let start = text.trim_start();
        if is_cut && (start.is_empty() || start.starts_with('<')) {
            file.by_ref().take(XML_BYTES.saturating_sub(DETECT_BYTES as u64)).read_to_end(&mut bytes)?;
            root = xml_root(&decode(&bytes)).map(str::to_owned);
        }
        Ok(Self { tail: read_tail(file)?, text, root })
    }
}

fn read_tail(mut file: File) -> io::Result<String> {
    let length = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the local name of the root element if `text` is the start of an XML document.
fn xml_root(text: &str) -> Option<&str> {
    let mut rest = text;
    loop {
        let markup = rest.trim_start().strip_prefix('<')?;
        rest = if let Some(instruction) = markup.strip_prefix('?') {
            instruction.split_once("?>")?.1
        } else if let Some(comment) = markup.strip_prefix("!--") {
            comment.split_once("-->")?.1
        } else if markup.starts_with('!') {
            let (declaration, after) = markup.split_once('>')?;
            // An internal subset in brackets contains `>` itself.
            if declaration.contains('[') { markup.split_once(']')?.1.split_once('>')?.1 } else { after }
        } else {
            let name = markup.split(|c: char| c.is_whitespace() || matches!(c, '/' | '>')).next()?;
            return name.rsplit(':').next();
        };
    }
}

/// Decodes UTF-8, or UTF-16 if the file looks like it. Invalid sequences are replaced.
fn decode(bytes: &[u8]) -> String {
    let utf16 = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes.as_chunks().0.iter().map(|pair| unit(*pair)).collect();
        String::from_utf16_lossy(&units)
    };
    match bytes {
        [0xEF, 0xBB, 0xBF, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        [0xFF, 0xFE, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] => utf16(rest, u16::from_be_bytes),
        // In UTF-16, XML starts with `<`, or with white space that a script wrote.
        [b'<' | b' ' | b'\t' | b'\r' | b'\n', 0, ..] => utf16(bytes, u16::from_le_bytes),
        [0, b'<' | b' ' | b'\t' | b'\r' | b'\n', ..] => utf16(bytes, u16::from_be_bytes),
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(json: serde_json::Value) -> DetectRule {
        serde_json::from_value(json).unwrap()
    }

    fn head(content: &[u8]) -> Head {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        std::fs::write(&path, content).unwrap();
        Head::read(&path).unwrap()
    }

    fn matches(rule: &DetectRule, path: &str, content: &[u8]) -> bool {
        Rule::new(rule).unwrap().matches(path, &head(content))
    }

    #[test]
    fn the_root_of_an_xml_document_is_found_after_its_prolog() {
        let junit = rule(serde_json::json!({"xml-root": ["testsuites", "testsuite"]}));
        for content in [
            "<testsuites>",
            "<testsuite name='a'/>",
            "\u{feff}<?xml version=\"1.0\"?>\n<!-- a > b -->\n<!DOCTYPE x [<!ENTITY a '>'>]>\n<j:testsuites xmlns:j='x'>",
            "  <!DOCTYPE x>\n<testsuite>",
        ] {
            assert!(matches(&junit, "global/a", content.as_bytes()), "{content}");
        }
        for content in
            ["", "<", "<!--", "<!DOCTYPE [", "<?xml", "<coverage><testsuite/>", "a <testsuite>", "<testsuitez>", "{}"]
        {
            assert!(!matches(&junit, "global/a", content.as_bytes()), "{content}");
        }
        for mark in ["\u{feff}", "", "\r\n"] {
            let text = format!("{mark}<?xml version='1.0'?><testsuite/>");
            let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
            let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
            assert!(matches(&junit, "global/a", &big) && matches(&junit, "global/a", &little), "{mark:?}");
        }
    }

    #[test]
    fn the_root_is_found_in_any_case_if_the_file_s_name_tells_that_it_is_xml() {
        let junit = rule(serde_json::json!({"xml-root": ["testsuites", "testsuite"]}));
        for (path, content, want) in [
            ("global/a.xml", "<TestSuite>", true),
            ("global/x/A.XML", "<j:TESTSUITES>", true),
            ("global/a.xml", "<testsuitez>", false),
            ("global/a", "<TestSuite>", false),
            ("global/xml", "<TestSuite>", false),
        ] {
            assert_eq!(matches(&junit, path, content.as_bytes()), want, "{path}: {content}");
        }
    }

    #[test]
    fn the_root_is_found_after_a_long_comment_and_much_white_space() {
        let junit = rule(serde_json::json!({"xml-root": ["testsuites", "testsuite"]}));
        let comment = |length: usize| format!("<!--{}-->", "x".repeat(length - 7));
        for before in [comment(DETECT_BYTES - 5), comment(200_000), " ".repeat(200_000), "\n".repeat(DETECT_BYTES)] {
            assert!(matches(&junit, "global/a.xml", format!("{before}<testsuites>").as_bytes()), "{}", before.len());
        }
        for before in [comment(XML_BYTES as usize), format!("a{}", " ".repeat(100_000))] {
            assert!(!matches(&junit, "global/a.xml", format!("{before}<testsuites>").as_bytes()), "{}", before.len());
        }
        let utf16: Vec<u8> =
            format!("{}<testsuites>", comment(100_000)).encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert!(matches(&junit, "global/a.xml", &utf16));
    }

    #[test]
    fn every_condition_of_a_rule_counts() {
        let sarif =
            rule(serde_json::json!({"files": ["**/*.json"], "prefix": ["{", "["], "contains": ["runs", "2.1.0"]}));
        assert!(matches(&sarif, "global/x/a.json", b"\xEF\xBB\xBF \n{\"runs\": [], \"version\": \"2.1.0\"}"));
        assert!(!matches(&sarif, "global/a.txt", b"{\"runs\": [], \"version\": \"2.1.0\"}"));
        assert!(!matches(&sarif, "global/a.json", b"{\"runs\": []}"));
        assert!(!matches(&sarif, "global/a.json", b"x{\"runs\": [], \"version\": \"2.1.0\"}"));
    }

    #[test]
    fn only_the_start_and_the_end_of_a_file_are_read() {
        let needle = rule(serde_json::json!({"prefix": ["{"], "contains": ["needle", "start"]}));
        let blanks = |length: usize| " ".repeat(length);
        let end = format!("{{start{}needle}}", blanks(5 * DETECT_BYTES));
        assert!(matches(&needle, "a", end.as_bytes()));
        let short = format!("{{start{}needle}}", blanks(DETECT_BYTES - 10));
        assert!(matches(&needle, "a", short.as_bytes()), "the end of one part has only a half of it");
        let middle = format!("{{start{0}needle{0}}}", blanks(DETECT_BYTES));
        assert!(!matches(&needle, "a", middle.as_bytes()));
        let read = head(end.as_bytes());
        assert_eq!((read.text.len(), read.tail.len() as u64), (DETECT_BYTES, TAIL_BYTES));
        let late = format!("{}{{start needle", blanks(DETECT_BYTES));
        assert!(!matches(&needle, "a", late.as_bytes()), "the content starts too late");
    }
}
