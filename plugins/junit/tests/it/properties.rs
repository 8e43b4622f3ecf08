//! Property tests with arbitrary bytes.

use std::fs;

use plumbline_sdk::Status;
use plumbline_sdk::testing::Run;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::common;

/// Number of documents per property: about a second in total.
const CASES: u32 = 1_000;

/// Checks that the module reads the bytes without a panic, with the same result for any piece size,
/// and with a verdict.
fn check(bytes: &[u8], piece: u32) -> Result<Run, TestCaseError> {
    let run = common::read_in_pieces(bytes, 1 << 20);
    let cut = common::read_in_pieces(bytes, piece);
    prop_assert_eq!(&run, &cut, "{} bytes at a time", piece);
    prop_assert!(!run.items.is_empty());
    let tree = common::rolled_up(&run, "root");
    if run.items.iter().any(|item| item.meta.iter().any(|(key, _)| key == "error")) {
        prop_assert_ne!(&tree["status"], "passed");
    }
    Ok(run)
}

/// Generates valid and broken pieces of XML.
fn token() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "<testsuites>",
        "</testsuites>",
        "<testsuite name='s'>",
        "<testsuite>",
        "</testsuite>",
        "<testcase name=\"t\">",
        "<testcase",
        "<testcase/>",
        "</testcase>",
        "<failure message='a&#10;b'>",
        "</failure>",
        "<testCase name='n'>",
        "</testCase>",
        "<testsuite tests='2' failures='1'>",
        "<testcase name='[BeforeSuite]'/>",
        "<testcase name='s' status='failed' classname='c'/>",
        "<skipped/>",
        "<error>",
        "</error>",
        "<system-out>",
        "</system-out>",
        "<![CDATA[",
        "]]>",
        "]]",
        "<!--",
        "-->",
        "--",
        "<?xml version='1.0' encoding='latin1'?>",
        "<?",
        "?>",
        "<!DOCTYPE x [",
        "<!ENTITY a 'b'>",
        "]>",
        "&amp;",
        "&",
        "&#x41;",
        "&a;",
        ";",
        "<",
        ">",
        "/",
        "=",
        "'",
        "\"",
        " ",
        "\r",
        "\n",
        "ü",
        "\u{FEFF}",
        "\0",
        "text",
        "<properties>",
        "<property name='p' value='v'/>",
        "<property name='DryRun' value='true'/>",
        "</properties>",
        "<a:b xmlns:a='c'>",
        "</a:b>",
    ])
}

fn documents() -> Vec<Vec<u8>> {
    let mut paths: Vec<_> =
        fs::read_dir(common::data("dialects")).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(|path| fs::read(path).unwrap()).collect()
}

#[derive(Debug, Clone)]
enum Mutation {
    Remove(Index, usize),
    Insert(Index, Vec<u8>),
    Repeat(Index, usize),
    Flip(Index, u8),
    CutOff(Index),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    prop_oneof![
        (any::<Index>(), 1..40usize).prop_map(|(at, length)| Mutation::Remove(at, length)),
        (any::<Index>(), vec(any::<u8>(), 1..8)).prop_map(|(at, bytes)| Mutation::Insert(at, bytes)),
        (any::<Index>(), token()).prop_map(|(at, token)| Mutation::Insert(at, token.as_bytes().to_vec())),
        (any::<Index>(), 1..200usize).prop_map(|(at, length)| Mutation::Repeat(at, length)),
        (any::<Index>(), 1..=255u8).prop_map(|(at, bits)| Mutation::Flip(at, bits)),
        any::<Index>().prop_map(Mutation::CutOff),
    ]
}

fn mutate(document: &mut Vec<u8>, mutation: &Mutation) {
    if document.is_empty() {
        return;
    }
    let length = document.len();
    match mutation {
        Mutation::Remove(at, count) => {
            let at = at.index(length);
            document.drain(at..(at + count).min(length));
        }
        Mutation::Insert(at, bytes) => {
            let at = at.index(length);
            document.splice(at..at, bytes.iter().copied());
        }
        Mutation::Repeat(at, count) => {
            let at = at.index(length);
            let again = document[at..(at + count).min(length)].to_vec();
            document.splice(at..at, again);
        }
        Mutation::Flip(at, bits) => document[at.index(length)] ^= bits,
        Mutation::CutOff(at) => document.truncate(at.index(length)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(CASES) })]

    #[test]
    fn arbitrary_bytes(bytes in vec(any::<u8>(), 0..400), piece in 1..50u32) {
        check(&bytes, piece)?;
    }

    #[test]
    fn arbitrary_pieces_of_xml(tokens in vec(token(), 0..60), begun in any::<bool>(), piece in 1..20u32) {
        let begin = if begun { "<testsuites><testsuite name='s'>" } else { "" };
        check(format!("{begin}{}", tokens.concat()).as_bytes(), piece)?;
    }

    #[test]
    fn damaged_reports(which in any::<Index>(), mutations in vec(mutation(), 1..5), piece in 1..500u32) {
        let mut document = which.get(&documents()).clone();
        for mutation in &mutations {
            mutate(&mut document, mutation);
        }
        check(&document, piece)?;
    }

    #[test]
    fn reports_are_read_as_they_were_written(suites in vec(suite(3), 0..4), style in vec(any::<u8>(), 1..40), piece in 1..100u32) {
        let mut writer = Writer { xml: String::new(), style, place: 0 };
        writer.document(&suites);
        let mut want = String::new();
        let mut details = Vec::new();
        for suite in &suites {
            suite.outline(1, &mut want, &mut details);
        }
        let tested = suites.iter().any(Suite::has_tests);
        let root = if suites.is_empty() { "junit.xml: unknown\n" } else { "junit.xml: -\n" };
        if !suites.is_empty() && !tested {
            want.push_str("  no test case: unknown\n");
            details.push(Vec::new());
        }
        let run = check(writer.xml.as_bytes(), piece)?;
        prop_assert_eq!(run.outline(), format!("{root}{want}"), "{}", writer.xml);
        let found: Vec<Vec<(String, String)>> = run.items.iter().filter(|item| item.depth > 0).map(|item| {
            item.details.iter().map(|(key, value)| match value {
                plumbline_sdk::Detail::Text(text) | plumbline_sdk::Detail::Json(text) => (key.clone(), text.clone()),
            }).collect()
        }).collect();
        prop_assert_eq!(found, details, "{}", writer.xml);
        for encoded in [
            writer.xml.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>(),
            writer.xml.encode_utf16().flat_map(u16::to_be_bytes).collect(),
        ] {
            prop_assert_eq!(&common::read_in_pieces(encoded, piece), &run);
        }
    }
}

#[derive(Debug, Clone)]
struct Suite {
    name: String,
    suites: Vec<Suite>,
    cases: Vec<Test>,
}

impl Suite {
    fn has_tests(&self) -> bool {
        !self.cases.is_empty() || self.suites.iter().any(Self::has_tests)
    }
}

#[derive(Debug, Clone)]
struct Test {
    name: String,
    /// The element with the outcome, with its message and text.
    outcome: Option<(&'static str, String, String)>,
    output: Option<String>,
}

/// Generates text that XML can represent and that normalizing line breaks does not change.
fn words() -> impl Strategy<Value = String> {
    vec(
        prop_oneof![
            prop::char::range(' ', '~'),
            prop::sample::select(vec!['\n', '\t', 'ü', '€', '𝄞', '\u{FEFF}', ']', '&', '<'])
        ],
        1..12,
    )
    .prop_map(|characters| characters.into_iter().collect())
}

fn test() -> impl Strategy<Value = Test> {
    let element = prop::sample::select(vec!["failure", "error", "rerunFailure", "warning"]);
    let outcome = prop::option::of((element, words(), words()));
    (words(), outcome, prop::option::of(words())).prop_map(|(name, outcome, output)| Test { name, outcome, output })
}

fn suite(depth: u32) -> impl Strategy<Value = Suite> {
    let leaf = (words(), vec(test(), 0..4)).prop_map(|(name, cases)| Suite { name, suites: Vec::new(), cases });
    leaf.prop_recursive(depth, 12, 3, |inner| {
        (words(), vec(inner, 0..3), vec(test(), 0..3)).prop_map(|(name, suites, cases)| Suite { name, suites, cases })
    })
}

impl Suite {
    fn outline(&self, depth: usize, lines: &mut String, details: &mut Vec<Vec<(String, String)>>) {
        let status = if self.suites.is_empty() && self.cases.is_empty() { "skipped" } else { "-" };
        lines.push_str(&format!("{}{}: {status}\n", "  ".repeat(depth), self.name));
        details.push(Vec::new());
        for suite in &self.suites {
            suite.outline(depth + 1, lines, details);
        }
        for test in &self.cases {
            let failed = matches!(test.outcome, Some(("failure" | "error", ..)));
            let status = if failed { Status::Failed } else { Status::Passed };
            lines.push_str(&format!("{}{}: {status}\n", "  ".repeat(depth + 1), test.name));
            let outcome = test.outcome.iter().flat_map(|(key, message, text)| {
                let (whole, message) = (format!("{message} {text}").trim().to_owned(), message.trim());
                let apart = matches!(*key, "failure" | "error") && !message.is_empty() && whole.len() > message.len();
                let message = apart.then(|| (format!("{key}-message"), message.to_owned()));
                message.into_iter().chain([((*key).to_owned(), whole)])
            });
            let output = test.output.iter().map(|text| ("system-out".to_owned(), text.clone()));
            details.push(outcome.chain(output).collect());
        }
    }
}

/// Writes the same report in many different styles.
struct Writer {
    xml: String,
    style: Vec<u8>,
    place: usize,
}

impl Writer {
    fn choice(&mut self, of: u8) -> u8 {
        self.place += 1;
        self.style[self.place % self.style.len()].wrapping_add(self.place as u8) % of
    }

    fn document(&mut self, suites: &[Suite]) {
        if self.choice(2) == 0 {
            self.xml.push_str("<?xml version=\"1.0\"?>");
        }
        self.space();
        self.xml.push_str("<testsuites>");
        self.suites(suites);
        self.xml.push_str("</testsuites>");
    }

    fn suites(&mut self, suites: &[Suite]) {
        for suite in suites {
            self.space();
            self.xml.push_str("<testsuite tests='x'");
            self.attribute("name", &suite.name);
            self.xml.push('>');
            self.suites(&suite.suites);
            for test in &suite.cases {
                self.test(test);
            }
            self.space();
            self.xml.push_str("</testsuite >");
        }
    }

    fn test(&mut self, test: &Test) {
        self.space();
        self.xml.push_str("<testcase classname = 'c'");
        self.attribute("name", &test.name);
        if test.outcome.is_none() && test.output.is_none() && self.choice(2) == 0 {
            self.xml.push_str(" />");
            return;
        }
        self.xml.push('>');
        if let Some((key, message, text)) = &test.outcome {
            self.space();
            self.xml.push_str(&format!("<{key}"));
            self.attribute("message", message);
            self.xml.push('>');
            self.text(text);
            self.xml.push_str(&format!("</{key}>"));
        }
        if let Some(text) = &test.output {
            self.space();
            self.xml.push_str("<system-out>");
            self.text(text);
            self.xml.push_str("</system-out>");
        }
        self.xml.push_str("</testcase>");
    }

    fn space(&mut self) {
        let space = [
            "",
            "\n  ",
            "<!-- <testcase name='no'> -->",
            "<?note </testsuite> ?>",
            "\r\n",
            "<properties><property name='a'/></properties>",
        ];
        let of = if self.xml.contains("<testsuite ") { 6 } else { 3 };
        let choice = usize::from(self.choice(of));
        self.xml.push_str(space[choice]);
    }

    fn attribute(&mut self, name: &str, value: &str) {
        let quote = if self.choice(2) == 0 { '"' } else { '\'' };
        self.xml.push_str(&format!(" {name}={quote}"));
        for character in value.chars() {
            let plain = !matches!(character, '<' | '&' | '\n' | '\t') && character != quote;
            self.character(character, plain);
        }
        self.xml.push(quote);
    }

    fn text(&mut self, text: &str) {
        if self.choice(3) == 0 {
            self.xml.push_str(&format!("<![CDATA[{}]]>", text.replace("]]>", "]]]]><![CDATA[>")));
            return;
        }
        for character in text.chars() {
            self.character(character, !matches!(character, '<' | '&' | '>'));
            if self.choice(9) == 0 {
                self.xml.push_str("<!-- & -->");
            }
        }
    }

    fn character(&mut self, character: char, plain: bool) {
        let number = u32::from(character);
        match (self.choice(4), character) {
            (0, _) => self.xml.push_str(&format!("&#{number};")),
            (1, _) => self.xml.push_str(&format!("&#x{number:x};")),
            (_, _) if plain => self.xml.push(character),
            (_, '<') => self.xml.push_str("&lt;"),
            (_, '>') => self.xml.push_str("&gt;"),
            (_, '&') => self.xml.push_str("&amp;"),
            (_, '"') => self.xml.push_str("&quot;"),
            (_, '\'') => self.xml.push_str("&apos;"),
            (_, _) => self.xml.push_str(&format!("&#{number};")),
        }
    }
}
