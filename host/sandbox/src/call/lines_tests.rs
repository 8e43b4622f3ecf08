use super::*;

/// Runs `write` on another thread, because a log waits for its reader.
fn lines(limit: u64, write: impl FnOnce(&Lines) + Send) -> (Vec<(LogLevel, String)>, u64) {
    let (outbox, messages) = Outbox::new();
    std::thread::scope(|scope| {
        let writer = scope.spawn(move || {
            let log = Lines::new(outbox, limit);
            write(&log);
            log.finish()
        });
        let lines = messages
            .iter()
            .map(|message| match message {
                Message::Line(level, text) => (level, String::from(text)),
                _ => panic!("only lines here"),
            })
            .collect();
        (lines, writer.join().unwrap())
    })
}

#[test]
fn lines_are_split_and_escaped() {
    let (lines, dropped) = lines(100, |log| log.write(LogLevel::Debug, "a\tb\n\x1b[31mred\r\n").unwrap());
    assert_eq!(lines, [(LogLevel::Debug, "a b".into()), (LogLevel::Debug, r"\u{1b}[31mred".into())]);
    assert_eq!(dropped, 0);
}

#[test]
fn lines_over_the_limit_are_dropped_with_one_note() {
    let (lines, dropped) = lines(10, |log| {
        log.write(LogLevel::Info, "12345").unwrap();
        log.write(LogLevel::Info, "äöü").unwrap();
        log.write(LogLevel::Info, "nothing").unwrap();
        log.stream(Stream::Out, b"nothing\n").unwrap();
    });
    let said = "log limit `log-bytes` reached: 10 bytes: later lines are dropped";
    assert_eq!(
        lines,
        [(LogLevel::Info, "12345".into()), (LogLevel::Warning, said.into()), (LogLevel::Info, "äö".into())]
    );
    assert_eq!(dropped, 3 + 8 + 8);
}

#[test]
fn empty_lines_are_bounded() {
    let (lines, _) = lines(10, |log| (0..1000).for_each(|_| log.write(LogLevel::Info, "").unwrap()));
    assert_eq!(lines.len(), 11);
}

#[test]
fn streams_come_by_the_line() {
    let (lines, _) = lines(1000, |log| {
        log.stream(Stream::Out, b"one\ntw").unwrap();
        log.stream(Stream::Err, b"oops\xff\n").unwrap();
        log.stream(Stream::Out, b"o").unwrap();
    });
    assert_eq!(
        lines,
        [
            (LogLevel::Info, "stdout: one".into()),
            (LogLevel::Warning, "stderr: oops\u{fffd}".into()),
            (LogLevel::Info, "stdout: two".into())
        ]
    );
}
