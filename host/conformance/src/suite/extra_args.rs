//! Additional arguments for the suite's program. They are appended to the existing ones and never
//! lose the URL for progress reports.

/// Variable with the arguments.
pub const EXTRA_ARGS: &str = "E2E_EXTRA_ARGS";

/// Variable with the separator of the arguments. Without it, they are separated by spaces.
pub const EXTRA_ARGS_SEPARATOR: &str = "E2E_EXTRA_ARGS_SEP";

/// Argument with the URL for progress reports.
pub const PROGRESS_FLAG: &str = "--progress-report-url";

/// Returns the separator, or a space if it is empty, because an empty one would split every
/// character.
fn separator_or_space(separator: &str) -> &str {
    if separator.is_empty() { " " } else { separator }
}

/// Returns `given` with the progress URL of the worker next to the suite, which listens on `port`.
/// The URL is added at the front and replaces a local URL with another port. A URL of another host
/// is deliberate and is kept.
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

/// Returns `given` followed by `more`. A progress URL in `more` replaces the one in `given`.
#[must_use]
pub fn appended(given: &str, more: &str, separator: &str) -> String {
    let separator = separator_or_space(separator);
    let another = words(more, separator).any(is_progress);
    let given = words(given, separator).filter(|word| !(another && is_progress(word)));
    given.chain(words(more, separator)).collect::<Vec<_>>().join(separator)
}

fn is_progress(word: &str) -> bool {
    // Go accepts one dash or two.
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
