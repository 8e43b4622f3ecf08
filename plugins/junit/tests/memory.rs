//! Tests the memory usage of the process. It needs a process of its own.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::{self, Cursor, Read};

use plumbline_module_junit::{Junit, MAX_TEXT};
use plumbline_sdk::Detail;
use plumbline_sdk::testing::Case;

/// Reads 768 MiB that are generated while they are read.
#[test]
fn memory_does_not_grow_with_the_file() {
    const LONG: u64 = 256 << 20;
    let part = |text: &'static str| Cursor::new(text.as_bytes());
    let filler = |byte: u8| io::repeat(byte).take(LONG);
    let make = move || {
        part("<testsuite name='s'><testcase name='t'><system-out>")
            .chain(filler(b'x'))
            .chain(part("</system-out></testcase><!--"))
            .chain(filler(b'-'))
            .chain(part("--><testcase name='u'><failure><![CDATA["))
            .chain(filler(b']'))
            .chain(part("]]></failure></testcase></testsuite>"))
    };
    let run = Case::new().generated_file("results/global/junit.xml", 3 * LONG, make).run::<Junit>();
    let note = format!("[cut: the first {MAX_TEXT} of {LONG} bytes]");
    assert_eq!(run.outline(), "junit.xml: -\n  s: -\n    t: passed\n    u: failed\n");
    assert!(matches!(&run.items[2].details[..], [(_, Detail::Text(text))] if text.ends_with(&note)));
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kib: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kib < 64 << 10, "{kib} KiB");
}
