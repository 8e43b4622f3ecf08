//! Arguments for the suite's program, which are appended to what is there and never take the place of the address for progress.

/// The variable that holds them.
pub const EXTRA_ARGS: &str = "E2E_EXTRA_ARGS";

/// The variable that says what parts them; a space without it.
pub const EXTRA_ARGS_SEPARATOR: &str = "E2E_EXTRA_ARGS_SEP";

/// The argument that says where progress is told.
pub const PROGRESS_FLAG: &str = "--progress-report-url";

/// The separator that a text stands for: an empty one would part every letter from the next.
fn separator_or_space(separator: &str) -> &str {
    if separator.is_empty() { " " } else { separator }
}

/// `given` with the address of the worker beside the suite, which listens on `port`: in front of the rest, and in the place of such an
/// address with another port. One that leads elsewhere is somebody's wish, and stays.
#[must_use]
pub fn with_progress(given: &str, port: &str, separator: &str) -> String {
    let separator = separator_or_space(separator);
    let local = |word: &str| word.starts_with(&format!("{PROGRESS_FLAG}=http://localhost:"));
    let rest: Vec<&str> = words(given, separator).filter(|word| !local(word)).collect();
    if rest.iter().any(|word| is_progress(word)) {
        return rest.join(separator);
    }
    let own = format!("{PROGRESS_FLAG}=http://localhost:{port}/progress");
    [own.as_str()].into_iter().chain(rest).collect::<Vec<_>>().join(separator)
}

/// `given`, and `more` behind it. An address for progress among `more` takes the place of the one before.
#[must_use]
pub fn appended(given: &str, more: &str, separator: &str) -> String {
    let separator = separator_or_space(separator);
    let another = words(more, separator).any(is_progress);
    let given = words(given, separator).filter(|word| !(another && is_progress(word)));
    given.chain(words(more, separator)).collect::<Vec<_>>().join(separator)
}

fn is_progress(word: &str) -> bool {
    // Go takes one dash as well as two.
    let word = word.strip_prefix("--").or_else(|| word.strip_prefix('-')).unwrap_or(word);
    PROGRESS_FLAG.strip_prefix("--").is_some_and(|flag| word == flag || word.starts_with(&format!("{flag}=")))
}

fn words<'a>(text: &'a str, separator: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(separator).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &str = "--progress-report-url=http://localhost:8099/progress";

    #[test]
    fn the_address_for_progress_is_there_once_and_stays() {
        assert_eq!(with_progress("", "8099", " "), OWN);
        assert_eq!(with_progress("--a --b=1", "8099", " "), format!("{OWN} --a --b=1"));
        assert_eq!(with_progress(&format!("--a {OWN}"), "9000", " "), format!("{} --a", OWN.replace("8099", "9000")));
        let elsewhere = "--progress-report-url=http://collector/p --a";
        assert_eq!(with_progress(elsewhere, "8099", " "), elsewhere);
    }

    #[test]
    fn what_is_given_is_appended() {
        assert_eq!(appended(OWN, "--node-os-distro=windows --a", " "), format!("{OWN} --node-os-distro=windows --a"));
        assert_eq!(appended(OWN, "", " "), OWN);
        assert_eq!(appended("", "--a", " "), "--a");
        assert_eq!(appended(OWN, "-progress-report-url=http://x", " "), "-progress-report-url=http://x");
        assert_eq!(appended(OWN, "--a=b c;--d", ";"), format!("{OWN};--a=b c;--d"));
    }
}
