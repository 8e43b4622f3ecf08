//! Source locations in the texts of failures.

use crate::mask::masked;

/// Parts of paths and frames that belong to libraries and test runners, not to the test.
const LIBRARIES: [&str; 24] = [
    "/vendor/",
    "/ginkgo/",
    "/gomega/",
    "/pkg/mod/",
    "/usr/local/go/",
    "test/e2e/framework/",
    "/site-packages/",
    "/dist-packages/",
    "/lib/python",
    "/node_modules/",
    "node:",
    "/rustc/",
    "/.cargo/",
    "java.",
    "javax.",
    "jdk.",
    "sun.",
    "kotlin.",
    "groovy.",
    "org.junit.",
    "org.opentest4j.",
    "org.gradle.",
    "System.",
    "Microsoft.",
];

/// A line, without the source location at its start.
pub(crate) struct Placed<'a> {
    /// The path of the source file.
    pub(crate) path: &'a str,
    /// The rest of the line; empty if the line is only a location.
    pub(crate) rest: &'a str,
}

/// Splits a line that starts with a source location: `/src/framework.go:630`, `a_test.go:31: want
/// 3`, `In [It] at: /src/job.go:90 @ 06/30/26`, `thread 'tests::a' (7) panicked at src/lib.rs:4:24:`.
pub(crate) fn placed(line: &str) -> Option<Placed<'_>> {
    if let Some((_, place)) = line.strip_prefix("In [").and_then(|rest| rest.split_once("] at: ")) {
        return Some(Placed { path: numbered(place.split_whitespace().next()?)?, rest: "" });
    }
    let panicked = line.strip_prefix("thread '").and_then(|rest| rest.split_once(" panicked at "));
    let line = panicked.map_or(line, |(_, place)| place);
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let path = numbered(word.trim_end_matches([':', ',']))?;
    let rest = rest.trim();
    // Stack traces of Go add an offset. Without a colon, the word is a part of a sentence.
    if rest.is_empty() || rest.starts_with("+0x") {
        return Some(Placed { path, rest: "" });
    }
    word.ends_with(':').then_some(Placed { path, rest })
}

/// Returns the path of `PATH:LINE` or `PATH:LINE:COLUMN`.
fn numbered(word: &str) -> Option<&str> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (path, _) = word.rsplit_once(':').filter(|(_, line)| digits(line))?;
    let path = path.rsplit_once(':').filter(|(_, line)| digits(line)).map_or(path, |(path, _)| path);
    let file = path.rsplit(['/', '\\']).next().unwrap_or_default();
    (file.contains('.') && !file.starts_with(|c: char| c.is_ascii_digit())).then_some(path)
}

/// Returns the source file of a stack frame, if the frame has one and belongs to no library. `None`
/// means that the line is not a frame.
///
/// The forms are those of Java (`at a.B.c(B.java:12)`), .NET (`at A.B() in /src/B.cs:line 12`),
/// JavaScript (`at f (/app/a.js:1:2)`) and Python (`File "a.py", line 12, in f`).
pub(crate) fn frame(line: &str) -> Option<Option<&str>> {
    if let Some(rest) = line.strip_prefix("File \"") {
        let (path, rest) = rest.split_once('"')?;
        return rest.starts_with(", line ").then(|| own(path, path));
    }
    let frame = line.strip_prefix("at ")?;
    if let Some((path, _)) = frame.rsplit_once(" in ").and_then(|(_, place)| place.rsplit_once(":line ")) {
        return Some(own(frame, path));
    }
    let place = match frame.strip_suffix(')').and_then(|rest| rest.rsplit_once('(')) {
        Some((_, place)) => place,
        None => frame,
    };
    match numbered(place) {
        Some(path) => Some(own(frame, path)),
        // Such as `at a.B.c(Native Method)` and `at A.B()`, but not `at least two nodes`.
        None => {
            let function = frame.split('(').next().unwrap_or_default();
            (function.contains('.') && !function.contains(char::is_whitespace)).then_some(None)
        }
    }
}

fn own<'a>(frame: &str, path: &'a str) -> Option<&'a str> {
    (!is_library(frame) && !is_library(path)).then_some(path)
}

/// Returns whether a path or frame belongs to a library or to a test runner.
pub(crate) fn is_library(place: &str) -> bool {
    LIBRARIES.iter().any(|library| match library.ends_with('.') || library.ends_with(':') {
        true => place.strip_prefix("java.base/").unwrap_or(place).starts_with(library),
        false => place.contains(library),
    })
}

/// Returns the last two parts of a path, which are the same wherever the sources were built.
pub(crate) fn short(path: &str) -> String {
    let mut parts = path.rsplit(['/', '\\']).filter(|part| !part.is_empty());
    let file = parts.next().unwrap_or_default();
    match parts.next() {
        Some(directory) if !directory.contains(':') => format!("{}/{}", masked(directory), masked(file)),
        _ => masked(file),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_is_split_from_its_line() {
        for (line, path, rest) in [
            ("/src/test/e2e/framework/framework.go:630", "/src/test/e2e/framework/framework.go", ""),
            ("/src/a.go:12 +0x1d", "/src/a.go", ""),
            ("merge_test.go:31: want 3 entries", "merge_test.go", "want 3 entries"),
            ("wire/codec.go:7:2: undefined: frame", "wire/codec.go", "undefined: frame"),
            ("tests/test_dns.py:21: AssertionError", "tests/test_dns.py", "AssertionError"),
            ("In [It] at: /src/job.go:90 @ 06/30/26 22:11:44.2", "/src/job.go", ""),
            ("thread 'tests::a' (7) panicked at src/lib.rs:4:24:", "src/lib.rs", ""),
        ] {
            let placed = placed(line).unwrap();
            assert_eq!((placed.path, placed.rest), (path, rest), "{line}");
        }
        for line in ["10.0.0.1:443: refused", "want 3", "a.go:1 is a file", "localhost:8080: no", "error: x.go"] {
            assert!(placed(line).is_none(), "{line}");
        }
    }

    #[test]
    fn frames_name_the_file_of_the_test() {
        for (line, path) in [
            ("at org.example.RouteTest.removes(RouteTest.java:48)", Some("RouteTest.java")),
            ("at java.base/java.lang.reflect.Method.invoke(Method.java:580)", None),
            ("at java.util.ArrayList.forEach(ArrayList.java:1257)", None),
            ("at Agent.Tests.PathTests.Splits() in C:\\src\\PathTests.cs:line 41", Some("C:\\src\\PathTests.cs")),
            ("at Object.toEqual (/app/gateway.test.js:17:22)", Some("/app/gateway.test.js")),
            ("at /app/x.js:1:2", Some("/app/x.js")),
            ("at org.example.Native.call(Native Method)", None),
            ("File \"/app/tests/a.py\", line 3, in test_a", Some("/app/tests/a.py")),
            ("File \"/usr/lib/python3/dist-packages/x.py\", line 3, in y", None),
        ] {
            assert_eq!(frame(line), Some(path), "{line}");
        }
        for line in ["at least two nodes are needed (got 1)", "at once", "File not found", "attempt 3 failed"] {
            assert_eq!(frame(line), None, "{line}");
        }
    }

    #[test]
    fn a_place_does_not_depend_on_where_it_was_built() {
        assert_eq!(short("/workspace/src/k8s.io/kubernetes/test/e2e/apps/daemon_set.go"), "apps/daemon_set.go");
        assert_eq!(short("/go/src/k8s.io/kubernetes/test/e2e/apps/daemon_set.go"), "apps/daemon_set.go");
        assert_eq!(short("RouteTest.java"), "RouteTest.java");
        assert_eq!(short("C:\\PathTests.cs"), "PathTests.cs");
    }
}
