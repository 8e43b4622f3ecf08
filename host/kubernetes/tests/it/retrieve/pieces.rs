//! Retrieval over connections that drop.

use std::fs;

use plumbline_dev::ExecReply;
use plumbline_kubernetes::retrieve::{NotReady, Progress, RetrieveError, Stage, Wait, retrieve};
use proptest::prelude::*;

use super::bed::{ARCHIVE, Bed, bytes, carry_out, complete, queue, running};

/// More than all interrupted connections transfer together.
const SIZE: usize = (17 << 20) + 12_345;

/// Drops connections after these numbers of bytes, if their command has this option. Further ones do not drop.
fn drop_connections(bed: &Bed, option: &'static str, after: &[usize]) {
    let cuts = queue(after);
    bed.on_exec(move |dir, words| {
        let cut_after = if words.contains(&option) { cuts.lock().unwrap().pop() } else { None };
        ExecReply { cut_after, ..carry_out(dir, words) }
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_drop_anywhere_bring_the_same_bytes() {
    let data = bytes(SIZE);
    let bed = Bed::new(&complete(&data)).await;
    fs::write(bed.pod().join(ARCHIVE), &data).unwrap();
    let cuts = [0, 1, 100_000, 8_000_000, 31, 77_777, 65_536, 4_000_000, 0, 0, 70_000, 300_000];
    drop_connections(&bed, "--offset", &cuts);
    let (result, events) = bed.retrieve(&bed.options()).await;
    let retrieved = result.unwrap();
    assert!(retrieved[0].as_status_says && retrieved.len() == 1);
    assert!(fs::read(&retrieved[0].path).unwrap() == data, "the bytes are those of the original");
    assert_eq!(bed.downloaded_files(), [ARCHIVE]);
    assert_eq!(events.iter().filter(|line| line.starts_with("Again")).count(), 12, "{events:?}");

    let (again, events) = bed.retrieve(&bed.options()).await;
    assert_eq!(again.unwrap(), retrieved);
    assert!(events[0].starts_with("Present"), "{events:?}");

    fs::write(&retrieved[0].path, vec![0; SIZE]).unwrap();
    assert_eq!(bed.retrieve(&bed.options()).await.0.unwrap(), retrieved);
    assert!(fs::read(&retrieved[0].path).unwrap() == data, "one that only looks so is replaced");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn the_download_equals_the_source(
        size in 0_usize..300_000,
        drops in proptest::collection::vec(0_usize..120_000, 0..12),
    ) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let data = bytes(size);
        let read = runtime.block_on(async {
            let bed = Bed::new(&complete(&data)).await;
            fs::write(bed.pod().join(ARCHIVE), &data).unwrap();
            drop_connections(&bed, "--offset", &drops);
            // After a failure, the next attempt resumes. Each attempt uses at least four connections.
            let mut result = bed.retrieve(&bed.options()).await.0;
            for _ in 0..3 {
                if result.is_err() {
                    result = bed.retrieve(&bed.options()).await.0;
                }
            }
            fs::read(&result.unwrap()[0].path).unwrap()
        });
        prop_assert!(read == data);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_breaks_off_is_asked_for_again() {
    let data = bytes(10);
    let bed = Bed::new(&complete(&data)).await;
    fs::write(bed.pod().join(ARCHIVE), &data).unwrap();
    fs::write(bed.pod().join("202611201301_plumbline_y.tar.gz"), b"second").unwrap();
    drop_connections(&bed, "--list", &[0, 20]);
    let retrieved = bed.retrieve(&bed.options()).await.0.unwrap();
    // The status says nothing about the other archive.
    assert_eq!(retrieved.iter().map(|archive| archive.as_status_says).collect::<Vec<_>>(), [true, false]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_that_is_dead_is_given_up_and_gone_on_with_later() {
    let data = bytes(500_000);
    let bed = Bed::new(&complete(&data)).await;
    fs::write(bed.pod().join(ARCHIVE), &data).unwrap();
    let cuts = queue(&[200_000, 0, 0, 0]);
    let offsets = queue(&[]);
    let asked = offsets.clone();
    bed.on_exec(move |dir, words| {
        let Some(at) = words.iter().position(|word| *word == "--offset") else { return carry_out(dir, words) };
        asked.lock().unwrap().push(words[at + 1].parse().unwrap());
        ExecReply { cut_after: cuts.lock().unwrap().pop(), ..carry_out(dir, words) }
    });
    let (result, _) = bed.retrieve(&bed.options()).await;
    let error = result.unwrap_err();
    assert!(matches!(error, RetrieveError::Interrupted { have: 200_000, size: 500_000, .. }), "{error}");
    assert_eq!(error.stage(), Stage::Transfer);
    assert!(error.hint().unwrap().contains(&format!("{ARCHIVE}.part")), "the hint names the partial file");
    assert_eq!(bed.downloaded_files(), [format!("{ARCHIVE}.part"), format!("{ARCHIVE}.part.json")]);
    let (result, _) = bed.retrieve(&bed.options()).await;
    assert!(fs::read(&result.unwrap()[0].path).unwrap() == data);
    assert_eq!(*offsets.lock().unwrap(), [0, 200_000, 200_000, 200_000, 200_000]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_with_another_digest_is_refused_and_kept_aside() {
    let data = bytes(100_000);
    let bed = Bed::new(&complete(b"another")).await;
    fs::write(bed.pod().join(ARCHIVE), &data).unwrap();
    let (result, _) = bed.retrieve(&bed.options()).await;
    let error = result.unwrap_err();
    let RetrieveError::Wrong { aside: Some(aside), .. } = &error else { panic!("{error}") };
    assert!(fs::read(aside).unwrap() == data);
    assert_eq!(bed.downloaded_files(), [format!("{ARCHIVE}.damaged")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_that_were_changed_on_the_way_are_noticed() {
    let data = bytes(100_000);
    let bed = Bed::new(&complete(&data)).await;
    fs::write(bed.pod().join(ARCHIVE), &data).unwrap();
    bed.on_exec(|dir, words| {
        let mut reply = carry_out(dir, words);
        if words.contains(&"--offset") {
            reply.stdout[77] ^= 1;
        }
        reply
    });
    let error = bed.retrieve(&bed.options()).await.0.unwrap_err();
    assert!(matches!(error, RetrieveError::Wrong { .. }), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_without_an_archive_says_what_is_missing() {
    let bed = Bed::new(&running()).await;
    let error = bed.retrieve(&bed.options()).await.0.unwrap_err();
    assert_eq!(error.stage(), Stage::NotReady);
    assert_eq!(error.to_string(), "no archive yet: the run continues, 1 of 2 results are in; missing: `e2e`");
    bed.set_status(&complete(b"x"));
    let error = bed.retrieve(&bed.options()).await.0.unwrap_err();
    assert!(matches!(&error, RetrieveError::NotReady(not) if matches!(**not, NotReady::NoArchive(_))), "{error}");
    fs::write(bed.pod().join("other.tar.gz"), b"x").unwrap();
    let error = bed.retrieve(&bed.options()).await.0.unwrap_err();
    assert!(error.to_string().contains("has only other archives"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_waited_for() {
    let bed = Bed::new(&running()).await;
    let data = bytes(1000);
    fs::write(bed.pod().join(ARCHIVE), &data).unwrap();
    let mut options = bed.options();
    options.wait = Wait::AtMost(None);
    options.file_name = Some("mine.tar.gz".into());
    let double = bed.double.clone();
    let status = complete(&data).to_string();
    let mut tell = |progress: Progress<'_>| {
        if let Progress::Waiting(why) = progress {
            assert!(why.contains("1 of 2"), "{why}");
            double.update("pods", "sonobuoy", "sonobuoy", |pod| {
                pod["metadata"]["annotations"]["sonobuoy.hept.io/status"] = status.clone().into();
            });
        }
    };
    let retrieved = Box::pin(retrieve(&bed.cluster, &options, &mut tell)).await.unwrap();
    assert_eq!(retrieved[0].path, bed.download_dir().join("mine.tar.gz"));

    bed.set_status(&running());
    options.wait = Wait::AtMost(Some(std::time::Duration::from_millis(30)));
    assert_eq!(bed.retrieve(&options).await.0.unwrap_err().stage(), Stage::NotReady);
}

#[tokio::test(flavor = "multi_thread")]
async fn partial_results_can_be_downloaded() {
    let bed = Bed::new(&running()).await;
    let error = bed.snapshot().await.unwrap_err();
    assert!(error.to_string().contains("no active run"), "{error}");
    assert!(bed.downloaded_files().is_empty());
    let tree = bed.pod().join(".plumbline-run-1/tree/plugins/e2e");
    fs::create_dir_all(&tree).unwrap();
    fs::write(tree.join("definition.json"), "{}").unwrap();
    let retrieved = bed.snapshot().await.unwrap();
    let archive = plumbline_archive::results::ResultsArchive::open(&retrieved.path).unwrap();
    assert_eq!(archive.files().map(|(name, _)| name.to_owned()).collect::<Vec<_>>(), ["plugins/e2e/definition.json"]);
}
