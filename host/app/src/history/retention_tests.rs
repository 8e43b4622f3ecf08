use super::*;
use crate::history::index::{FileKey, Index, RunFacts};

/// Runs of 10 bytes: names, and days before now.
fn runs(runs: &[(&str, u64)]) -> Index {
    let mut index = Index::default();
    for (name, days) in runs {
        let file = FileKey { name: (*name).to_owned(), size: 10, modified: 0 };
        let started = now().as_second() - i64::try_from(days * DAY).unwrap();
        let facts = RunFacts { run: "id".into(), tool: "Plumbline 0.1.0".into(), started, ..RunFacts::default() };
        index.add(file, facts, Vec::new()).unwrap();
    }
    index
}

fn now() -> Timestamp {
    "2026-11-20T12:00:00Z".parse().unwrap()
}

fn excess(keep: KeepLimits, index: &Index, dir: &Path, written: &str) -> Vec<String> {
    let runs: Vec<&IndexedRun> = index.runs.iter().collect();
    super::excess(keep, &runs, dir, Path::new(written), now()).into_iter().map(|run| run.file.name.clone()).collect()
}

#[test]
fn the_newest_archives_stay_by_number_age_and_size() {
    let dir = tempfile::tempdir().unwrap();
    let index = runs(&[("b", 20), ("a", 30), ("d", 0), ("c", 10)]);
    let of = |keep: KeepLimits| excess(keep, &index, dir.path(), "d");
    assert_eq!(of(KeepLimits { runs: Some(2), ..KeepLimits::default() }), ["a", "b"]);
    assert_eq!(of(KeepLimits { days: Some(25), ..KeepLimits::default() }), ["a"]);
    assert_eq!(of(KeepLimits { bytes: Some(30), ..KeepLimits::default() }), ["a"]);
    assert_eq!(of(KeepLimits { days: Some(15), runs: Some(3), ..KeepLimits::default() }), ["a", "b"]);
    assert_eq!(of(KeepLimits { runs: Some(9), ..KeepLimits::default() }), [""; 0]);
    assert_eq!(of(KeepLimits { days: Some(u64::MAX), ..KeepLimits::default() }), [""; 0]);
}

#[test]
fn pinned_archives_and_the_one_just_written_stay() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a.keep"), "").unwrap();
    let index = runs(&[("a", 30), ("b", 20), ("c", 10), ("old clock", 9000)]);
    let none = KeepLimits { runs: Some(0), days: Some(0), bytes: Some(0) };
    assert_eq!(excess(none, &index, dir.path(), "old clock"), ["b", "c"]);
    // A pinned archive takes no place, and the one just written takes the first.
    let two = KeepLimits { runs: Some(2), ..KeepLimits::default() };
    assert_eq!(excess(two, &index, dir.path(), "dir/old clock"), ["b"]);
}

#[test]
fn archives_that_do_not_say_whose_they_are_stay() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = runs(&[("a", 30)]);
    let file = FileKey { name: "backup.tar.gz".into(), size: 10, modified: 0 };
    index.add(file, RunFacts::default(), Vec::new()).unwrap();
    let none = KeepLimits { runs: Some(0), ..KeepLimits::default() };
    assert_eq!(excess(none, &index, dir.path(), "new"), ["a"]);
}

#[test]
fn archives_that_changed_after_indexing_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let index = runs(&[("a.tar.gz", 30)]);
    fs::write(dir.path().join("a.tar.gz"), "0123456789").unwrap();
    let removal = Removal::of(&index.runs[0], dir.path());
    assert!(removal.result.is_err() && removal.path.exists());
}

#[test]
fn archives_that_cannot_be_read_and_links_take_no_place() {
    let dir = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("c", dir.path().join("newest")).unwrap();
    let mut index = runs(&[("a", 30), ("b", 20), ("newest", 10), ("c", 10)]);
    let file = FileKey { name: "damaged".into(), size: 10, modified: 0 };
    let facts = RunFacts { started: now().as_second(), ..index.runs[0].facts.clone() };
    index.add(file.unsettled(), facts, Vec::new()).unwrap();
    let of = |keep: KeepLimits, written: &str| excess(keep, &index, dir.path(), written);
    let (size, number) = (
        KeepLimits { bytes: Some(30), ..KeepLimits::default() },
        KeepLimits { runs: Some(3), ..KeepLimits::default() },
    );
    for written in ["c", "damaged"] {
        assert_eq!((of(size, written), of(number, written)), (Vec::new(), Vec::new()), "{written}");
    }
    let none = KeepLimits { runs: Some(0), ..KeepLimits::default() };
    assert_eq!(of(none, "c"), ["a", "b"], "they stay");
}
