//! Tests of interoperability: command line, aggregator and worker of Sonobuoy with those of
//! Plumbline.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::bed::{Bed, Done};
use crate::faults::error;
use crate::plugin::Plugin;
use crate::settings::loudly;

/// Timeout in seconds of a plugin that hangs.
const TIMEOUT: &str = "60";
/// The expected status of each plugin.
const VERDICTS: [(&str, &str); 5] =
    [("each", "passed"), ("fails", "failed"), ("hangs", "failed"), ("lost", "failed"), ("once", "passed")];

/// Sonobuoy's program, and its image, which the nodes have.
struct Sonobuoy {
    program: PathBuf,
    image: String,
}

impl Sonobuoy {
    fn from_env(bed: &Bed, test: &str) -> Option<Self> {
        let Some(program) = std::env::var_os("PLUMBLINE_E2E_SONOBUOY").map(PathBuf::from) else {
            loudly(&format!("SKIPPED {test}: PLUMBLINE_E2E_SONOBUOY names no program of Sonobuoy"));
            return None;
        };
        let version = bed.program(&program, &["version", "--short"]).expect(0).out;
        Some(Self { program, image: format!("sonobuoy/sonobuoy:{}", version.trim()) })
    }

    /// Runs `sonobuoy COMMAND -n NAMESPACE ARGS…`.
    fn command(&self, bed: &Bed, command: &str, args: &[&str]) -> Done {
        bed.program(&self.program, &[&[command, "-n", bed.namespace()], args].concat())
    }

    /// Downloads the archive of the run.
    fn retrieve(&self, bed: &Bed) -> String {
        let archive = self.command(bed, "retrieve", &[]).expect(0).out.trim().to_owned();
        assert!(bed.path(&archive).is_file(), "{archive}");
        archive
    }
}

/// Returns an environment with Sonobuoy, and the arguments for the definitions of all plugins.
fn bed(test: &str) -> Option<(Bed, Sonobuoy, Vec<String>)> {
    let bed = Bed::new(test)?;
    let sonobuoy = Sonobuoy::from_env(&bed, test)?;
    let plugins = [
        // The worker may start some seconds later than the plugin, and the last update must reach it.
        Plugin::job("once").args(&["--after=15s", "--progress=3"]),
        // A directory.
        Plugin::daemon_set("each").args(&["--bytes=64KiB"]),
        Plugin::job("fails").args(&["--outcome=fail", "--archive"]),
        Plugin::job("hangs").args(&["--outcome=hang"]),
        // If the file does not exist, Sonobuoy's worker fails and sends nothing. Ours sends an error
        // to an aggregator that supports it.
        Plugin::job("lost").args(&["--outcome=missing"]),
    ];
    let files = bed.definitions(&plugins);
    Some((bed, sonobuoy, files))
}

/// Checks that both programs read the expected status of each plugin from the archive.
fn assert_verdicts(bed: &Bed, sonobuoy: &Sonobuoy, archive: &str) {
    // As the run: the result of `hangs` is missing.
    let trees = bed.plumbline(&["results", archive, "-o", "json"]).expect(3).json();
    let text = |tree: &Value, key: &str| tree[key].as_str().unwrap_or_default().to_owned();
    let verdicts: BTreeMap<_, _> =
        trees.as_array().unwrap().iter().map(|tree| (text(tree, "name"), text(tree, "status"))).collect();
    let expected = VERDICTS.map(|(plugin, verdict)| (plugin.to_owned(), verdict.to_owned()));
    assert_eq!(verdicts, BTreeMap::from(expected), "{trees:#}");
    let report = bed.program(&sonobuoy.program, &["results", archive]).expect(0).out;
    for (plugin, verdict) in VERDICTS {
        assert!(report.contains(&format!("Plugin: {plugin}\nStatus: {verdict}\n")), "{plugin}: {report}");
    }
}

/// Checks that the progress of a plugin reached the aggregator.
fn assert_progress(bed: &Bed, sonobuoy: &Sonobuoy) {
    let status = sonobuoy.command(bed, "status", &["--json"]).expect(0).json();
    let once = status["plugins"].as_array().unwrap().iter().find(|entry| entry["plugin"] == "once").unwrap();
    assert_eq!(once["progress"]["completed"], 3, "{status}");
}

fn strs(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}

#[test]
fn sonobuoys_command_line_with_our_aggregator() {
    let Some((bed, sonobuoy, files)) = bed("interop-cli") else { return };
    let image = ["--sonobuoy-image", bed.image(), "--timeout", TIMEOUT, "--wait"];
    sonobuoy.command(&bed, "run", &[&strs(&files)[..], &image].concat()).expect(0);
    let status = sonobuoy.command(&bed, "status", &[]).expect(0);
    assert!(status.out.contains("Sonobuoy has completed"), "{status:?}");
    let status = sonobuoy.command(&bed, "status", &["--json"]).expect(0).json();
    let entries = status["plugins"].as_array().unwrap();
    assert_eq!(entries.len(), 4 + bed.nodes().len(), "{status}");
    for entry in entries {
        let expected = match entry["plugin"].as_str() {
            Some("hangs") => "timed_out",
            Some("lost") => "failed",
            _ => "complete",
        };
        assert_eq!(entry["status"], expected, "{status}");
    }
    assert_progress(&bed, &sonobuoy);
    let archive = sonobuoy.retrieve(&bed);
    assert_verdicts(&bed, &sonobuoy, &archive);
    let lost = error(&bed, &archive, "lost");
    assert!(lost["name"].as_str().unwrap().contains("which does not exist"), "{lost}");
    let failed = bed.program(&sonobuoy.program, &["results", &archive, "-p", "fails"]).expect(0).out;
    assert!(failed.contains("Failed tests:"), "{failed}");
    sonobuoy.command(&bed, "delete", &["--wait"]).expect(0);
    assert!(!bed.exists());
}

#[test]
fn our_command_line_with_sonobuoys_aggregator() {
    let Some((bed, sonobuoy, files)) = bed("interop-aggregator") else { return };
    sonobuoy.command(&bed, "run", &[&strs(&files)[..], &["--timeout", TIMEOUT]].concat()).expect(0);
    bed.command("wait", &["--timeout", "5m"]).expect(3);
    let status = bed.command("status", &["-o", "json"]).json();
    assert_eq!(status["status"], "complete", "{status}");
    assert_progress(&bed, &sonobuoy);
    let archive = bed.command("retrieve", &[]).expect(0).out.lines().next().unwrap().to_owned();
    assert_verdicts(&bed, &sonobuoy, &archive);
    bed.command("delete", &["--wait", "--yes"]).expect(0);
    assert!(!bed.exists());
}

#[test]
fn sonobuoys_workers_with_our_aggregator() {
    let Some((bed, sonobuoy, files)) = bed("interop-their-worker") else { return };
    fs::write(bed.path("config.json"), json!({"WorkerImage": sonobuoy.image}).to_string()).unwrap();
    let limit = format!("{TIMEOUT}s");
    let more = ["--config", "config.json", "--timeout", limit.as_str(), "--wait"];
    bed.run(&[], &[&strs(&files)[..], &more].concat()).expect(3);
    assert_progress(&bed, &sonobuoy);
    let archive = sonobuoy.retrieve(&bed);
    assert_verdicts(&bed, &sonobuoy, &archive);
}

#[test]
fn our_workers_with_sonobuoys_aggregator() {
    let Some((bed, sonobuoy, files)) = bed("interop-our-worker") else { return };
    let manifest = sonobuoy.command(&bed, "gen", &[&strs(&files)[..], &["--timeout", TIMEOUT]].concat()).expect(0).out;
    let theirs = format!(r#""WorkerImage":"{}""#, sonobuoy.image);
    assert!(manifest.contains(&theirs), "{manifest}");
    let ours = format!(r#""WorkerImage":"{}""#, bed.image());
    fs::write(bed.path("run.yaml"), manifest.replace(&theirs, &ours)).unwrap();
    bed.plumbline(&["run", "-f", "run.yaml", "--wait"]).expect(3);
    assert_progress(&bed, &sonobuoy);
    let archive = sonobuoy.retrieve(&bed);
    assert_verdicts(&bed, &sonobuoy, &archive);
}

/// A typical script of a user. `$1` is the namespace and `$2` the image.
const SCRIPT: &str = r#"
PATH=$PWD/bin:$PATH
finish() {
    until sonobuoy status -n "$1" | grep 'has completed'; do sleep 1; done
    sonobuoy status -n "$1" --json | grep '"status":"complete"'
    sonobuoy results "$(sonobuoy retrieve -n "$1")" | grep -A1 'Plugin: once' | grep 'Status: passed'
    sonobuoy delete -n "$1" --wait
    if kubectl get namespace "$1"; then exit 1; fi
}
sonobuoy run -n "$1" --sonobuoy-image "$2" -p once.yaml --wait
finish "$1"
sonobuoy gen -n "$1" --sonobuoy-image "$2" -p once.yaml | kubectl apply -f -
# Until the aggregator has reported, Sonobuoy's status is an error.
until sonobuoy status -n "$1"; do sleep 1; done
finish "$1"
"#;

/// Runs the script with `program` under the name `sonobuoy`.
fn script(bed: &Bed, program: &Path, image: &str) {
    bed.definitions(&[Plugin::job("once")]);
    fs::create_dir(bed.path("bin")).unwrap();
    std::os::unix::fs::symlink(program, bed.path("bin/sonobuoy")).unwrap();
    bed.program(Path::new("sh"), &["-euxc", SCRIPT, "script", bed.namespace(), image]).expect(0);
}

#[test]
fn a_script_for_sonobuoy_works_with_our_program() {
    let Some(bed) = Bed::new("interop-script") else { return };
    let program = bed.settings().binary.clone();
    script(&bed, &program, bed.image());
}

#[test]
fn the_same_script_works_with_sonobuoy() {
    let Some(bed) = Bed::new("interop-scripted") else { return };
    let Some(sonobuoy) = Sonobuoy::from_env(&bed, "interop-scripted") else { return };
    script(&bed, &sonobuoy.program, &sonobuoy.image);
}
