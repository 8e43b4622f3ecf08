//! The keys of `module.yaml`. Its reader is part of the tools for authors, and a test there
//! compares the two.

use super::field::{Field, Shape};
use super::own::{LIMITS, MODULE_NAME};

/// A file, a file pattern, or a word of a command.
const WORD: Shape = Shape::Form { pattern: "^[^\\x00]+$", longest: 1_000, not: &[] };

/// A list of strings to search for.
const TEXTS: Shape =
    Shape::Few { of: &Shape::Form { pattern: "^[^\\x00]+$", longest: 253, not: &[] }, least: 1, most: 16 };

/// The keys of an entry of `detect`.
const DETECT: &[Field] = &[
    Field::new("title", "Name of the format", WORD, "The format's name for people.").examples(&["JUnit"]),
    Field::new(
        "files",
        "Paths",
        TEXTS,
        "Glob patterns, one of which the file's path below the result directory matches.",
    )
    .examples(&[r#"["**/*.xml"]"#]),
    Field::new(
        "prefix",
        "Start of the content",
        TEXTS,
        "Texts, with one of which the content starts, after a byte order mark and white space.",
    )
    .examples(&[r#"["TAP version "]"#]),
    Field::new("contains", "Texts in the content", TEXTS, "Texts, all of which occur in the first 64 KiB.")
        .examples(&[r#"["\"runs\"", "\"2.1.0\""]"#]),
    Field::new("xml-root", "Root element", TEXTS, "Local names, one of which the root element of an XML document has.")
        .examples(&[r#"["testsuites", "testsuite"]"#]),
];

/// The keys of `module.yaml`.
pub(super) const MODULE: &[Field] = &[
    Field::new(
        "name",
        "Name",
        Shape::Form { pattern: "^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$", longest: 63, not: &[] },
        "The module's name: what is built is NAME.wasm, and definitions name it so.",
    )
    .required()
    .examples(&["tap"]),
    Field::new(
        "language",
        "Language",
        Shape::Choice(&["rust", "go", "javascript", "typescript", "python", "c"]),
        "What the module is written in: it decides how it is built.",
    )
    .required(),
    Field::new("world", "World", WORD, "The world of the contract that the module is built for.")
        .default("post-processor-module")
        .examples(&["expectations-module", "summarizer-module", "judge-module", "every-role-module"]),
    Field::new(
        "formats",
        "Formats",
        Shape::Few { of: &Shape::Form { pattern: MODULE_NAME, longest: 63, not: &[] }, least: 0, most: 64 },
        "The result formats that the module answers to. Left out: its name, if it is a post-processor.",
    )
    .examples(&[r#"["tap"]"#]),
    Field::new(
        "default-files",
        "Files that it takes",
        Shape::Few { of: &WORD, least: 0, most: 64 },
        "Glob patterns of the files that the module takes when a definition names none.",
    )
    .examples(&[r#"["**/*.tap"]"#]),
    Field::new(
        "detect",
        "How its files are detected",
        Shape::Few { of: &Shape::Section { fields: DETECT, open: false }, least: 0, most: 16 },
        "Rules by which the host detects files of the module's formats, without running the module. A file matches a rule if it meets every condition that the rule gives.",
    )
    .examples(&[r#"[{"title": "TAP", "prefix": ["TAP version "]}]"#]),
    Field::new(
        "limits",
        "Limits",
        Shape::Section { fields: LIMITS, open: false },
        "The limits that the module asks for: a wish, which the definition and the operator's cap decide on.",
    ),
    Field::new("schema", "Schema", WORD, "The file with the JSON Schema of the module's options.")
        .examples(&["options.schema.json"]),
    Field::new("sdk", "SDK", WORD, "The directory of the SDK. Left out: sdk/ and the language's directory in it.")
        .examples(&["../../plugin-sdk/c"]),
    Field::new(
        "command",
        "Own build",
        Shape::Few { of: &WORD, least: 1, most: 64 },
        "The author's own build, in place of the one for the language: program and arguments. Needs artifact.",
    )
    .examples(&[r#"["make", "module"]"#]),
    Field::new("artifact", "What it makes", WORD, "The core module or component that command makes.")
        .examples(&["build/tap.wasm"]),
];
