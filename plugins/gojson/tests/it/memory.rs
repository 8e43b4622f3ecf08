//! Tests that memory usage does not grow with the file.
#![cfg(target_os = "linux")]

use std::io::{self, Read};

use plumbline_module_gojson::{GoJson, MAX_KEPT};
use plumbline_sdk::testing::Case;

/// Output of tests that never end, with one event per test: the worst case.
struct Endless {
    left: u32,
    event: Vec<u8>,
    given: usize,
}

impl Read for Endless {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.given == self.event.len() && self.left > 0 {
            self.left -= 1;
            self.given = 0;
            let number = self.left;
            let output = "x".repeat(4000);
            self.event =
                format!("{{\"Action\":\"output\",\"Package\":\"p\",\"Test\":\"T{number}\",\"Output\":\"{output}\"}}\n")
                    .into_bytes();
        }
        let read = (&self.event[self.given..]).read(into)?;
        self.given += read;
        Ok(read)
    }
}

#[test]
fn memory_does_not_grow_with_the_file() {
    const EVENTS: u32 = 100_000;
    let make = || Endless { left: EVENTS, event: Vec::new(), given: 0 };
    let run = Case::new().generated_file("results/global/out.json", 4_000 * u64::from(EVENTS), make).run::<GoJson>();
    assert_eq!(run.outline(), "out.json: -\n");
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kib: usize = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kib < (MAX_KEPT >> 10) + (120 << 10), "{kib} KiB");
}
