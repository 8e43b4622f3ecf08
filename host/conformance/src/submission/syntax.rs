//! Whether texts have the form of addresses. Whether anybody answers there is for the network.

/// Whether `text` is the address of a page: `http` or `https`, a host, and nothing that an address cannot have.
pub(super) fn is_url(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")) else { return false };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default();
    let name = host.split(':').next().unwrap_or_default();
    !name.is_empty()
        && is_host(name)
        && !text.chars().any(|c| c.is_whitespace() || c.is_control() || "<>\"{}|\\^`".contains(c))
}

fn is_host(name: &str) -> bool {
    name.split('.').all(|label| !label.is_empty() && label.chars().all(|c| c.is_alphanumeric() || c == '-'))
}

/// Whether `text` is an address for mail: `who@where`, or `Name <who@where>`.
pub(super) fn is_email(text: &str) -> bool {
    let text = text.trim();
    let address = match text.split_once('<') {
        Some((_, rest)) => rest.strip_suffix('>').unwrap_or_default(),
        None => text,
    };
    let Some((who, place)) = address.rsplit_once('@') else { return false };
    let fits = |c: char| c.is_alphanumeric() || "!#$%&'*+-/=?^_`{|}~.".contains(c);
    let dots = who.starts_with('.') || who.ends_with('.') || who.contains("..");
    !who.is_empty() && !dots && who.chars().all(fits) && is_host(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_pages() {
        for good in
            ["https://example.org", "http://example.org:8080/a?b#c", "https://a-b.example/ä", "https://u@example.org/"]
        {
            assert!(is_url(good), "{good}");
        }
        for bad in [
            "",
            "example.org",
            "www.example.org/x",
            "ftp://example.org",
            "https://",
            "https:///x",
            "https://a b",
            "https://a..b",
            "/x",
        ] {
            assert!(!is_url(bad), "{bad}");
        }
    }

    #[test]
    fn addresses_for_mail() {
        for good in ["a@example.org", "a.b+c@example.org", "Some One <a@b.example>"] {
            assert!(is_email(good), "{good}");
        }
        for bad in ["", "a", "@b", "a@", "a b@c.d", "a@b@", "a..b@c.d", "A <a@b.c"] {
            assert!(!is_email(bad), "{bad}");
        }
    }
}
