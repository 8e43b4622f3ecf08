//! Turns a line of a message into words, in which a wildcard stands for what varies from run to
//! run.
//!
//! There is one wildcard for everything. With a wildcard for each kind, a random name would be of
//! another kind if it happened to have no letters.

use std::borrow::Cow;

/// Stands for a part of a message that varies from run to run.
pub(crate) const WILDCARD: &str = "<*>";

/// The characters between the parts of a word.
const DELIMITERS: [char; 18] =
    ['=', ':', '(', ')', '[', ']', '{', '}', ',', ';', '|', '<', '>', '?', '&', '+', '"', '\''];
/// Further characters around a word.
const EDGES: [char; 5] = ['.', '!', '`', '*', '^'];
/// The characters that join the parts of a generated name, a version or a path.
const JOINTS: [char; 9] = ['-', '_', '.', '/', '@', '#', '~', '%', '\\'];
/// Punctuation at the end of a word.
const END: [char; 4] = [',', ';', ':', '.'];
/// The letters of random suffixes in names of Kubernetes objects.
const SUFFIX: &str = "bcdfghjklmnpqrstvwxz2456789";
/// The minimum length of a random suffix.
const MIN_SUFFIX: usize = 5;
/// The minimum length of hexadecimal text.
const MIN_HEX: usize = 6;
/// The maximum size in bytes of a line. The rest is ignored.
const MAX_LINE: usize = 2_000;
/// The maximum nesting of quotes.
const MAX_QUOTES: u32 = 4;

/// A number after one of these words is a code, which does not vary.
const CODES: [&str; 8] = ["code", "status", "errno", "signal", "http", "exitcode", "statuscode", "exit-code"];
/// Words that test runners and loggers add to a message.
const NOISE: [&str; 7] = ["FAIL:", "INFO:", "ERROR:", "[FAILED]", "[PANICKED]", "[TIMEDOUT]", "[INTERRUPTED]"];
/// Words whose digits do not vary.
const KNOWN: [&str; 10] = ["x509", "ipv4", "ipv6", "http2", "utf8", "sha256", "base64", "e2e", "k8s", "i18n"];
/// The methods of HTTP, as the client of Go writes them before a URL.
const METHODS: [&str; 6] = ["Get", "Post", "Put", "Patch", "Delete", "Head"];
/// Units that follow a number as a word of their own.
const UNITS: [&str; 20] = [
    "B", "kB", "KB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB", "bytes", "ns", "us", "ms", "s", "min", "h",
    "seconds", "minutes", "%",
];
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Returns the words of `line`, at most `most`. Times of day are left out, successive wildcards
/// become one, and so do a number and its unit.
pub(crate) fn words(line: &str, most: usize) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let line = line.get(..line.floor_char_boundary(MAX_LINE)).unwrap_or_default();
    let line = if line.contains('\\') { line.replace("\\\"", "\"") } else { line.to_owned() };
    let line = unquoted(&line, 0);
    let mut before = "";
    for token in line.split_whitespace() {
        if out.len() >= most {
            break;
        }
        if is_time(token) {
            drop_date(&mut out);
        } else if !NOISE.contains(&token) && !is_punctuation(token) {
            let word = if is_code(before) && is_number(token) { token.to_owned() } else { masked(token) };
            match out.last_mut() {
                Some(last) if is_wild(last) && is_wild(&word) => *last = word,
                Some(last) if is_wild(&word) && word.ends_with(':') && METHODS.contains(&last.as_str()) => *last = word,
                Some(last) if last == WILDCARD && is_unit(token) => last.push_str(punctuation(token)),
                _ => out.push(word),
            }
        }
        before = token;
    }
    out
}

fn is_unit(token: &str) -> bool {
    UNITS.contains(&token.trim_end_matches(END))
}

/// Returns the punctuation at the end of a word.
fn punctuation(token: &str) -> &str {
    token.get(token.trim_end_matches(END).len()..).unwrap_or_default()
}

/// Returns whether a word is a wildcard, possibly with punctuation.
pub(crate) fn is_wild(word: &str) -> bool {
    word.trim_end_matches(END) == WILDCARD
}

fn is_punctuation(token: &str) -> bool {
    token.chars().all(|c| !c.is_alphanumeric() && !matches!(c, '=' | '<' | '>' | '!' | '≠' | '*'))
}

fn is_code(word: &str) -> bool {
    let word = word.trim_matches(['[', '(', ':', '=']);
    CODES.iter().any(|code| code.eq_ignore_ascii_case(word))
}

fn is_number(token: &str) -> bool {
    let token = token.trim_end_matches([',', '.', ':', ';', ')', ']']);
    !token.is_empty() && token.len() <= 4 && token.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns whether the token is a time of day, or a date with or without a time.
fn is_time(token: &str) -> bool {
    let token = token.trim_matches(['[', ']', '(', ')', ':', ',']);
    if !token.starts_with(|c: char| c.is_ascii_digit()) {
        return false;
    }
    let shape: String = token.chars().take(10).map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    shape == "0000-00-00" || shape.starts_with("00:00:00")
}

/// Removes the parts of a time stamp before a time of day: `Aug 17`, or `E0817` as in logs of
/// Kubernetes.
fn drop_date(out: &mut Vec<String>) {
    match out.as_slice() {
        [.., month, day] if is_wild(day) && MONTHS.contains(&month.as_str()) => out.truncate(out.len() - 2),
        [.., level] if matches!(level.as_str(), "I<*>" | "W<*>" | "E<*>" | "F<*>") => out.truncate(out.len() - 1),
        _ => {}
    }
}

/// Replaces quoted words by wildcards, and removes the quotes around several words, which are a
/// sentence.
fn unquoted(line: &str, depth: u32) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find(['"', '\'', '`']) {
        let (before, quoted) = rest.split_at(at);
        out.push_str(before);
        let mut chars = quoted.chars();
        let Some(quote) = chars.next() else { break };
        rest = chars.as_str();
        match quotation(quote, out.chars().next_back(), rest) {
            Some(inside) if depth < MAX_QUOTES => {
                if inside.contains(char::is_whitespace) {
                    out.push(' ');
                    out.push_str(&unquoted(inside, depth + 1));
                    out.push(' ');
                } else {
                    out.push_str(WILDCARD);
                }
                rest = rest.get(inside.len() + 1..).unwrap_or_default();
            }
            _ => out.push(quote),
        }
    }
    out.push_str(rest);
    out
}

/// Returns what is quoted at the start of `rest`, if the quote before it opens a quotation. An
/// apostrophe does not.
fn quotation(quote: char, before: Option<char>, rest: &str) -> Option<&str> {
    if quote != '\'' {
        return rest.split_once(quote).map(|(inside, _)| inside);
    }
    if before.is_some_and(char::is_alphanumeric) || rest.starts_with(char::is_whitespace) {
        return None;
    }
    let ends = |at: &usize| !rest.get(at + 1..).unwrap_or_default().starts_with(char::is_alphanumeric);
    let end = rest.match_indices(quote).map(|(at, _)| at).find(ends)?;
    rest.get(..end)
}

/// Replaces the parts of a word that vary.
pub(crate) fn masked(token: &str) -> String {
    // Most words are plain ones.
    if token.trim_end_matches(END).bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return token.to_owned();
    }
    let is_edge = |c: char| DELIMITERS.contains(&c) || EDGES.contains(&c);
    let (head, rest) = token.split_at(token.len() - token.trim_start_matches(is_edge).len());
    let (core, tail) = rest.split_at(rest.trim_end_matches(is_edge).len());
    let mut out = head.to_owned();
    if is_url(core) || is_path(core) || is_ipv6(core) {
        out.push_str(WILDCARD);
    } else {
        pieces(core, &mut out);
    }
    out.push_str(tail);
    // A word of wildcards and punctuation says nothing more than a wildcard.
    if out.contains(WILDCARD) && !out.contains(char::is_alphanumeric) {
        let end = out.chars().next_back().filter(|c| END.contains(c));
        return WILDCARD.chars().chain(end).collect();
    }
    out
}

fn pieces(core: &str, out: &mut String) {
    let mut before = "";
    for piece in core.split_inclusive(DELIMITERS) {
        let (piece, delimiter) = piece.split_at(piece.trim_end_matches(DELIMITERS).len());
        if is_code(before) && is_number(piece) {
            out.push_str(piece)
        } else {
            out.push_str(&varied(piece))
        }
        out.push_str(delimiter);
        before = piece;
    }
}

/// Returns the piece of a word with a wildcard for what varies.
fn varied(piece: &str) -> Cow<'_, str> {
    let wild = Cow::Borrowed(WILDCARD);
    if !piece.bytes().any(|byte| byte.is_ascii_digit()) {
        return if has_random_suffix(piece) || is_namespaced(piece) { wild } else { Cow::Borrowed(piece) };
    }
    let is_type = piece.ends_with("Error") || piece.ends_with("Exception");
    if is_type || KNOWN.iter().any(|known| known.eq_ignore_ascii_case(piece)) {
        return Cow::Borrowed(piece);
    }
    if is_hex(piece) || piece.starts_with(|c: char| c.is_ascii_digit() || c == '-') || piece.contains(JOINTS) {
        return wild;
    }
    let stem = piece.trim_end_matches(|c: char| c.is_ascii_digit());
    if stem.bytes().any(|byte| byte.is_ascii_digit()) { wild } else { Cow::Owned(format!("{stem}{WILDCARD}")) }
}

fn is_hex(piece: &str) -> bool {
    piece.len() >= MIN_HEX && piece.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns whether the last part of a name is random letters, such as in `coredns-bxkqz`.
fn has_random_suffix(piece: &str) -> bool {
    let Some((_, suffix)) = piece.rsplit_once('-') else { return false };
    suffix.len() >= MIN_SUFFIX && suffix != "https" && suffix.chars().all(|c| SUFFIX.contains(c))
}

/// Returns whether the piece is a namespace and a name, such as `kube-system/kube-proxy`.
fn is_namespaced(piece: &str) -> bool {
    let Some((namespace, name)) = piece.split_once('/') else { return false };
    let is_name = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    is_name(namespace) && is_name(name) && piece.contains('-')
}

fn is_url(core: &str) -> bool {
    core.contains(':') && core.split_once("://").is_some_and(|(scheme, _)| !scheme.is_empty())
}

/// Returns whether the word is a path from a root: `/tmp/x`, `./x/y`, `C:\x`.
fn is_path(core: &str) -> bool {
    let drive = |rest: &str| rest.starts_with(":\\") || rest.starts_with(":/");
    let mut chars = core.chars();
    match chars.next() {
        Some('/') => chars.as_str().starts_with(|c: char| c.is_alphanumeric() || matches!(c, '.' | '_')),
        Some('.' | '~') => core.trim_start_matches(['.', '~']).starts_with('/'),
        Some(c) => c.is_ascii_alphabetic() && drive(chars.as_str()),
        None => false,
    }
}

fn is_ipv6(core: &str) -> bool {
    let address = core.split(['/', '%', ']']).next().unwrap_or_default();
    address.matches(':').count() >= 2
        && address.bytes().all(|byte| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(line: &str) -> String {
        words(line, 100).join(" ")
    }

    #[test]
    fn variable_parts_become_wildcards() {
        for (line, want) in [
            ("Timed out after 10m0s waiting", "Timed out after <*> waiting"),
            ("Aug 17 17:08:48.006: at least 2 nodes.", "at least <*> nodes."),
            ("2026-11-25T10:00:01.5Z FAIL: no", "no"),
            ("E0428 11:09:24.153464 5331 main.go:44] broken", "<*> main.go:<*>] broken"),
            ("dial tcp 10.96.0.1:443: connect: connection refused", "dial tcp <*>: connect: connection refused"),
            ("dial tcp [fd00::a]:443: i/o timeout", "dial tcp <*>: i/o timeout"),
            ("Get \"https://10.0.0.1/api?limit=5\": EOF", "<*>: EOF"),
            ("Get https://10.0.0.1/api?limit=5: EOF", "<*>: EOF"),
            ("GET /healthz took 3 ms, not 1 s", "GET <*> took <*>, not <*>"),
            ("open /tmp/pytest-of-root/x.txt: no such file", "open <*>: no such file"),
            ("open C:\\Temp\\x.txt failed", "open <*> failed"),
            ("pod web-7d4b9c6f5-x2x4z in e2e-tests-dns-4711", "pod <*> in <*>"),
            ("pod coredns-bxkqz of kube-system/kube-proxy", "pod <*> of <*>"),
            ("worker-1, worker-2, worker-3: gone", "<*>: gone"),
            ("on node7 and sdb1", "on node<*> and sdb<*>"),
            ("sqlite3.OperationalError: x509: [Errno 28] sha1", "sqlite3.OperationalError: x509: [Errno 28] sha<*>"),
            ("uid 6f1c2d3e-1a2b-4c5d-8e9f-001122334455 at 0xc0002a", "uid <*> at <*>"),
            ("commit 9125d4a3 of deadbeef", "commit <*> of deadbeef"),
            ("used 2Gi of 512MiB, 99.5%", "used <*> of <*>"),
            ("want [3] got (2)", "want <*> got <*>"),
            ("image registry.k8s.io/pause:3.9 v1.30.2", "image <*>"),
            ("expected: <0> but was: <true>", "expected: <*> but was: <true>"),
            ("Reason=\"\" readiness=false", "Reason=<*> readiness=false"),
        ] {
            assert_eq!(text(line), want, "{line}");
        }
    }

    #[test]
    fn text_without_variable_parts_is_unchanged() {
        for line in [
            "the server could not find the requested resource",
            "couldn't read the pods' logs, it's over",
            "read-only file system on kube-dns and/or non-zero",
            "the status code 503, exit status 1 (code=404)",
            "FailedScheduling: Insufficient memory",
            "a != b ≠ c",
        ] {
            assert_eq!(text(line), line);
        }
    }

    #[test]
    fn quoted_words_are_values_and_quoted_sentences_are_not() {
        assert_eq!(text("pods \"x\" not found in 'y' or `z`"), "pods <*> not found in <*> or <*>");
        assert_eq!(text("failed with \"quota is gone\""), "failed with quota is gone");
        assert_eq!(text("{\\\"a\\\": 'b \"c\" d'}"), "<*>: b <*> d");
        assert_eq!(text("an open \" quote"), "an open quote");
    }
}
