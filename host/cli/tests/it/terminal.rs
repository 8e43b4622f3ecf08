//! Text from outside cannot control the terminal, and a command that is printed for copying is one
//! shell command.

use std::process::Command;

use plumbline_core::text::steers_terminal;

use crate::bed::Bed;

#[test]
fn names_and_errors_from_outside_reach_no_terminal_raw() {
    let bed = Bed::new();
    let evil = "x\\u001b[2J\\u202ey\\u009bz\\u007f\\u200f";
    let tree = format!(
        "name: p\nstatus: failed\nitems:\n- name: \"{evil}\\nerror: forged\"\n  status: failed\n  meta:\n    file: results/global/out\n- name: \"{evil}\"\n  status: \"{evil}\"\n  details:\n    failure: \"{evil}\"\n"
    );
    bed.write("run/meta/info.json", "{\"plugins\": [\"p\"]}");
    bed.write("run/plugins/p/sonobuoy_results.yaml", &tree);
    bed.write("run/plugins/p/results/global/out", "content\n");
    let modes: &[&[&str]] = &[
        &["-m", "report"],
        &["-m", "detailed"],
        &["-o", "json"],
        &["-o", "yaml"],
        &["-o", "markdown"],
        &["-o", "html"],
        &["-n", "x\u{1b}[2J\u{202e}y\u{9b}z\u{7f}\u{200f}", "-m", "dump"],
        &["-n", "nobody\u{1b}[2J\u{202e}\nerror: forged"],
        &["-p", "nobody\u{1b}[2J\u{202e}\nerror: forged"],
    ];
    for mode in modes {
        let done = bed.plumbline(&[&["results", "run"], *mode].concat());
        for text in [&done.out, &done.err] {
            let raw: Vec<char> = text.chars().filter(|&c| steers_terminal(c) && c != '\n' && c != '\t').collect();
            assert!(raw.is_empty(), "{mode:?}: {raw:?} in {text:?}");
            assert!(!text.contains("\nerror: forged"), "{mode:?}: {text}");
        }
    }
}

#[test]
fn a_bundle_from_outside_cannot_control_the_terminal() {
    let bed = Bed::new();
    let yaml = "sonobuoy-config:\n  driver: Process\n  plugin-name: p\n  description: \"a\\e[2Jb\\u202ec\\u009bd\"\nspec: {name: plugin, command: ['true']}\n";
    bed.write("p/plugin.yaml", yaml);
    bed.write("p/x\u{1b}[2J\u{202e}.txt", "text");
    for command in
        [&["plugin", "inspect", "p"][..], &["plugin", "inspect", "p", "-o", "json"], &["plugin", "pack", "p"]]
    {
        let done = bed.plumbline(command);
        let raw: Vec<char> = done.out.chars().filter(|&c| steers_terminal(c) && c != '\n').collect();
        assert!(raw.is_empty(), "{command:?}: {raw:?} in {:?}", done.out);
    }
    let shown = bed.plumbline(&["plugin", "inspect", "p"]).expect(0).out;
    assert!(shown.contains("a\u{fffd}[2Jb\u{fffd}c\u{fffd}d"), "{shown}");
}

#[test]
fn a_warning_stays_on_its_line() {
    let bed = Bed::new();
    let yaml = "sonobuoy-config:\n  driver: Process\n  plugin-name: p\n  \"odd\\u202e\\nerror: forged\\e[2J\": 1\nspec: {name: plugin, command: ['true']}\n";
    bed.write("p.yaml", yaml);
    let done = bed.plumbline(&["run", "--local", "--dry-run", "-p", "p.yaml"]);
    assert!(done.err.contains("forged") && !done.err.contains("\nerror: forged"), "{}", done.err);
    assert!(!done.err.chars().any(|c| steers_terminal(c) && c != '\n'), "{:?}", done.err);
}

#[test]
fn a_command_for_copying_is_quoted_for_a_shell() {
    let bed = Bed::new();
    bed.plugin("good", "result-format: junit", "echo '<testsuite><testcase name=\"t\"/></testsuite>' > \"$SONOBUOY_RESULTS_DIR/r.xml\"\necho \"$SONOBUOY_RESULTS_DIR/r.xml\" > \"$SONOBUOY_RESULTS_DIR/done\"");
    let done = bed.plumbline(&["run", "--local", "-p", "good.yaml", "--dir", "it's a dir"]);
    let next = done
        .out
        .lines()
        .find_map(|line| line.strip_prefix("next:    plumbline "))
        .unwrap_or_else(|| panic!("{}{}", done.out, done.err));
    // A shell runs the printed line unchanged.
    let script = format!("exec \"$0\" {next}");
    let shown = Command::new("sh")
        .args(["-c", &script, env!("CARGO_BIN_EXE_plumbline")])
        .current_dir(bed.root())
        .output()
        .unwrap();
    assert!(
        String::from_utf8_lossy(&shown.stdout).contains("Plugin: good"),
        "{next}: {}",
        String::from_utf8_lossy(&shown.stderr)
    );
}
