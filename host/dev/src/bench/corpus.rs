//! Generates a JUnit file like that of a Kubernetes conformance run. It has thousands of test cases
//! with long names, four attributes and indentation. Nineteen of twenty are skipped, and a few are
//! failures with logs.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// One of this many test cases ran.
const RAN: u64 = 18;
/// One of this many test cases failed.
const FAILED: u64 = 501;

/// Writes a file of about `bytes` bytes, and returns the number of its test cases.
pub(crate) fn write(path: &Path, bytes: u64) -> io::Result<u64> {
    let mut out = Counting { inner: BufWriter::new(File::create(path)?), written: 0 };
    let log =
        "I0501 14:22:10.123456   22 service.go:1234] endpoint &lt;10.0.0.7:8080&gt; &quot;ready&quot; &amp; serving\n"
            .repeat(40);
    writeln!(
        out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n  <testsuites>\n      <testsuite name=\"Kubernetes e2e suite\">"
    )?;
    let mut cases = 0_u64;
    while out.written < bytes {
        cases += 1;
        let failed = cases.is_multiple_of(FAILED);
        let (status, seconds) = match (failed, cases.is_multiple_of(RAN)) {
            (true, _) => ("failed", cases % 300),
            (_, true) => ("passed", cases % 300),
            _ => ("skipped", 0),
        };
        writeln!(
            out,
            "          <testcase name=\"[It] [sig-network] Services should serve endpoints on same port and different protocols, \
             variant {cases} [Conformance] [sig-network, Conformance]\" classname=\"Kubernetes e2e suite\" status=\"{status}\" \
             time=\"{seconds}.{:06}\">",
            cases % 1_000_000
        )?;
        match status {
            "skipped" => writeln!(out, "              <skipped message=\"skipped\"></skipped>")?,
            "failed" => writeln!(
                out,
                "              <failure message=\"timed out after 300 s\" type=\"failed\">{log}</failure>\n              \
                 <system-err>{log}</system-err>"
            )?,
            _ => {}
        }
        writeln!(out, "          </testcase>")?;
    }
    writeln!(out, "      </testsuite>\n  </testsuites>")?;
    out.inner.flush()?;
    Ok(cases)
}

struct Counting<W> {
    inner: W,
    written: u64,
}

impl<W: Write> Write for Counting<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.written += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
