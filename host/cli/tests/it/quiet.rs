//! `--quiet`: standard output and errors only.

use crate::bed::Bed;

#[test]
fn only_the_result_and_errors_are_printed() {
    let bed = Bed::new();
    let report = "<testsuite name='s'><testcase name='a'/></testsuite>";
    bed.plugin("good", "result-format: junit", &format!("echo \"{report}\" > $SONOBUOY_RESULTS_DIR/report.xml"));
    let loud = bed.run(&["good"], &[]).expect(0);
    assert!(loud.err.contains("run "), "{}", loud.err);
    let quiet = bed.run(&["good"], &["--quiet"]).expect(0);
    assert_eq!(quiet.err, "");
    assert!(quiet.out.contains("passed: 1 check"), "{}", quiet.out);
    let wrong = bed.plumbline(&["-q", "run", "--local", "-p", "nobody"]).expect(2);
    assert!(wrong.err.starts_with("error: "), "{}", wrong.err);
}

#[test]
fn warnings_are_not_dropped() {
    let bed = Bed::new();
    bed.write("sample/plugin.yaml", "sonobuoy-config: {driver: Process, plugin-name: sample, nonsense: 1}\nspec: {name: plugin, command: ['true']}\n");
    let warned = |args: &[&str]| bed.plumbline(&[&["plugin", "show", "sample"], args].concat()).expect(0).err;
    let loud = warned(&[]);
    assert!(loud.contains("warning: "), "{loud}");
    assert_eq!(warned(&["--quiet"]), loud);
}
