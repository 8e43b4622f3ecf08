//! Expressions against the real thing: what Go's own `regexp` takes and matches.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use plumbline_conformance::lists::GoRegex;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};

/// Expressions that are made.
const EXPRESSIONS: usize = 4_000;

/// Answers each line `{"p": expression, "t": texts}` with `null` if it refuses the expression, else with what matches.
const PROGRAM: &str = r#"package main

import (
	"bufio"
	"encoding/json"
	"os"
	"regexp"
)

func main() {
	in := bufio.NewReader(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	decoder := json.NewDecoder(in)
	for decoder.More() {
		var question struct {
			P string
			T []string
		}
		if err := decoder.Decode(&question); err != nil {
			panic(err)
		}
		expression, err := regexp.Compile(question.P)
		if err != nil {
			out.Encode(nil)
			continue
		}
		matches := []bool{}
		for _, text := range question.T {
			matches = append(matches, expression.MatchString(text))
		}
		out.Encode(matches)
	}
}
"#;

/// Pieces of expressions; put together at random they are sometimes one.
fn pieces() -> impl Strategy<Value = Vec<&'static str>> {
    let piece = prop::sample::select(vec![
        "a",
        "b",
        "K",
        "k",
        "s",
        "é",
        "ſ",
        "Z",
        "1",
        "_",
        " ",
        "-",
        "\n",
        "σ",
        "ς",
        "ǅ",
        ".",
        "^",
        "$",
        "*",
        "+",
        "?",
        "|",
        "(",
        ")",
        "(?:",
        "(?i)",
        "(?i:",
        "(?s)",
        "(?m)",
        "(?U)",
        "(?-i)",
        "(?im-s:",
        "(?P<n>",
        "(?<m>",
        "(?=",
        "(?",
        "{",
        "}",
        "{2}",
        "{0}",
        "{1,}",
        "{,3}",
        "{1,2}",
        "{2,1}",
        "{01}",
        "{1000}",
        "{1001}",
        "[",
        "]",
        "[^",
        "[a-",
        "-b",
        "&&",
        "--",
        "~~",
        "[:alpha:]",
        "[:^space:]",
        "[:word:]",
        "[:x:]",
        r"\d",
        r"\D",
        r"\w",
        r"\W",
        r"\s",
        r"\S",
        r"\b",
        r"\B",
        r"\A",
        r"\z",
        r"\Z",
        r"\C",
        r"\Q",
        r"\E",
        r"\.",
        r"\-",
        r"\]",
        r"\[",
        r"\\",
        r"\n",
        r"\x41",
        r"\x{e9}",
        r"\x{17F}",
        r"\x{D800}",
        r"\101",
        r"\0",
        r"\7",
        r"\pL",
        r"\PL",
        r"\pN",
        r"\p{Greek}",
        r"\p{^Lu}",
        r"\P{Lu}",
        r"\p{Lt}",
        r"\p{LC}",
        r"\p{letter}",
        r"\p{Foo}",
        r"\p{Any}",
        r"\p{ascii}",
        r"\y",
        r"\",
    ]);
    prop::collection::vec(piece, 1..9)
}

fn texts() -> impl Strategy<Value = Vec<String>> {
    let letter = prop::sample::select(vec![
        'a', 'b', 'A', 'B', 'k', 'K', '\u{212a}', 's', 'S', 'ſ', 'é', 'É', 'σ', 'ς', 'Σ', 'ǅ', 'ǆ', '1', '٣', '_', ' ',
        '\n', '\u{b}', '\u{c}', '-', '&', '~', '[', ']', '{', '}', '.', '\\', '0', '2', ',', '\0',
    ]);
    prop::collection::vec(prop::collection::vec(letter, 0..5).prop_map(|chars| chars.into_iter().collect()), 12)
}

#[test]
fn go_takes_and_matches_the_same() {
    let go = Command::new("go").arg("version").output().is_ok_and(|output| output.status.success());
    if !go {
        eprintln!("SKIPPED: go_takes_and_matches_the_same: there is no `go` here");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("main.go"), PROGRAM).unwrap();
    fs::write(dir.path().join("go.mod"), "module oracle\n\ngo 1.21\n").unwrap();
    let mut questions = String::new();
    let mut asked = Vec::new();
    // The same every time: what fails here fails for whoever looks after it.
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    for _ in 0..EXPRESSIONS {
        let pattern = pieces().new_tree(&mut runner).unwrap().current().concat();
        let texts = texts().new_tree(&mut runner).unwrap().current();
        questions.push_str(&json!({"p": pattern, "t": texts}).to_string());
        questions.push('\n');
        asked.push((pattern, texts));
    }
    let mut child = Command::new("go")
        .args(["run", "."])
        .current_dir(dir.path())
        .env("GOFLAGS", "-mod=mod")
        .env("GOTOOLCHAIN", "local")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(questions.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success());
    let answers = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<Value> = answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), asked.len());
    let mut taken = 0;
    let mut wrong = Vec::new();
    for ((pattern, texts), answer) in asked.iter().zip(&answers) {
        let ours = match GoRegex::new(pattern) {
            Ok(regex) => json!(texts.iter().map(|text| regex.is_match(text)).collect::<Vec<_>>()),
            Err(_) => Value::Null,
        };
        taken += usize::from(!answer.is_null());
        if &ours != answer {
            wrong.push(format!(
                "{pattern:?}: {:?}\n  texts {texts:?}\n  ours  {ours}\n  Go's  {answer}",
                GoRegex::new(pattern).err()
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {EXPRESSIONS}:\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
    // Otherwise nothing but refusals was compared.
    assert!(taken > EXPRESSIONS / 10, "Go took {taken} expressions");
}
