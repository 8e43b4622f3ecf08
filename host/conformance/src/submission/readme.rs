//! Generator for the `README.md` of a submission, which tells how to reproduce the results.

use std::fmt::Write;

use super::place::SubmissionPath;
use super::product::Product;

/// Facts about the run.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// Location of the submission.
    pub place: &'a SubmissionPath,
    /// The tested product.
    pub product: &'a Product,
    /// Full version that the cluster reports: `v1.30.2-vendor.1`.
    pub kubernetes: &'a str,
    /// The tool that created the archive, with its version.
    pub tool: &'a str,
    /// ID of the run.
    pub run: Option<&'a str>,
    /// Number of tests that ran.
    pub ran: u64,
    /// Number of skipped tests.
    pub skipped: u64,
}

/// Returns the text in Markdown.
#[must_use]
pub fn readme(facts: &Facts<'_>) -> String {
    let get = |field: &str| line(facts.product.get(field));
    let release = facts.place.release();
    let mut text = String::new();
    let name = if get("name").is_empty() { facts.place.product().to_owned() } else { get("name") };
    // The numbers are not known if the results could not be read.
    let known = facts.ran > 0 || facts.skipped > 0;
    let tests = if known { format!("{} ran, {} skipped", facts.ran, facts.skipped) } else { String::new() };
    let _ = writeln!(text, "# Conformance results of {name} for Kubernetes {release}\n");
    let _ = writeln!(text, "| | |\n|---|---|");
    for (title, value) in [
        ("vendor", get("vendor")),
        ("product", name.clone()),
        ("version", get("version")),
        ("Kubernetes", line(facts.kubernetes)),
        ("results by", line(facts.tool)),
        ("run", facts.run.map(line).unwrap_or_default()),
        ("tests", tests),
    ] {
        if !value.is_empty() {
            let _ = writeln!(text, "| {title} | {value} |");
        }
    }
    let docs = get("documentation_url");
    let _ = writeln!(text, "\n## How to have these results again\n");
    let _ = writeln!(
        text,
        "1. Set up a cluster of {name} {} with at least two nodes that pods can run on{}.",
        get("version"),
        if docs.is_empty() { String::new() } else { format!(" (<{docs}>)") }
    );
    let _ = writeln!(text, "2. Point `KUBECONFIG` at it, as a cluster's administrator.");
    let _ = writeln!(
        text,
        "3. Run the suite in the mode that certification asks for, with this folder's `PRODUCT.yaml`:\n"
    );
    let _ = writeln!(
        text,
        "   ```sh\n   plumbline conformance run --mode certified-conformance --submission-dir submission --product PRODUCT.yaml\n   ```\n"
    );
    let _ = writeln!(
        text,
        "4. `submission/{}` then holds `e2e.log` and `junit_01.xml` of the run. To hold them against the rules again:\n",
        facts.place
    );
    let _ = writeln!(text, "   ```sh\n   plumbline submission check submission\n   ```");
    text
}

/// Returns the text on one line, escaped for a table cell.
fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_what_was_tested_and_how() {
        let product = Product::parse(
            b"vendor: A | B\nname: Engine\nversion: 1.30\ndocumentation_url: https://example.org/docs\n",
        )
        .unwrap();
        let place = SubmissionPath::new("v1.30".parse().unwrap(), "engine").unwrap();
        let facts = Facts {
            place: &place,
            product: &product,
            kubernetes: "v1.30.2",
            tool: "Plumbline v0.1.0",
            run: Some("r1"),
            ran: 402,
            skipped: 6799,
        };
        insta::assert_snapshot!(readme(&facts));
    }
}
