//! Tests of watching a project.

use std::fs;
use std::sync::mpsc;
use std::time::Duration;

use plumbline_aggregator::LimitPolicy;
use plumbline_author::project::Project;
use plumbline_author::watch::{Round, RoundReport, Watch, try_out};

use crate::bed::{Bed, REFUSE, handmade, modules};
use crate::support::host;

/// More than a round takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// Runs rounds on `bed` until `play` returns.
fn watched(bed: &Bed, play: impl FnOnce(&mpsc::Receiver<(Round, RoundReport)>)) {
    let (watch, stopper) = Watch::new(bed.dir.path(), Duration::from_millis(50)).unwrap();
    let (sender, rounds) = mpsc::channel();
    let dir = bed.dir.path().to_owned();
    let watcher = std::thread::spawn(move || {
        watch.run(|round| {
            let mut build = |dir: &std::path::Path| {
                let project = Project::open(dir).map_err(|error| error.to_string())?;
                let built = plumbline_author::build(&project, &host().0, &mut |_| {});
                built.map(|built| built.name).map_err(|error| error.to_string())
            };
            let report = try_out(&dir, &mut build, &modules(), &LimitPolicy::default());
            // Sending fails when the test has already finished.
            let _ = sender.send((round.clone(), report));
        })
    });
    play(&rounds);
    stopper.stop();
    watcher.join().unwrap().unwrap();
}

fn words(report: &RoundReport) -> String {
    match &report.cases {
        Some(Ok(cases)) => cases.summary(),
        other => format!("{:?}: {other:?}", report.built),
    }
}

#[test]
fn a_change_is_built_and_tested_and_output_of_the_build_is_not_a_change() {
    let bed = Bed::new("hand", "");
    bed.write("module.yaml", "name: hand\nlanguage: c\ncommand: [cp, source.bin, made.bin]\nartifact: made.bin\n");
    bed.write("source.bin", handmade(""));
    bed.write("tests/one/results/global/a.txt", "text");
    watched(&bed, |rounds| {
        let next = || rounds.recv_timeout(PATIENCE).expect("no round");
        let (round, report) = next();
        assert_eq!((round.number, words(&report).as_str()), (1, "1 missing"));
        // The build wrote `made.bin` into the project, which is one change. The next build writes
        // the same content.
        let (round, report) = next();
        assert_eq!((round.number, words(&report).as_str()), (2, "1 missing"), "{:?}", round.changed);

        fs::copy(bed.path("hand.wasm"), bed.path("unrelated.wasm")).unwrap();
        bed.write("source.bin", handmade(REFUSE));
        let (round, report) = next();
        assert_eq!(round.number, 3);
        assert!(round.changed.contains(&"source.bin".into()), "{:?}", round.changed);
        assert_eq!(words(&report), "1 missing");

        bed.write("tests/one/expected.yaml", "name: p\n");
        let mut last = next();
        while words(&last.1) != "1 failed" {
            last = next();
        }
        // New directories are watched too.
        bed.write("tests/two/results/global/deep/a.txt", "text");
        while words(&last.1) != "1 failed, 1 missing" {
            last = next();
        }
        bed.write("source.bin", "no module");
        while last.1.built.is_ok() {
            last = next();
        }
        assert!(last.1.cases.is_none(), "what was not built is not tried");
    });
}
