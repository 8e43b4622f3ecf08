use super::*;

fn progress(completed: u64) -> CheckProgress {
    CheckProgress { completed, total: 1000, message: "x".repeat(2000) }
}

#[test]
fn a_flood_of_progress_becomes_a_few_reports_and_the_last_one_arrives() {
    let (outbox, messages) = Outbox::new();
    let received = std::thread::spawn(move || messages.iter().collect::<Vec<_>>());
    let mut reports = Reports::new(outbox);
    let start = Instant::now();
    // 1,000 reports in a quarter of a second.
    for n in 0..1000 {
        reports.report(progress(n), start + Duration::from_micros(n * 250)).unwrap();
    }
    reports.finish();
    drop(reports);
    let received: Vec<u64> = received
        .join()
        .unwrap()
        .into_iter()
        .map(|message| match message {
            Message::Progress(progress) => {
                assert!(progress.message.len() < MAX_MESSAGE + 50, "{}", progress.message.len());
                progress.completed
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(received, [0, 400, 800, 999]);
}
