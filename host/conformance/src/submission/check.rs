//! Checks of a submission against the rules.

use super::cases::Cases;
use super::contents::{Contents, FILES, FoundFile, JUNIT, PRODUCT, SubmissionPath, release_of, version_in};
use super::finding::{Finding, rules};
use super::product::{Product, TYPES};
use super::required::{Release, Required};

const FOLDER_HINT: &str = "name the folder like `v1.36/my-engine`, and put the four files there";
const UNREADABLE: &str = "the verifier cannot read the results";
const UNREADABLE_HINT: &str = "rule `results-readable` says why";

/// Why rules about the pull request are not checked.
const NO_PULL_REQUEST: &str = "it is about the pull request";

/// Checks a submission against every rule, in the verifier's order. Rules that need the network or
/// the pull request are reported as not checked, with a hint.
pub fn check(contents: &Contents<'_>) -> Vec<Finding> {
    let release = contents.release();
    let mut findings = vec![required_files(contents)];
    if contents.files.is_empty() {
        let rules = [rules::NO_OTHER_FILES, rules::FOLDER, rules::ONE_PRODUCT];
        findings.extend(rules.map(|rule| Finding::failed(rule, "there are no files")));
    } else {
        findings.extend([no_other_files(contents.files), folder(contents), one_product(contents)]);
    }
    findings.extend(product(contents.product));
    findings.push(addresses_answer());
    findings.push(supported(release));
    match contents.cases {
        Some(cases) => {
            findings.push(results_readable(cases));
            findings.push(required_tests(cases, contents.required, release));
            findings.push(no_failed_tests(cases));
        }
        None => {
            for rule in [rules::RESULTS_READABLE, rules::REQUIRED_TESTS, rules::NO_FAILED_TESTS] {
                findings.push(Finding::failed(rule, format!("missing: {JUNIT}")));
            }
        }
    }
    findings.push(log_version(contents, release));
    findings.push(human_review(contents));
    findings.extend(pull_request(contents));
    findings
}

fn required_files(contents: &Contents<'_>) -> Finding {
    let found = |name: &str| FoundFile::find(contents.files, name);
    let missing: Vec<&str> = FILES.into_iter().filter(|name| found(name).is_none()).collect();
    let empty: Vec<&str> = FILES.into_iter().filter(|name| found(name).is_some_and(|file| file.bytes == 0)).collect();
    let hint = "`plumbline conformance submission assemble` writes all four from the archive of a run";
    if !missing.is_empty() {
        return Finding::failed(rules::REQUIRED_FILES, format!("missing: {}", missing.join(", "))).hint(hint);
    }
    if !empty.is_empty() {
        return Finding::failed(rules::REQUIRED_FILES, format!("empty: {}", empty.join(", "))).hint(hint);
    }
    match contents.product.map(Product::parse) {
        Some(Ok(_)) => Finding::passed(rules::REQUIRED_FILES, format!("{} exist", FILES.join(", "))),
        Some(Err(error)) => Finding::failed(rules::REQUIRED_FILES, format!("failed to read `{PRODUCT}`: {error}"))
            .hint("write it as YAML: a mapping of fields to text"),
        None => Finding::failed(rules::REQUIRED_FILES, format!("missing: {PRODUCT}")).hint(hint),
    }
}

fn no_other_files(files: &[FoundFile]) -> Finding {
    let others: Vec<&str> =
        files.iter().filter(|file| !FILES.contains(&file.name())).map(|file| file.path.as_str()).collect();
    if others.is_empty() {
        return Finding::passed(rules::NO_OTHER_FILES, "there are no other files");
    }
    Finding::failed(rules::NO_OTHER_FILES, format!("found {}", plural(others.len(), "other file", "other files")))
        .hint("remove the files listed here; the case of letters matters in names")
        .names(others)
}

fn folder(contents: &Contents<'_>) -> Finding {
    let wrong: Vec<&str> = contents.folders().into_iter().filter(|folder| version_in(folder).is_none()).collect();
    if wrong.is_empty() {
        let folders: Vec<&str> = contents.folders().into_iter().collect();
        return Finding::passed(rules::FOLDER, format!("the files are in {}", folders.join(", ")));
    }
    Finding::failed(rules::FOLDER, "files are in a folder that is not `vX.YY/product`")
        .hint(FOLDER_HINT)
        .names(wrong.into_iter().map(|folder| if folder.is_empty() { "." } else { folder }))
}

fn one_product(contents: &Contents<'_>) -> Finding {
    let folders = contents.folders();
    match folders.len() {
        1 => Finding::passed(rules::ONE_PRODUCT, "there is one product"),
        n => Finding::failed(rules::ONE_PRODUCT, format!("files are in {n} folders"))
            .hint("every product and version is a submission of its own")
            .names(folders),
    }
}

fn product(content: Option<&[u8]>) -> [Finding; 3] {
    let product = match content.map(Product::parse) {
        Some(Ok(product)) => product,
        _ => {
            return [rules::PRODUCT_FIELDS, rules::PRODUCT_ADDRESSES, rules::PRODUCT_TYPE]
                .map(|rule| Finding::failed(rule, format!("failed to read `{PRODUCT}`")));
        }
    };
    let missing = product.missing();
    let fields = match missing.is_empty() {
        true => Finding::passed(rules::PRODUCT_FIELDS, "all required fields have a value"),
        false => {
            let what = format!("{} no value", plural(missing.len(), "required field has", "required fields have"));
            Finding::failed(rules::PRODUCT_FIELDS, what).hint(format!("set them in `{PRODUCT}`")).names(missing)
        }
    };
    let malformed = product.malformed();
    let addresses = match malformed.is_empty() {
        true => Finding::passed(rules::PRODUCT_ADDRESSES, "URLs and the mail address are well-formed"),
        false => Finding::failed(
            rules::PRODUCT_ADDRESSES,
            format!("{} malformed", plural(malformed.len(), "field is", "fields are")),
        )
        .hint("URLs begin with `https://`; the mail address is `name@domain`; every value is text")
        .names(malformed),
    };
    let kind = product.get("type");
    let kind = match product.has_known_type() {
        true => Finding::passed(rules::PRODUCT_TYPE, format!("the type is `{kind}`")),
        false => Finding::failed(rules::PRODUCT_TYPE, format!("unknown type `{kind}`"))
            .hint(format!("`type` is one of: {}", TYPES.join(", "))),
    };
    [fields, addresses, kind]
}

/// Reports what the verifier accepts but a reviewer would reject.
fn human_review(contents: &Contents<'_>) -> Finding {
    let rule = rules::HUMAN_REVIEW;
    let product = contents.product.and_then(|content| Product::parse(content).ok());
    let mut problems = product.map(|product| product.doubtful()).unwrap_or_default();
    let folders = contents.folders().into_iter().filter(|folder| version_in(folder).is_some());
    problems.extend(
        folders
            .filter(|folder| release_of(folder).is_none())
            .map(|folder| format!("folder `{folder}` is not `vX.YY/product`")),
    );
    if contents.cases.is_some_and(|cases| cases.dry_run) {
        problems.push(format!("`{JUNIT}` is the report of a dry run, in which nothing was tested"));
    }
    if contents.cases.is_some_and(|cases| cases.retries) {
        problems.push(format!("`{JUNIT}` hides failed tests that passed when they ran again (`FlakeAttempts`)"));
    }
    if let Some(cases) = contents.cases.filter(|cases| cases.unread > 0) {
        let unread = usize::try_from(cases.unread).unwrap_or(usize::MAX);
        problems.push(format!(
            "`{JUNIT}` has {} where the verifier does not look: in nested suites, or behind the report",
            plural(unread, "test case", "test cases")
        ));
    }
    if problems.is_empty() {
        return Finding::passed(rule, "nothing else is suspicious").ours();
    }
    Finding::failed(
        rule,
        format!("the verifier accepts {}, but a reviewer would not", plural(problems.len(), "oddity", "oddities")),
    )
    .hint("correct these points; use the results as the suite wrote them")
    .names(problems)
    .ours()
}

fn addresses_answer() -> Finding {
    Finding::not_checked(rules::ADDRESSES_ANSWER, "it needs the network")
        .hint("`website_url`, `repo_url` and `documentation_url` must answer with a page (`text/html`)")
}

fn supported(release: Option<Release>) -> Finding {
    let Some(release) = release else { return Finding::failed(rules::SUPPORTED, "no folder names a version") };
    Finding::not_checked(
        rules::SUPPORTED,
        format!("the network knows which version of Kubernetes is the latest; this is {release}"),
    )
    .hint("only the latest minor version and the two before it are accepted")
}

fn results_readable(cases: &Cases) -> Finding {
    let rule = rules::RESULTS_READABLE;
    if let Some(problem) = &cases.problem {
        return Finding::failed(rule, format!("the verifier cannot read `{JUNIT}`: {problem}"))
            .hint("use the file as the suite wrote it: not merged from several runs, and not a symbolic link");
    }
    Finding::passed(rule, format!("{} ran, {} skipped", plural(cases.ran as usize, "case", "cases"), cases.skipped))
}

/// Hint on how to provide the list of required tests.
const REQUIRED_HINT: &str = "pass the `conformance.yaml` of that Kubernetes version with `--required FILE`, or ask the suite's image with `--required image`";

fn required_tests(cases: &Cases, required: Option<&Required>, release: Option<Release>) -> Finding {
    let rule = rules::REQUIRED_TESTS;
    if cases.problem.is_some() {
        return Finding::failed(rule, UNREADABLE).hint(UNREADABLE_HINT);
    }
    let Some(required) = required else {
        let version = release.map_or_else(|| "this version".to_owned(), |release| release.to_string());
        return Finding::not_checked(rule, format!("the required tests of {version} are not known"))
            .hint(REQUIRED_HINT);
    };
    let missing: Vec<&String> = required.names.difference(&cases.without_failure).collect();
    if let Some(release) = release.filter(|release| *release != required.release) {
        let ran = required.names.len() - missing.len();
        let what = format!(
            "the required tests of {release} are not known; {ran} of the {} of {} ran without failure ({})",
            required.names.len(),
            required.release,
            required.source
        );
        return Finding::not_checked(rule, what).hint(REQUIRED_HINT).names(missing);
    }
    if missing.is_empty() {
        return Finding::passed(
            rule,
            format!("all {} required tests ran without failure ({})", required.names.len(), required.source),
        );
    }
    let what = format!(
        "{} of {} required tests did not run, or failed ({})",
        missing.len(),
        required.names.len(),
        required.source
    );
    Finding::failed(rule, what)
        .hint("run the suite with `plumbline conformance run --submission-dir DIR`; a similar name belongs to a suite of another version")
        .names(missing)
}

fn no_failed_tests(cases: &Cases) -> Finding {
    let rule = rules::NO_FAILED_TESTS;
    if cases.problem.is_some() {
        return Finding::failed(rule, UNREADABLE).hint(UNREADABLE_HINT);
    }
    let failed = &cases.failed;
    if failed.is_empty() {
        return Finding::passed(rule, "no conformance test failed");
    }
    let again = failed.intersection(&cases.passed).count();
    let hint = if again > 0 {
        format!("{again} of them passed at another try, which does not count: submit a run in which all pass at once")
    } else {
        "submit a run in which all pass".to_owned()
    };
    Finding::failed(rule, format!("{} failed", plural(failed.len(), "conformance test", "conformance tests")))
        .hint(hint)
        .names(failed)
}

fn log_version(contents: &Contents<'_>, release: Option<Release>) -> Finding {
    let rule = rules::LOG_VERSION;
    match (release, contents.log.release()) {
        (Some(folder), Some(log)) if folder == log => Finding::passed(rule, format!("the log is from {log}")),
        (Some(folder), Some(log)) => Finding::failed(rule, format!("the folder is for {folder}, the log of {log}"))
            .hint("use the log and results of one run, and name the folder after its version"),
        (None, _) => Finding::not_checked(rule, "no folder names a version"),
        (_, None) => Finding::not_checked(rule, "the first lines of the log have no version"),
    }
    .ours()
}

fn pull_request(contents: &Contents<'_>) -> [Finding; 4] {
    let place = contents.folders().into_iter().find_map(|folder| {
        let release = release_of(folder)?;
        SubmissionPath::new(release, folder.split_once('/')?.1).ok()
    });
    let title = place.map_or_else(|| "Conformance results for vX.YY/product".to_owned(), |place| place.title());
    let call = format!("call the pull request `{title}`");
    let not_checked = |rule| Finding::not_checked(rule, NO_PULL_REQUEST).hint(call.clone());
    [
        not_checked(rules::TITLE),
        not_checked(rules::TITLE_FORM),
        not_checked(rules::TITLE_VERSION),
        Finding::not_checked(rules::ONE_COMMIT, NO_PULL_REQUEST)
            .hint("the pull request is one commit with these four files"),
    ]
}

fn plural(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}
