//! `e2e`: reads test names from every kind of input, and selects some of them.

use std::fs::{self, File};
use std::io::Write;
use std::process::Stdio;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

use crate::addresses::{answer, server};
use crate::bed::{Bed, Done};
use crate::image_maker::{Maker, Words};
use crate::registries::{Registry, command};

const ARCHIVE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/results/results-4-e2e-failures.tar.gz");
const CLUSTER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/results/cluster");

fn lines(done: &Done) -> Vec<&str> {
    done.out.lines().collect()
}

fn list(bed: &Bed, args: &[&str]) -> Done {
    bed.plumbline(&[&["e2e"], args].concat())
}

#[test]
fn lists_of_this_program_need_nothing() {
    let bed = Bed::new();
    let all = list(&bed, &[]).expect(0);
    assert_eq!((lines(&all).len(), all.err.as_str()), (3206, ""));
    let some = list(&bed, &["-f", r"\[Conformance\]", "-s", r"\[Serial\]|\[Slow\]", "--version", "v1.29.15"]).expect(0);
    assert!(lines(&some).iter().all(|name| name.contains("[Conformance]") && !name.contains("[Serial]")));
    let close = list(&bed, &["--version", "v1.29.99", "-f", "DNS"]).expect(0);
    assert!(close.err.contains("using that of v1.29.15"), "{}", close.err);
    let newer = list(&bed, &["--version", "v1.99.0", "-f", "DNS"]).expect(0).err;
    assert!(newer.contains("using that of v1.37.2, although tests were added and renamed since"), "{newer}");
    assert!(newer.contains("print the real list of a version with `--input image`"), "{newer}");
    let far = list(&bed, &["--version", "v1.28.0"]).expect(2);
    insta::assert_snapshot!(far.err, @r"
    error: failed to list the tests
    cause: no list of tests of v1.28.0 in this program; it has v1.37.2, v1.36.3, v1.35.4, v1.34.4, v1.33.13, v1.30.14, v1.29.15
    hint:  download lists of more versions with `--input online`, or ask the suite's image with `--input image`; the oldest list in this program is `--version v1.29.15`
    ");
}

#[test]
fn tags_and_counts_are_as_scripts_know_them() {
    let bed = Bed::new();
    bed.write("own", "[It] [sig-a] one [Slow]\n[sig-a] two\n[sig-b] three [Feature: x: y]\n");
    let show = |mode: &str| list(&bed, &["-i", "own", "-m", mode]).expect(0).out;
    assert_eq!(show("tests"), "[sig-a] one [Slow]\n[sig-a] two\n[sig-b] three [Feature: x: y]\n");
    assert_eq!(show("tags"), "[Feature: x: y]\n[Slow]\n[sig-a]\n[sig-b]\n");
    assert_eq!(show("tagCounts"), "[Feature: x: y]:1\n[Slow]:1\n[sig-a]:2\n[sig-b]:1\n");
    assert_eq!(show("TAGCOUNTS"), show("tagCounts"));
    let data = |mode: &str| -> Value {
        serde_json::from_str(&list(&bed, &["-i", "own", "-m", mode, "-f", "sig-a", "-o", "json"]).expect(0).out)
            .unwrap()
    };
    assert_eq!(
        data("tests"),
        serde_json::json!({"version": "", "source": "own", "total": 3, "selected": 2, "tests": ["[sig-a] one [Slow]", "[sig-a] two"]})
    );
    assert_eq!(data("tags")["tags"], serde_json::json!(["[Slow]", "[sig-a]"]));
    assert_eq!(data("tagCounts")["tagCounts"]["[sig-a]"], 2);
}

#[test]
fn a_focus_that_selects_nothing_says_what_is_near() {
    let bed = Bed::new();
    insta::assert_snapshot!(list(&bed, &["-f", "Pods should be submited and removed"]).expect(2).err);
    insta::assert_snapshot!(list(&bed, &["-f", "qwertz"]).expect(2).err);
    insta::assert_snapshot!(list(&bed, &["-f", "DNS", "-s", "D"]).expect(2).err);
    insta::assert_snapshot!(list(&bed, &["-f", "a(?!b)"]).expect(2).err);
    let anchored = list(&bed, &["-f", r"^\[sig-node\]"]).expect(0);
    assert!(
        anchored.err.contains("the suite itself selects 0 tests") && lines(&anchored).len() > 100,
        "{}",
        anchored.err
    );
}

#[test]
fn names_come_from_standard_input_and_archives() {
    let bed = Bed::new();
    bed.write("in", "b\n[It] a\n");
    let mut command = bed.command(&["e2e", "--input", "-"]);
    command.stdin(File::open(bed.path("in")).unwrap()).stderr(Stdio::inherit());
    assert_eq!(String::from_utf8(command.output().unwrap().stdout).unwrap(), "a\nb\n");
    let old = list(&bed, &["--input", ARCHIVE, "-f", r"\[Conformance\]", "-o", "json"]).expect(0);
    let old: Value = serde_json::from_str(&old.out).unwrap();
    assert_eq!(old["total"], 5771);
    assert!(old["source"].as_str().unwrap().starts_with("plugin `e2e` of `"));
    let none = list(&bed, &["--input", CLUSTER]).expect(2);
    assert!(none.err.contains("has no plugin `e2e`") && none.err.contains("it has `"), "{}", none.err);
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn directories_have_a_list_for_each_version() {
    let bed = Bed::new();
    fs::create_dir(bed.path("lists")).unwrap();
    fs::write(bed.path("lists/v1.40.0.gz"), gzip("[It] one\n[It] two\n")).unwrap();
    fs::write(bed.path("lists/v1.40.1.gz"), gzip("#v1.40.0\n+[It] three\n-[It] one\n")).unwrap();
    assert_eq!(list(&bed, &["-i", "lists"]).expect(0).out, "three\ntwo\n");
    assert_eq!(list(&bed, &["-i", "lists", "--version", "v1.40.0"]).expect(0).out, "one\ntwo\n");
    assert!(list(&bed, &["-i", "lists", "--version", "v1.40.9"]).expect(0).err.contains("using that of v1.40.1"));
    assert!(list(&bed, &["-i", "lists", "--version", "v1.41.0"]).expect(2).err.contains("it has v1.40.1, v1.40.0"));
    let nowhere = list(&bed, &["-i", "nowhere"]).expect(2);
    assert!(nowhere.err.contains("it is not a file, a directory or a URL"), "{}", nowhere.err);
}

#[test]
fn addresses_are_fetched_by_version_or_completely() {
    let bed = Bed::new();
    let plain = "[It] one\n[It] two\n";
    let base = server(vec![answer("200 OK", "", "#v1.40.0\n+[It] three\n"), answer("200 OK", "", plain)]);
    let done = list(&bed, &["-i", &format!("{base}/lists"), "--version", "v1.40.1"]).expect(0);
    assert_eq!(done.out, "one\nthree\ntwo\n");
    let base = server(vec![answer("200 OK", "", plain)]);
    assert_eq!(list(&bed, &["-i", &format!("{base}/mine.txt")]).expect(0).out, "one\ntwo\n");
    let base = server(vec![answer("404 Not Found", "", "no")]);
    let missing = list(&bed, &["-i", "online", "--url", &base, "--version", "v1.50.0"]).expect(2);
    assert!(missing.err.contains("/v1.50.0.gz`") && missing.err.contains("404"), "{}", missing.err);
    let unsaid = list(&bed, &["-i", "online"]).expect(2);
    assert!(unsaid.err.contains("--version auto"), "{}", unsaid.err);
    let down = list(&bed, &["-i", "http://127.0.0.1:1", "--version", "v1.30.0"]).expect(2);
    assert!(down.err.contains("Connection refused") && down.err.contains("offline"), "{}", down.err);
}

#[test]
fn the_suite_itself_names_its_tests() {
    let bed = Bed::new();
    let Some(registry) = Registry::start(&bed, "storage") else { return };
    let maker = Maker::new(&bed.path("world"));
    let program = "#!/bin/sh\n[ \"$1\" = --list-tests ] || exit 2\n\
                   printf 'The names:\\n    test/e2e/a.go:41: [sig-a] one: two\\n    b.go:7: [sig-b] three\\n\\n'\n";
    let suite = |program| maker.index(Words::Oci, &[("usr/local/bin/e2e.test", program)]);
    maker.name(&suite(program), "registry.k8s.io/conformance:v1.36.0");
    maker.name(&suite("#!/bin/sh\necho broken >&2; exit 3\n"), "registry.k8s.io/conformance:v1.36.1");
    let run = |args: &[&str]| {
        let mut command = command(&bed, args);
        command.env("PLUMBLINE_INSECURE_REGISTRIES", &registry.host).env("NO_PROXY", "127.0.0.1");
        command.env("PLUMBLINE_REGISTRY_MIRRORS", format!("registry.k8s.io={}", registry.host));
        Done::of(command)
    };
    run(&["images", "load", "world", "--to", &registry.host]).expect(0);
    let listed = run(&["e2e", "--input", "image", "--version", "v1.36.0"]).expect(0);
    assert_eq!(listed.out, "[sig-a] one: two\n[sig-b] three\n");
    assert!(listed.err.contains("running its program on this machine"), "{}", listed.err);
    let image = format!("image:{}/conformance:v1.36.0", registry.host);
    assert_eq!(run(&["e2e", "-i", &image, "-f", "sig-b"]).expect(0).out, "[sig-b] three\n");
    let broken = run(&["e2e", "--input", "image", "--version", "v1.36.1"]).expect(4);
    assert!(broken.err.contains("broken") && broken.err.contains("--input -"), "{}", broken.err);
    assert!(run(&["e2e", "--input", "image"]).expect(2).err.contains("--version"));
}
