//! Names of tests, as the verifier compares them.

use std::borrow::Cow;

/// What stands in the name of every test of the conformance suite. Others are not looked at.
pub const CONFORMANCE: &str = "[Conformance]";

/// What Ginkgo puts before names since its second version.
const PREFIX: &str = "[It] ";

/// What is still escaped in names after XML was decoded: reporters escape twice.
const LEFT_OVER: [(&str, &str); 3] = [("&#39;", "'"), ("&#34;", "\""), ("&gt;", ">")];

/// One name was spelt with other quotes in the list than in the suite.
const OTHER_QUOTES: (&str, &str) = ("'cat /tmp/health'", "\"cat /tmp/health\"");

/// The name that is compared with the required ones.
#[must_use]
pub fn cleaned(name: &str) -> Cow<'_, str> {
    let mut name = Cow::Borrowed(name);
    for (from, to) in LEFT_OVER.into_iter().chain([OTHER_QUOTES]) {
        if name.contains(from) {
            name = Cow::Owned(name.replace(from, to));
        }
    }
    match name {
        Cow::Borrowed(name) => Cow::Borrowed(name.strip_prefix(PREFIX).unwrap_or(name)),
        Cow::Owned(name) => Cow::Owned(name.strip_prefix(PREFIX).map(str::to_owned).unwrap_or(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_entities_and_quotes_are_evened_out() {
        for (name, want) in [
            ("[It] [sig] a [Conformance]", "[sig] a [Conformance]"),
            ("[sig] a => b &gt; &#34;c&#34; &#39;d&#39;", "[sig] a => b > \"c\" 'd'"),
            ("[It] exec 'cat /tmp/health' probe", "exec \"cat /tmp/health\" probe"),
            ("[It] exec &#39;cat /tmp/health&#39; probe", "exec \"cat /tmp/health\" probe"),
            // Once, and only where it stands first.
            ("[It] [It] a", "[It] a"),
            ("a [It] b &amp; &lt;", "a [It] b &amp; &lt;"),
            ("[It]a", "[It]a"),
        ] {
            assert_eq!(cleaned(name), want);
        }
    }
}
