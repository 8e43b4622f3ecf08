//! Records the live view on an in-memory terminal, with a clock that the test sets.

use plumbline_app::earlier::EarlierPlugin;
use plumbline_kubernetes::status::Seen;
use serde_json::{Value, json};
use vt100::Parser;

use super::super::display::broken;
use super::super::plugins::tests::{now, pulling, seen};
use super::super::plugins::{Logs, head};
use super::super::screen::{Behaviour, Frame};
use super::*;

/// A terminal, and the frame drawn on it.
struct Terminal {
    parser: Parser,
    frame: Frame,
    lines: Vec<Line>,
    size: Size,
    behaviour: Behaviour,
}

fn parser(size: Size) -> Parser {
    let n = |n: usize| u16::try_from(n).unwrap().try_into().unwrap();
    Parser::new(n(size.rows), n(size.columns), 1000)
}

impl Terminal {
    fn new(columns: usize, rows: usize) -> Self {
        let size = Size { columns, rows };
        let behaviour = Behaviour { colour: true, reflows: true };
        Self { parser: parser(size), frame: Frame::new(), lines: Vec::new(), size, behaviour }
    }

    fn show(&mut self, lines: Vec<Line>) {
        self.lines.clone_from(&lines);
        let text = self.frame.draw(lines, self.size, self.behaviour);
        self.parser.process(text.as_bytes());
    }

    /// Prints a line above the frame.
    fn say(&mut self, text: &str) {
        let lines = std::mem::take(&mut self.lines);
        self.show(Vec::new());
        self.parser.process(format!("{text}\r\n").as_bytes());
        self.show(lines);
    }

    /// Resizes the window. The model cuts lines, as xterm does. To model terminals that reflow, it
    /// prints the lines again.
    fn resize(&mut self, columns: usize, rows: usize) {
        let size = Size { columns, rows };
        if self.behaviour.reflows && columns != self.size.columns {
            let mut text = self.rows();
            let below = usize::from(self.parser.screen().cursor_position().0);
            text.truncate(below);
            self.parser = parser(Size { columns, ..self.size });
            text.iter().for_each(|row| self.parser.process(format!("{row}\r\n").as_bytes()));
        }
        let n = |n: usize| u16::try_from(n).unwrap().try_into().unwrap();
        self.parser.screen_mut().set_size(n(rows), n(columns));
        self.size = size;
    }

    fn rows(&self) -> Vec<String> {
        let columns = u16::try_from(self.size.columns).unwrap();
        self.parser.screen().rows(0, columns).map(|row| row.trim_end().to_owned()).collect()
    }

    fn screen(&self) -> String {
        self.rows().join("\n").trim_end().to_owned()
    }
}

fn at(seconds: i64) -> Timestamp {
    now() + SignedDuration::from_secs(seconds)
}

fn entry(plugin: &str, more: Value) -> Value {
    let mut entry = json!({"plugin": plugin, "node": "global", "status": "running"});
    entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    entry
}

/// A run of 60 plugins on this machine, in all possible states.
fn sixty() -> RunStatus {
    let heard = "2026-11-20T12:59:00Z";
    let (mut plugins, mut launched) = (Vec::new(), BTreeMap::new());
    for n in 1..=60 {
        let name = match n {
            7 => "a-plugin-with-a-name-that-is-far-too-long-for-any-table-07".to_owned(),
            8 => "節點-檢查-08".to_owned(),
            n => format!("check-{n:02}"),
        };
        let ended = |result: &str, counts: Value| json!({"status": "complete", "result-status": result, "result-counts": counts});
        let more = match n {
            1..=10 => ended("passed", json!({"passed": n})),
            11 | 12 => ended("failed", json!({"passed": 40, "failed": n - 10, "skipped": 3})),
            13 => ended("timeout", json!({"timeout": 1})),
            14 => json!({"status": "failed"}),
            15 => ended("unknown", json!({"unknown": 1})),
            16 => ended("failed", json!({"passed": 9, "failed": 4})),
            17 => json!({"status": "complete"}),
            18 => json!({"last-heartbeat": heard, "progress":
                {"timestamp": heard, "total": 40, "completed": 11, "failures": ["disk is full", "swap is off"], "msg": "reading /proc"}}),
            19 => json!({"last-heartbeat": heard, "progress": {"timestamp": heard, "completed": 5, "msg": "looking"}}),
            20..=24 => json!({"last-heartbeat": heard}),
            _ => json!({}),
        };
        if n <= 26 {
            launched.insert(name.clone(), "2026-11-20T12:58:20Z");
        }
        plugins.push(entry(&name, more));
    }
    let verdicts = json!({"check-16": {"status": "passed", "failures": 4, "excused": 4}});
    let status = json!({"status": "running", "plugins": plugins, "launched": launched, "verdicts": verdicts});
    serde_json::from_value(status).unwrap()
}

fn local(status: &RunStatus) -> RunView<'_> {
    let started = Some("2026-11-20T12:58:15Z".parse().unwrap());
    RunView { status, waiting: &[], started, logs: Logs::Local("/work".as_ref()) }
}

const SIZES: [usize; 3] = [60, 80, 200];

#[test]
fn sixty_plugins_fit_24_rows() {
    let status = sixty();
    for columns in SIZES {
        let mut terminal = Terminal::new(columns, 24);
        terminal.show(LiveView::default().frame(local(&status), now(), terminal.size));
        insta::assert_snapshot!(format!("sixty_plugins_{columns}"), terminal.screen());
    }
}

/// A run of the suite with logs from 12 nodes, at a given second.
fn suite(seconds: i64) -> Seen {
    let time = |seconds: i64| at(seconds).to_string();
    let done = 5 + seconds / 3;
    let failures: Vec<&str> = [
        "[sig-network] Services should be able to switch session affinity for NodePort service [LinuxOnly] [Conformance]",
        "[sig-storage] CSI Volumes CSI Topology test using GCE PD driver [Serial]",
        "[sig-apps] StatefulSet should perform rolling updates and roll backs of template modifications [Conformance]",
        "[sig-node] Pods should be submitted and removed",
    ]
    .into_iter()
    .take(usize::try_from(seconds / 250).unwrap())
    .collect();
    let reasons = json!({
        "[sig-network] Services should be able to switch session affinity for NodePort service [LinuxOnly] [Conformance]":
            r#"service "affinity-nodeport" has no endpoints after 2m0s: pods "affinity-nodeport-7x2kq" is forbidden: exceeded quota"#,
        "[sig-node] Pods should be submitted and removed": r#"pods "pod-submit-remove" is forbidden: quotas are denied here"#,
    });
    let over = done >= 404;
    let mut e2e = entry(
        "e2e",
        json!({"last-heartbeat": time(seconds), "progress": {"timestamp": time(seconds), "total": 404,
        "completed": done.min(404) - failures.len() as i64, "failures": failures, "reasons": reasons,
        "msg": "PASSED [sig-cli] Kubectl client"}}),
    );
    if over {
        let ended = json!({"status": "complete", "result-status": "failed", "result-counts": {"passed": 400, "failed": 4, "skipped": 6793}});
        e2e.as_object_mut().unwrap().extend(ended.as_object().unwrap().clone());
    }
    let missing = if seconds > 300 { "failed" } else { "running" };
    let mut seen = seen(json!([
        e2e,
        {"plugin": "logs", "node": "9 nodes", "status": "complete", "folded": 9, "result-status": "passed"},
        {"plugin": "logs", "node": "worker-7", "status": "running"},
        {"plugin": "logs", "node": "worker-8", "status": "running"},
        {"plugin": "logs", "node": "worker-9", "status": missing},
        entry("e2e-retry-1", json!({})),
    ]));
    seen.began = Some(now());
    seen.status.launched = [("e2e".to_owned(), now()), ("logs".to_owned(), now())].into();
    seen.waiting = ["worker-7", "worker-8"].map(|node| Waiting { since: Some(at(30)), ..pulling(node) }).into();
    if over {
        let verdict = json!({"e2e": {"status": "passed", "failures": 4, "excused": 4, "classes": {"known-failure": {"items": 4, "failures": 4}}}});
        seen.status.verdicts = serde_json::from_value(verdict).unwrap();
        seen.status.status = RunPhase::PostProcessing;
    }
    seen
}

#[test]
fn a_run_of_the_suite_is_recorded_from_start_to_end() {
    for columns in SIZES {
        let mut terminal = Terminal::new(columns, 24);
        let mut view = LiveView::default();
        let mut recording = String::new();
        let head = head(&suite(0), "kind-prod", now());
        broken(&head, columns).iter().for_each(|line| terminal.say(line));
        for seconds in 0..=1200 {
            terminal.show(view.frame(RunView::of_cluster(&suite(seconds)), at(seconds), terminal.size));
            if [0, 40, 290, 1190, 1200].contains(&seconds) {
                recording.push_str(&format!("--- after {seconds} s\n{}\n", terminal.screen()));
            }
        }
        terminal.show(Vec::new());
        recording.push_str(&format!("--- ended\n{}\n", terminal.screen()));
        insta::assert_snapshot!(format!("suite_{columns}"), recording);
    }
}

/// The screen of a terminal of this size that was never resized.
fn fresh(columns: usize, rows: usize, status: &RunStatus) -> String {
    let mut terminal = Terminal::new(columns, rows);
    terminal.show(LiveView::default().frame(local(status), now(), terminal.size));
    terminal.screen()
}

#[test]
fn a_long_reason_is_one_line_and_low_windows_have_none() {
    let failures = ["a test", "another test"];
    let reasons = json!({"a test": "no\nroute", "another test": "x".repeat(1_000)});
    let progress = json!({"total": 9, "completed": 1, "failures": failures, "reasons": reasons});
    let seen = seen(json!([entry("e2e", json!({"progress": progress}))]));
    let frame = |columns, rows| {
        let lines = LiveView::default().frame(RunView::of_cluster(&seen), now(), Size { columns, rows });
        let shown = lines.iter().map(|line| line.render(false)).skip_while(|line| !line.starts_with("  FAIL"));
        shown.collect::<Vec<_>>()
    };
    let long = format!("         {}…", "x".repeat(69));
    assert_eq!(frame(80, 24), ["  FAIL e2e: another test", &long, "  FAIL e2e: a test", "         no route"]);
    assert_eq!(frame(80, 13), ["  FAIL e2e: another test", "  and 1 more"]);
}

#[test]
fn a_resize_leaves_no_stale_rows() {
    let status = sixty();
    for reflows in [true, false] {
        let mut terminal = Terminal::new(200, 24);
        terminal.behaviour.reflows = reflows;
        terminal.show(LiveView::default().frame(local(&status), now(), terminal.size));
        let sizes =
            [(80, 24), (60, 24), (200, 24), (60, 24), (60, 10), (60, 30), (79, 12), (80, 24), (30, 5), (200, 24)];
        for (columns, rows) in sizes {
            terminal.resize(columns, rows);
            terminal.show(LiveView::default().frame(local(&status), now(), terminal.size));
            assert_eq!(terminal.screen().trim_start(), fresh(columns, rows, &status), "{reflows} {columns} {rows}");
        }
    }
}

#[test]
fn messages_stay_above_the_frame() {
    let mut status = sixty();
    status.plugins.as_mut().unwrap().truncate(12);
    let mut terminal = Terminal::new(60, 24);
    terminal.say("run 7f3a9c · 12 plugins · this machine");
    terminal.show(LiveView::default().frame(local(&status), now(), terminal.size));
    terminal.say("warning: the clock of node worker-7 is wrong");
    terminal.resize(50, 24);
    terminal.say("interrupted");
    let text = terminal.screen();
    let rows: Vec<&str> = text.lines().collect();
    assert!(
        rows[0].starts_with("run 7f3a9c") && rows[1].starts_with("warning: ") && rows[2] == "interrupted",
        "{text}"
    );
    assert_eq!(text.matches("check-12").count(), 1, "{text}");
    terminal.show(Vec::new());
    assert_eq!(terminal.rows().iter().filter(|row| !row.is_empty()).count(), 3);
}

#[test]
fn every_size_is_filled_and_never_exceeded() {
    let status = sixty();
    for columns in 1..=120 {
        for rows in [1, 2, 3, 8, 24, 80] {
            let size = Size { columns, rows };
            let lines = LiveView::default().frame(local(&status), now(), size);
            assert!(lines.len() < rows.max(3), "{rows}: {}", lines.len());
            assert!(lines.iter().all(|line| line.width() < columns.max(2)), "{columns}");
        }
    }
    let lines = LiveView::default().frame(local(&status), now(), Size { columns: 100, rows: 24 });
    assert_eq!(lines.len(), 23);
}

#[test]
fn rows_that_do_not_fit_are_totalled() {
    let status = sixty();
    for rows in 6..60 {
        let lines = LiveView::default().frame(local(&status), now(), Size { columns: 100, rows });
        let text: Vec<String> = lines.iter().map(|line| line.render(false)).collect();
        let total = text.iter().find(|line| line.contains(" more: ")).unwrap();
        let hidden: usize = total.split_whitespace().next().unwrap().parse().unwrap();
        let shown = text
            .iter()
            .filter(|line| {
                (line.contains("check-") && !line.contains(": ")) || line.contains("-07") || line.contains("-08")
            })
            .count();
        assert_eq!(shown + hidden, 60, "{text:#?}");
        let summed: usize = total.split([' ', ',']).filter_map(|word| word.parse::<usize>().ok()).sum();
        assert_eq!(summed, 2 * hidden, "{total}");
    }
}

#[test]
fn a_plugin_with_a_verdict_has_its_colour() {
    let status = sixty();
    let mut terminal = Terminal::new(100, 80);
    terminal.show(LiveView::default().frame(local(&status), now(), terminal.size));
    let colour = |name: &str, word: &str| {
        let rows = terminal.rows();
        let row = rows.iter().position(|row| row.contains(name)).unwrap();
        let column = rows[row].find(word).unwrap_or_else(|| panic!("{}", rows[row]));
        let column = rows[row][..column].chars().count();
        let cell = terminal.parser.screen().cell(u16::try_from(row).unwrap(), u16::try_from(column).unwrap());
        cell.unwrap().fgcolor()
    };
    let (red, green, yellow) = (vt100::Color::Idx(1), vt100::Color::Idx(2), vt100::Color::Idx(3));
    assert_eq!((colour("check-16", "passed"), colour("check-16", "4 failed")), (green, vt100::Color::Default));
    assert_eq!((colour("check-11", "failed"), colour("check-11", "1 failed")), (red, red));
    assert_eq!((colour("check-14", "no result"), colour("check-15", "unknown")), (red, yellow));
    assert_eq!((colour("check-01", "passed"), colour("check-18", "2 failed")), (green, red));
}

#[test]
fn the_reason_for_a_missing_result_is_in_its_row() {
    let entry = |node: &str| {
        json!({"plugin": "logs", "node": node, "status": "running", "last-heartbeat": "2026-11-20T12:59:00Z",
        "reason": format!("node `{node}` is not ready")})
    };
    let rows = |entries: Value| {
        let seen = seen(entries);
        let frame = LiveView::default().frame(RunView::of_cluster(&seen), now(), Size { columns: 120, rows: 24 });
        frame.iter().map(|line| line.render(false)).collect::<Vec<_>>().join("\n")
    };
    let one = rows(json!([entry("n1")]));
    assert!(one.contains("  node `n1` is not ready"), "{one}");
    let two = rows(json!([entry("n1"), entry("n2")]));
    assert!(two.contains("2 results: node `n1` is not ready"), "{two}");
}

#[test]
fn a_stalled_plugin_says_where_to_look_and_has_no_estimate() {
    let mut view = LiveView::default();
    let mut text = String::new();
    for minute in 0..20 {
        let progress =
            json!({"timestamp": at(60 * minute.min(5)).to_string(), "total": 40, "completed": minute.min(5)});
        let seen = seen(json!([entry("still", json!({"last-heartbeat": now().to_string(), "progress": progress}))]));
        let lines = view.frame(RunView::of_cluster(&seen), at(60 * minute), Size { columns: 120, rows: 24 });
        text = lines.iter().map(|line| line.render(false)).collect::<Vec<_>>().join("\n");
    }
    insta::assert_snapshot!(text, @"
    31 min 0 s   0/1 results

      still   █░░░░░░░░░░░░░ 5/40   no progress for 14 min: see `plumbline logs --plugin still`
    ");
}

#[test]
fn an_earlier_run_gives_an_estimate_before_there_is_a_rate() {
    let row = |earlier: Option<(i64, u64)>| {
        let plugin = |(minutes, tests)| EarlierPlugin { took: SignedDuration::from_mins(minutes), tests };
        let mut view = LiveView::new(earlier.map(|earlier| ("e2e".to_owned(), plugin(earlier))).into_iter().collect());
        let frame = view.frame(RunView::of_cluster(&suite(300)), at(300), Size { columns: 120, rows: 24 });
        let rows: Vec<String> = frame.iter().map(|line| line.render(false)).collect();
        rows.iter().find(|row| row.starts_with("  e2e  ")).unwrap_or_else(|| panic!("{rows:#?}")).clone()
    };
    let known = row(Some((30, 404)));
    assert!(known.contains("105/404   1 failed   ETA 25 min"), "{known}");
    for unknown in [None, Some((30, 50)), Some((4, 404))] {
        assert!(!row(unknown).contains("ETA"), "{}", row(unknown));
    }
}

#[test]
fn foreign_text_does_not_steer_the_terminal() {
    let evil = "\u{1b}[2J\u{9b}31m\u{202e}\r\n\u{7}x";
    let mut seen = seen(json!([
        {"plugin": evil, "node": evil, "status": "running", "last-heartbeat": "2026-11-20T12:59:00Z",
         "progress": {"msg": evil, "total": 9, "completed": 1, "failures": [evil], "reasons": {(evil): evil}}},
        {"plugin": "b", "node": evil, "status": "complete", "result-status": evil, "result-counts": {(evil): 3}},
        {"plugin": "logs", "node": evil, "status": "running"},
    ]));
    seen.waiting = vec![Waiting { message: evil.to_owned(), ..pulling(evil) }];
    let lines = LiveView::default().frame(RunView::of_cluster(&seen), now(), Size { columns: 200, rows: 24 });
    for line in lines {
        assert!(!line.render(false).contains(|c: char| c.is_control() || c == '\u{202e}'), "{line:?}");
    }
}
