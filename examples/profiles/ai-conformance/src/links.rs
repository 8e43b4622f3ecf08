//! The evidence that `PRODUCT.yaml` links: URLs, and files of the submission.

use std::collections::BTreeMap;

use crate::artifacts::{JUNIT, LOG, Outcome, RESULTS, Report};
use crate::checklist::Requirement;
use crate::product::{Stated, Statement};

/// Tests that the programme looks for in files which name no test.
const EXPECTED: [&str; 3] = ["TestSecureAcceleratorAccess", "TestGangScheduling", "TestAcceleratorClusterAutoscaling"];

/// Checks the evidence of a statement. Returns what is wrong. `reports` has the files with results
/// of tests that the run got.
pub(crate) fn problems(
    requirement: &Requirement,
    statement: &Statement,
    reports: &BTreeMap<&'static str, Report>,
) -> Vec<String> {
    let problem = |link: &String| problem(requirement, statement.stated, link, reports);
    let named = |why: String| format!("evidence of `{}`: {why}", requirement.id);
    statement.evidence.iter().filter_map(problem).map(named).collect()
}

fn problem(
    requirement: &Requirement,
    stated: Stated,
    link: &str,
    reports: &BTreeMap<&'static str, Report>,
) -> Option<String> {
    if let Some(rest) = link.strip_prefix("https://").or_else(|| link.strip_prefix("http://")) {
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let fits = !host.is_empty() && !link.contains(|c: char| c.is_whitespace() || c.is_control());
        return (!fits).then(|| format!("`{link}` is not a URL with a host"));
    }
    let (path, test) = match link.strip_prefix("file://").unwrap_or(link).split_once('#') {
        Some((path, test)) => (path, Some(test)),
        None => (link.strip_prefix("file://").unwrap_or(link), None),
    };
    let path = in_folder(path);
    let unsafe_part = |part: &str| matches!(part, "" | "." | "..");
    if path.split('/').any(unsafe_part) || path.contains(['\\', ' ']) {
        return Some(format!("`{link}` is neither a URL nor the path of a file in the submission"));
    }
    let base = path.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    let artifact = [JUNIT, RESULTS, LOG].into_iter().find(|name| *name == base)?;
    if path != artifact {
        return Some(format!("`{link}`: the submission has `{artifact}` in its folder"));
    }
    let Some(report) = reports.get(artifact) else {
        return Some(format!("`{link}`: the run got no readable `{artifact}`"));
    };
    // Without a name, the file is evidence of the requirement's test, if the programme expects one.
    let test = test.or(requirement.test.filter(|test| EXPECTED.contains(test)))?;
    match report.outcome_of(test) {
        None => Some(format!("`{artifact}` has no test `{test}`")),
        Some(Outcome::Failed) => Some(format!("test `{test}` failed in `{artifact}`")),
        Some(Outcome::Skipped) if stated == Stated::Implemented => {
            Some(format!("test `{test}` was skipped in `{artifact}`, and the status is `{stated}`"))
        }
        Some(Outcome::Skipped | Outcome::Passed) => None,
    }
}

/// Returns the path in the folder of the submission: links may start with `v1.37/PRODUCT/`.
fn in_folder(path: &str) -> &str {
    let path = path.strip_prefix('/').unwrap_or(path);
    let parts = path.split_once('/').and_then(|(first, rest)| Some((first, rest.split_once('/')?.1)));
    match parts {
        Some((first, rest)) if is_version(first) => rest,
        _ => path,
    }
}

fn is_version(text: &str) -> bool {
    let minor = text.strip_prefix("v1.").unwrap_or_default();
    !minor.is_empty() && minor.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifacts::parse;
    use crate::checklist::Checklist;

    fn problem(id: &str, stated: Stated, link: &str) -> Option<String> {
        let checklist = Checklist::of("1.37").unwrap();
        let (requirement, _) = checklist.requirements().find(|(of, _)| of.id == id).unwrap();
        let log = "--- PASS: TestGangScheduling\n--- SKIP: TestAcceleratorClusterAutoscaling\n--- FAIL: TestA\nFAIL\n";
        let reports = BTreeMap::from([(LOG, parse(LOG, log).unwrap())]);
        let statement = Statement { stated, evidence: vec![link.to_owned()], notes: String::new() };
        problems(requirement, &statement, &reports).pop()
    }

    #[test]
    fn good_links_have_no_problem() {
        for link in [
            "https://docs.example.com/gang#queues",
            "http://docs.example.com",
            "e2e.log",
            "file://e2e.log",
            "file://v1.37/product/e2e.log#TestGangScheduling",
            "gang-scheduling.md",
            "evidence/gang.png",
        ] {
            assert_eq!(problem("gang_scheduling", Stated::Implemented, link), None, "{link}");
        }
        assert_eq!(problem("cluster_autoscaling", Stated::NotApplicable, "e2e.log"), None);
        assert_eq!(problem("ai_inference", Stated::Implemented, "e2e.log"), None);
    }

    #[test]
    fn bad_links_are_named() {
        for (link, part) in [
            ("https://", "is not a URL with a host"),
            ("https://docs.example.com/a b", "is not a URL"),
            ("see the documentation", "is neither a URL nor"),
            ("../other/e2e.log", "is neither a URL nor"),
            ("file://", "is neither a URL nor"),
            ("results/e2e.log", "has `e2e.log` in its folder"),
            ("junit.xml", "the run got no readable `junit.xml`"),
            ("e2e.log#TestA", "test `TestA` failed"),
            ("e2e.log#TestB", "has no test `TestB`"),
        ] {
            let found = problem("gang_scheduling", Stated::Implemented, link).unwrap_or_default();
            assert!(found.contains(part), "{link}: {found}");
        }
        let other = problem("ai_inference", Stated::Implemented, "e2e.log#TestB").unwrap_or_default();
        assert!(other.contains("has no test `TestB`"), "{other}");
        let skipped = problem("cluster_autoscaling", Stated::Implemented, "e2e.log").unwrap_or_default();
        assert!(skipped.contains("was skipped"), "{skipped}");
    }
}
