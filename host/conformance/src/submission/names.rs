//! Test names as the verifier compares them.

use std::borrow::Cow;

/// Tag of every test of the conformance suite. Other tests are ignored.
pub const CONFORMANCE: &str = "[Conformance]";

/// Prefix of names since Ginkgo 2.
const PREFIX: &str = "[It] ";

/// Escapes that remain after decoding XML, because reporters escape twice.
const LEFT_OVER: [(&str, &str); 3] = [("&#39;", "'"), ("&#34;", "\""), ("&gt;", ">")];

/// The list and the suite used different quotes in one name.
const OTHER_QUOTES: (&str, &str) = ("'cat /tmp/health'", "\"cat /tmp/health\"");

/// Returns the name that is compared with the required names.
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
            // Only once, and only at the start.
            ("[It] [It] a", "[It] a"),
            ("a [It] b &amp; &lt;", "a [It] b &amp; &lt;"),
            ("[It]a", "[It]a"),
        ] {
            assert_eq!(cleaned(name), want);
        }
    }
}
