//! Rules for single fields of a report.

use crate::report::{Implementation, Report};

/// Names of branches. A report is about a snapshot of a project.
const BRANCHES: [&str; 9] = ["main", "master", "head", "trunk", "latest", "dev", "develop", "nightly", "edge"];

/// Values that say nothing.
const PLACEHOLDERS: [&str; 8] = ["-", "?", "n/a", "na", "none", "tbd", "todo", "unknown"];

/// The word of the suite for a version or channel that it could not find out.
const UNDEFINED: &str = "UNDEFINED";

/// Returns what is wrong with the description of the implementation.
pub(crate) fn implementation(fields: &Implementation) -> Vec<String> {
    let Implementation { organization, project, url, version, contact } = fields;
    let mut wrong = Vec::new();
    for (name, value) in [("organization", organization), ("project", project)] {
        if !meaningful(value) {
            wrong.push(format!("`{name}` is `{value}`"));
        }
    }
    if !is_url(url) {
        wrong.push(format!("`url` is `{url}`, and not a URL with `https://`"));
    }
    let plain = version.trim_start_matches("refs/heads/").to_ascii_lowercase();
    if !meaningful(version) || plain.len() < version.len() || BRANCHES.contains(&plain.as_str()) {
        wrong.push(format!("`version` is `{version}`, and not a release, a tag or a commit"));
    } else if !is_file_part(version) {
        wrong.push(format!("`version` is `{version}`, which cannot be a part of a file name"));
    }
    let contacts = contact.as_deref().unwrap_or_default();
    if contacts.is_empty() {
        wrong.push("`contact` is empty".to_owned());
    }
    for contact in contacts.iter().filter(|contact| !is_contact(contact)) {
        wrong.push(format!("`contact` has `{contact}`, and not `@USER`, `@TEAM/NAME`, an email address or a URL"));
    }
    wrong
}

/// Returns what is wrong with the description of the API.
pub(crate) fn api(report: &Report) -> Vec<String> {
    let mut wrong = Vec::new();
    let numbers = report.api.strip_prefix('v').unwrap_or_default();
    if !numbers.starts_with(|c: char| c.is_ascii_digit()) || !numbers.contains('.') {
        wrong.push(match report.api.as_str() {
            UNDEFINED => "the cluster has custom resource definitions of several versions".to_owned(),
            other => format!("`gatewayAPIVersion` is `{other}`"),
        });
    }
    if !["standard", "experimental"].contains(&report.channel.as_str()) {
        wrong.push(match report.channel.as_str() {
            UNDEFINED => "the cluster has custom resource definitions of several channels".to_owned(),
            other => format!("`gatewayAPIChannel` is `{other}`, and not `standard` or `experimental`"),
        });
    }
    if !is_date(&report.date) {
        wrong.push(format!("`date` is `{}`, and not a date as in RFC 3339", report.date));
    }
    wrong
}

/// Returns whether `text` can be a part of a file name.
pub(crate) fn is_file_part(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '+');
    !text.is_empty() && text.chars().all(plain)
}

fn meaningful(text: &str) -> bool {
    let text = text.trim();
    !text.is_empty() && !PLACEHOLDERS.contains(&text.to_ascii_lowercase().as_str())
}

fn is_url(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")).unwrap_or_default();
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    host.contains('.') && !host.starts_with('.') && !text.contains(char::is_whitespace)
}

fn is_contact(text: &str) -> bool {
    let name = |text: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
    };
    match text.split_once('@') {
        Some(("", user)) => user.split('/').all(name) && user.split('/').count() <= 2,
        Some((user, host)) => !user.is_empty() && host.contains('.') && name(host),
        None => is_url(text),
    }
}

/// Returns whether `text` begins as a date and time in RFC 3339 does.
fn is_date(text: &str) -> bool {
    let pattern = "dddd-dd-ddTdd:dd:dd";
    let fits = |(c, p): (char, char)| if p == 'd' { c.is_ascii_digit() } else { c == p };
    text.len() > pattern.len() && text.chars().zip(pattern.chars()).all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(change: impl FnOnce(&mut Implementation)) -> String {
        let text = |text: &str| text.to_owned();
        let mut fields = Implementation {
            organization: text("acme"),
            project: text("gateway"),
            url: text("https://acme.example/gateway"),
            version: text("v2.14.0"),
            contact: Some(vec![text("@acme/maintainers"), text("a.b@acme.example"), text("https://acme.example/new")]),
        };
        change(&mut fields);
        implementation(&fields).join("; ")
    }

    #[test]
    fn each_field_of_the_implementation_needs_a_meaningful_value() {
        assert_eq!(wrong(|_| ()), "");
        assert_eq!(wrong(|fields| fields.organization.clear()), "`organization` is ``");
        assert_eq!(wrong(|fields| fields.project = "TBD".to_owned()), "`project` is `TBD`");
        for url in ["acme", "https://", "https://localhost", "ftp://acme.example"] {
            assert!(wrong(|fields| fields.url = url.to_owned()).starts_with("`url` is "), "{url}");
        }
        for version in ["main", "Master", "refs/heads/v1", "", "unknown"] {
            assert!(wrong(|fields| fields.version = version.to_owned()).contains("not a release"), "{version}");
        }
        assert!(wrong(|fields| fields.version = "a b".to_owned()).contains("file name"));
        for version in ["3.7.13", "v1.0.0-rc.1", "8a3fd1c"] {
            assert_eq!(wrong(|fields| fields.version = version.to_owned()), "", "{version}");
        }
        for contact in ["jane", "@", "@a/b/c", "@a b", "jane@", "@/a"] {
            let message = wrong(|fields| fields.contact = Some(vec![contact.to_owned()]));
            assert!(message.starts_with("`contact` has"), "{contact}");
        }
        assert_eq!(wrong(|fields| fields.contact = None), "`contact` is empty");
        assert_eq!(wrong(|fields| fields.contact = Some(Vec::new())), "`contact` is empty");
    }

    #[test]
    fn a_date_has_a_time() {
        assert!(is_date("2026-07-30T11:47:27+02:00") && is_date("2026-07-30T11:47:27Z"));
        assert!(!is_date("2026-07-30") && !is_date("yesterday") && !is_date("2026-07-30T11:47:27"));
    }
}
