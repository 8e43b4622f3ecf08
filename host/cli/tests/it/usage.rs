//! Error messages for requests that cannot be fulfilled, and dry runs.

use std::fmt::Write;

use crate::bed::{Bed, entries};

#[test]
fn runs_that_cannot_begin() {
    let bed = Bed::new();
    bed.plugin("good", "", "exit 0");
    bed.write("bad.yaml", "sonobuoy-config:\n  driver: Jobb\n  plugin-name: bad\nspec: {name: plugin}\n");
    bed.write("broken.yaml", "sonobuoy-config: [\n");
    bed.write("nameless.yaml", "sonobuoy-config: {driver: Job}\nspec: {name: plugin}\n");
    bed.write("upper.yaml", "sonobuoy-config: {driver: Job, plugin-name: Upper_Case}\nspec: {name: plugin}\n");
    bed.write("typo.yaml", "sonobuoy-config: {driver: Process, plugin-name: typo, result-fromat: junit}\nspec: {name: plugin, command: ['true']}\n");
    bed.write("greedy.yaml", "sonobuoy-config: {driver: Process, plugin-name: greedy}\nplumbline: {limits: {memory: 100Gi}}\nspec: {name: plugin}\n");
    bed.write("empty/README", "");
    bed.write("not-a-run/README", "");
    let cases: &[&[&str]] = &[
        &["run", "-p", "good.yaml"],
        &["run", "--local"],
        &["run", "--local", "-p", "nobody"],
        &["run", "--local", "-p", "bad.yaml"],
        &["run", "--local", "-p", "broken.yaml"],
        &["run", "--local", "-p", "nameless.yaml"],
        &["run", "--local", "-p", "upper.yaml"],
        &["run", "--local", "-p", "greedy.yaml"],
        &["run", "--local", "-p", "typo.yaml", "--dry-run"],
        &["run", "--local", "-p", "good.yaml", "-p", "good.yaml"],
        &["run", "--local", "-p", "empty"],
        &["run", "--local", "-p", "good.yaml", "--timeout", "soon"],
        &["run", "--local", "--continue", "not-a-run"],
        &["run", "--local", "--continue", "not-a-run", "-p", "good.yaml"],
        &["run", "--local", "--continue", "not-a-run", "--dry-run"],
        &["rum"],
    ];
    insta::assert_snapshot!(transcript(&bed, cases));
    let left: Vec<_> =
        entries(bed.root()).into_iter().filter(|path| path.to_string_lossy().contains(".plumbline-run")).collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(bed.archives().is_empty());
}

#[test]
fn archives_that_cannot_be_read() {
    let bed = Bed::new();
    let archive = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/results/results-4-e2e-failures.tar.gz");
    let whole = std::fs::read(archive).unwrap();
    std::fs::write(bed.path("whole.tar.gz"), &whole).unwrap();
    std::fs::write(bed.path("truncated.tar.gz"), &whole[..whole.len() / 2]).unwrap();
    bed.write("text.tar.gz", "no archive at all");
    bed.write("empty.tar.gz", "");
    bed.write("empty/README", "");
    let cases: &[&[&str]] = &[
        &["results", "nobody.tar.gz"],
        &["results", "text.tar.gz"],
        &["results", "empty.tar.gz"],
        &["results", "truncated.tar.gz"],
        &["results", "empty"],
        &["results", "whole.tar.gz", "-p", "nobody"],
        &["results", "whole.tar.gz", "-p", "e2e", "-n", "nobody"],
        &["results", "whole.tar.gz", "-p", "sonobuoy"],
        &["results", "whole.tar.gz", "-m", "bogus"],
        &["results", "whole.tar.gz", "-m", "dump", "-o", "json"],
        &["results", "whole.tar.gz", "--definition", "x.yaml"],
        &["results", "whole.tar.gz", "-p", "e2e", "--reprocess", "--definition", "x.yaml"],
    ];
    insta::assert_snapshot!(transcript(&bed, cases));
}

#[test]
fn directories_that_cannot_be_processed() {
    let bed = Bed::new();
    bed.write("dir/results/global/out", "x");
    bed.write("empty/README", "");
    bed.write("bad.wasm", "no module");
    let cases: &[&[&str]] = &[
        &["plugin", "postprocess", "dir"],
        &["plugin", "postprocess", "empty", "--name", "p"],
        &["plugin", "postprocess", "dir", "--name", "Not a name"],
        &["plugin", "postprocess", "dir", "--name", "p", "--driver", "Cron"],
        &["plugin", "postprocess", "dir", "--definition", "nobody.yaml"],
        &["plugin", "postprocess", "dir", "--name", "p", "--module", "bad.wasm"],
    ];
    insta::assert_snapshot!(transcript(&bed, cases));
}

#[test]
fn an_output_directory_that_cannot_be_used_is_the_systems_fault() {
    let bed = Bed::new();
    bed.plugin("good", "", "exit 0");
    bed.write("file", "");
    let done = bed.plumbline(&["run", "--local", "-p", "good.yaml", "--dir", "file/below"]).expect(4);
    insta::assert_snapshot!(done.shown(&bed));
}

#[test]
fn a_dry_run_says_what_it_would_do_and_leaves_nothing() {
    let bed = Bed::new();
    bed.plugin("good", "driver: Job\nresult-format: junit", "exit 1");
    let before = entries(bed.root()).len();
    let done = bed.plumbline(&["run", "--local", "-p", "good.yaml", "-p", "host-facts", "--dry-run"]).expect(0);
    insta::assert_snapshot!(done.shown(&bed));
    let mut after = entries(bed.root());
    after.retain(|path| !path.ends_with("home"));
    assert_eq!(after.len(), before, "{after:?}");
    bed.plumbline(&["status", "--local"]).expect(2);
}

fn transcript(bed: &Bed, cases: &[&[&str]]) -> String {
    let mut text = String::new();
    for args in cases {
        let done = bed.plumbline(args);
        writeln!(text, "$ plumbline {}\n{}", args.join(" "), done.shown(bed)).unwrap();
    }
    text
}
