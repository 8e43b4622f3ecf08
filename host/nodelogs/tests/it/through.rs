//! The machine's own `journalctl`, and the lack of it.

use std::time::Duration;

use plumbline_nodelogs::{CollectError, FAILED, NO_JOURNAL, NOTE, Options, Source, Via};

use crate::bed::{Bed, data, message};

fn bed() -> Bed {
    Bed::with(&[("system.journal", &data("plain.journal"))])
}

#[test]
fn it_is_asked_in_its_root_with_the_arguments_of_the_field() {
    let bed = bed();
    let script = r#"printf '{"MESSAGE":"%s"}\n' "$*"; printf '{"MESSAGE":"broken off"}'"#;
    let (lines, summary) = bed.logs(&bed.through(script));
    assert_eq!(message(&lines[0]), format!("{} journalctl -o json -a --no-pager", bed.root().display()));
    assert_eq!(message(&lines[1]), "broken off", "a last line without an end gets one");
    assert_eq!((summary.source, summary.lines), (Some(Source::Journalctl), 2));

    let (lines, _) = bed.logs(&Options { since: Duration::from_secs(60), ..bed.through(script) });
    assert!(message(&lines[0]).contains(" --since=@1"), "{}", lines[0]);
}

#[test]
fn without_it_the_files_are_read_and_a_note_says_why() {
    let bed = bed();
    for (script, why) in [
        ("echo 'no such program' >&2; exit 127", "no such program"),
        ("echo 'not permitted' >&2; exit 125", "not permitted"),
        ("echo 'what file?' >&2; exit 1", "what file?"),
    ] {
        let (lines, summary) = bed.logs(&bed.through(script));
        assert_eq!((summary.source, lines.len()), (Some(Source::Files), 209));
        let note = lines.last().unwrap();
        assert_eq!(note[NOTE], "1");
        assert!(message(note).contains(why), "{note}");
    }
    let (_, summary) = bed.logs(&Options { via: Via::Auto, ..bed.options() });
    assert_eq!(summary.source, Some(Source::Files), "nobody can go into that root");
}

#[test]
fn nobody_else_is_asked_if_it_is_to_be_asked() {
    let bed = bed();
    let options = Options { via: Via::Journalctl, ..bed.through("echo gone >&2; exit 127") };
    let (lines, summary) = bed.logs(&options);
    assert!(matches!(summary.failure, Some(CollectError::Journalctl { .. })), "{summary:?}");
    assert_eq!((lines.len(), &lines[0][FAILED]), (1, &"1".into()));
    assert!(message(&lines[0]).contains("gone"));
}

#[test]
fn what_came_before_it_broke_off_is_kept_and_the_rest_is_said_to_be_missing() {
    let bed = bed();
    let (lines, summary) = bed.logs(&bed.through(r#"echo '{"MESSAGE":"one"}'; echo 'bad file' >&2; exit 1"#));
    assert!(matches!(summary.failure, Some(CollectError::BrokenOff { .. })), "{summary:?}");
    assert_eq!(message(&lines[0]), "one");
    assert!(lines[1][FAILED] == "1" && message(&lines[1]).contains("bad file"), "{}", lines[1]);
}

#[test]
fn one_that_hangs_is_ended() {
    let bed = bed();
    let options = Options {
        time_limit: Duration::from_millis(300),
        ..bed.through(r#"echo '{"MESSAGE":"one"}'; exec sleep 600"#)
    };
    let (lines, _) = bed.logs(&options);
    assert_eq!(message(&lines[0]), "one");
    assert!(message(&lines[1]).contains("was ended after"), "{}", lines[1]);
    // Also one that gives nothing and keeps nobody waiting for its output.
    let closed = Options { helper: bed.through("exec sleep 600 >&- 2>&-").helper, ..options };
    let (lines, summary) = bed.logs(&closed);
    assert_eq!((summary.source, lines.len()), (Some(Source::Files), 209));
}

#[test]
fn what_it_remarks_is_a_note() {
    let bed = bed();
    let (lines, summary) = bed.logs(&bed.through("echo 'Hint: you see only your own messages' >&2"));
    assert_eq!((summary.notes.len(), lines.len()), (2, 2));
    assert!(message(&lines[0]).contains("only your own") && message(&lines[1]).contains("no entry"));
}

#[test]
fn a_machine_without_a_journal_says_so() {
    let bed = Bed::new();
    let (lines, summary) = bed.logs(&bed.options());
    assert!(matches!(summary.failure, Some(CollectError::NoJournal { .. })), "{summary:?}");
    assert_eq!((lines.len(), &lines[0][NO_JOURNAL]), (1, &"1".into()));
    assert!(message(&lines[0]).contains("run/log/journal"), "{}", lines[0]);

    let (lines, summary) = bed.logs(&Options { root: "/does/not/exist".into(), ..bed.options() });
    assert!(matches!(summary.failure, Some(CollectError::Root { .. })), "{summary:?}");
    assert!(message(&lines[0]).contains("No such file"), "{}", lines[0]);
}
