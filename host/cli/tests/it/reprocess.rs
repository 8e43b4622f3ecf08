//! Trees that are computed again from the files of an archive.

use serde_json::Value;

use crate::bed::Bed;

fn archive(bed: &Bed) -> String {
    bed.write(
        "report.xml",
        r#"<testsuite name="s"><testcase name="a"/><testcase name="b"><failure>no</failure></testcase></testsuite>"#,
    );
    bed.plugin(
        "checks",
        "result-format: junit",
        &format!("cp {}/report.xml $SONOBUOY_RESULTS_DIR/\nprintf %s $SONOBUOY_RESULTS_DIR/report.xml > $SONOBUOY_RESULTS_DIR/done", bed.root().display()),
    );
    bed.plugin(
        "sweep",
        "driver: DaemonSet",
        "echo hi > $SONOBUOY_RESULTS_DIR/out\nprintf %s $SONOBUOY_RESULTS_DIR/out > $SONOBUOY_RESULTS_DIR/done",
    );
    bed.plugin("bad", "", "exit 1");
    bed.run(&["checks", "sweep", "bad"], &[]).expect(3);
    bed.archive()
}

#[test]
fn an_archive_of_ours_comes_out_the_same() {
    let bed = Bed::new();
    let archive = archive(&bed);
    for plugin in ["checks", "sweep", "bad"] {
        let stored = bed.plumbline(&["results", &archive, "-p", plugin, "-m", "dump"]);
        let anew = bed.plumbline(&["results", &archive, "-p", plugin, "-m", "dump", "--reprocess"]).expect(stored.code);
        assert_eq!(anew.out, stored.out);
        assert_eq!(stored.out, bed.member(&format!("plugins/{plugin}/sonobuoy_results.yaml")));
    }
}

#[test]
fn another_definition_reads_it_in_another_way() {
    let bed = Bed::new();
    let archive = archive(&bed);
    bed.write(
        "raw.yaml",
        "sonobuoy-config: {driver: Job, plugin-name: other, result-format: raw}\nspec: {name: plugin}\n",
    );
    let args = ["results", &archive, "-p", "checks", "-o", "json", "--reprocess", "--definition", "raw.yaml"];
    let trees: Value = serde_json::from_str(&bed.plumbline(&args).expect(5).out).unwrap();
    assert_eq!(trees[0]["name"], "checks");
    assert_eq!(trees[0]["items"].as_array().unwrap().len(), 1);
    assert_eq!(trees[0]["items"][0]["name"], "report.xml");
    assert_eq!(trees[0]["items"][0].get("items"), None);
}

/// A line of `--mode detailed` without the duration, which Sonobuoy's trees do not have.
fn without_duration(line: &str) -> String {
    let Some((before, rest)) = line.split_once(r#""duration":""#) else { return line.to_owned() };
    format!("{before}{}", rest.split_once("\",").unwrap().1)
}

#[test]
fn a_real_archive_of_sonobuoy_comes_out_the_same() {
    let bed = Bed::new();
    let archive = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/results/results-4-e2e-failures.tar.gz");
    let stored = bed.plumbline(&["results", archive, "-p", "e2e", "-m", "detailed"]).expect(1);
    let anew = bed.plumbline(&["results", archive, "-p", "e2e", "-m", "detailed", "--reprocess"]).expect(1);
    for (stored, anew) in stored.out.lines().zip(anew.out.lines()) {
        assert_eq!(without_duration(anew), *stored);
    }
    // The duration of each test that ran is there, although Sonobuoy drops it.
    assert_eq!(anew.out.matches(r#""duration":"#).count(), 25);
    assert_eq!(anew.out.lines().count(), stored.out.lines().count());
}
