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
fn a_cluster_is_only_asked_for_its_version() {
    let bed = Bed::new();
    for option in ["--kubeconfig", "--context"] {
        for version in [&[][..], &["--version", "v1.29.15"], &["--version", "latest"]] {
            let done = list(&bed, &[&[option, "x"], version].concat()).expect(2);
            let reason = format!("`{option}` needs `--version auto`");
            assert!(done.err.contains(&reason) && done.err.contains("add `--version auto`"), "{}", done.err);
        }
    }
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

/// Runs the command with this text on standard input.
fn piped(bed: &Bed, args: &[&str], input: &[u8]) -> Done {
    let path = bed.path("in");
    fs::write(&path, input).unwrap();
    let output = bed.command(args).stdin(File::open(path).unwrap()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Done { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

#[test]
fn the_output_of_the_program_of_a_suite_comes_from_standard_input() {
    let bed = Bed::new();
    let printed = b"The following spec names can be used:\n    test/e2e/a.go:41: [sig-a] one\n    [sig-b] two\n";
    assert_eq!(piped(&bed, &["e2e", "--input", "-"], printed).expect(0).out, "[sig-a] one\n[sig-b] two\n");
    assert_eq!(piped(&bed, &["e2e", "--input", "-"], &gzip("b\na\n")).expect(0).out, "a\nb\n");
    toys(&bed);
    let of_toys = ["conformance", "tests", "./toys", "--input", "-"];
    assert_eq!(piped(&bed, &of_toys, b"# all toys\nkite\nball\n").expect(0).out, "ball\nkite\n");
    assert_eq!(piped(&bed, &of_toys, &gzip("top\n")).expect(0).out, "top\n");
    let delta = piped(&bed, &of_toys, b"#v1.2.0\n-kite\n").expect(2).err;
    assert!(delta.contains("line 2 is a difference from the list of another version"), "{delta}");
}

#[test]
fn a_text_list_of_a_bundle_has_names_and_no_differences() {
    let bed = Bed::new();
    bed.write("toys/plugin.yaml", TOYS_PLUGIN);
    bed.write("toys/profile.yaml", &TOYS.replace("tests-{version}.gz", "tests-{version}.txt"));
    bed.write("toys/tests-v1.2.0.txt", "#v1.1.0\nball\n-kite\n");
    let rejected = bed.plumbline(&["conformance", "tests", "./toys"]).expect(2).err;
    assert!(rejected.contains("invalid list of tests `tests-v1.2.0.txt` in profile `toys`"), "{rejected}");
    assert!(rejected.contains("line 3 is a difference"), "{rejected}");
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

/// The definition and the profile of a suite with a program in its image.
const TOYS_PLUGIN: &str = "\
sonobuoy-config: {driver: Job, plugin-name: toys, result-format: junit}
spec: {image: 'r.example/toys:1'}
";
const TOYS: &str = "\
name: toys
title: Toys
version: {option: release}
options:
- {name: image, help: Image of the suite, type: string, image: true}
- {name: release, help: Version of toys, type: enum, values: [v1.1.0, v1.2.0, v1.3.0], default: v1.2.0, env: RELEASE}
tests: 'tests-{version}.gz'
listing: {program: /bin/toys, tests: [--list, all], images: [--images]}
";

/// Writes the bundle to `toys/`.
fn toys(bed: &Bed) {
    bed.write("toys/plugin.yaml", TOYS_PLUGIN);
    bed.write("toys/profile.yaml", TOYS);
    fs::write(bed.path("toys/tests-v1.2.0.gz"), gzip("ball\nkite\n")).unwrap();
    fs::write(bed.path("toys/tests-v1.1.0.gz"), gzip("#v1.2.0\n-kite\n+top\n")).unwrap();
}

#[test]
fn lists_of_a_bundle_can_be_compressed_and_differences() {
    let bed = Bed::new();
    toys(&bed);
    let tests = |more: &[&str]| bed.plumbline(&[&["conformance", "tests", "./toys"], more].concat());
    assert_eq!(tests(&[]).expect(0).out, "ball\nkite\n");
    assert_eq!(tests(&["--set", "release=v1.1.0"]).expect(0).out, "ball\ntop\n");
    let newer = ["--set", "release=v1.3.0"];
    let missing = tests(&newer).expect(2).err;
    assert!(missing.contains("profile `toys` has no list of tests `tests-v1.3.0.gz`"), "{missing}");
    fs::write(bed.path("toys/tests-v1.3.0.gz"), "\u{1}").unwrap();
    let damaged = tests(&newer).expect(2).err;
    assert!(damaged.contains("invalid list of tests `tests-v1.3.0.gz` in profile `toys`"), "{damaged}");
}

#[test]
fn the_program_of_any_suite_names_its_tests_and_images() {
    let bed = Bed::new();
    toys(&bed);
    let Some(registry) = Registry::start(&bed, "storage") else { return };
    let maker = Maker::new(&bed.path("world"));
    let program = "#!/bin/sh\ncase \"$*\" in\n'--list all') printf 'top\\n# a comment\\nkite\\n' ;;\n\
                   --images) echo r.example/string:2 ;;\n*) exit 2 ;;\nesac\n";
    maker.name(&maker.index(Words::Oci, &[("bin/toys", program)]), "r.example/toys:1");
    let run = |args: &[&str]| {
        let mut command = command(&bed, args);
        command.env("PLUMBLINE_INSECURE_REGISTRIES", &registry.host).env("NO_PROXY", "127.0.0.1");
        command.env("PLUMBLINE_REGISTRY_MIRRORS", format!("r.example={}", registry.host));
        Done::of(command)
    };
    run(&["images", "load", "world", "--to", &registry.host]).expect(0);
    // Its author chooses the program and its arguments, so the user has to allow it.
    let images = ["images", "list", "-p", "./toys", "--image", "r.example/plumbline:1"];
    for args in [&["conformance", "tests", "./toys", "--input", "image"][..], &images] {
        let rejected = run(args).expect(2).err;
        assert!(rejected.contains("the plugin that names its image is not built in"), "{rejected}");
        assert!(rejected.contains("add `--run-program`") && !bed.path("home/cache/plumbline/programs").exists());
    }
    let tests = |input: &str| run(&["conformance", "tests", "./toys", "--run-program", "--input", input]).expect(0);
    let listed = tests("image");
    assert_eq!(listed.out, "kite\ntop\n");
    assert!(listed.err.contains("running its program on this machine"), "{}", listed.err);
    assert_eq!(tests(&format!("image:{}/toys:1", registry.host)).out, "kite\ntop\n");
    let allowed = [&images[..], &["--run-program"]].concat();
    assert!(run(&allowed).expect(0).out.contains("r.example/string:2"));
    bed.write("list", "r.example/ball:3\n");
    let given = run(&[&images[..], &["--list", "list"]].concat()).expect(0).out;
    assert!(given.contains("r.example/ball:3") && !given.contains("r.example/string:2"), "{given}");
}

#[test]
fn the_program_in_another_image_of_the_suite_needs_permission() {
    let bed = Bed::new();
    bed.write(
        "e2e.yaml",
        "sonobuoy-config: {driver: Job, plugin-name: e2e}\nspec: {name: e2e, image: 'r.example/conformance:1', command: [/run_e2e.sh]}\n",
    );
    let args = ["images", "list", "-p", "e2e.yaml", "--image", "r.example/plumbline:1"];
    let rejected = bed.plumbline(&args).expect(2).err;
    assert!(rejected.contains("the plugin that names its image is not built in"), "{rejected}");
    assert!(rejected.contains("add `--run-program`") && rejected.contains("`--list FILE`"), "{rejected}");
}

#[test]
fn the_images_of_a_suite_are_never_left_out_silently() {
    let bed = Bed::new();
    toys(&bed);
    // The image is that of the suite of Kubernetes, and this profile does not say how to list images.
    let (before, _) = TOYS.split_once("listing:").unwrap();
    bed.write("toys/profile.yaml", before);
    let list = |more: &[&str]| {
        let args = ["images", "list", "-p", "./toys", "--image", "r.example/plumbline:1"];
        bed.plumbline(&[&args[..], more].concat())
    };
    list(&[]).expect(0);
    let image = ["--set", "image=r.example/conformance:1"];
    let unknown = list(&image).expect(2).err;
    assert!(unknown.contains("the images of the tests of plugin `toys` are unknown"), "{unknown}");
    bed.write("list", "r.example/ball:3\n");
    let given = list(&[&image[..], &["--list", "list"]].concat()).expect(0).out;
    assert!(given.contains("r.example/ball:3"), "{given}");
}
