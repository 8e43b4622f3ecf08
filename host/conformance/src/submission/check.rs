//! A submission against the rules.

use super::cases::Cases;
use super::contents::{Contents, FoundFile, release_of};
use super::finding::Finding;
use super::place::{FILES, Place};
use super::product::{Product, TYPES};
use super::release::Release;
use super::{PRODUCT, Required, rules};

/// The outermost element that the verifier reads.
const ROOT: &str = "testsuites";

/// Why rules on the pull request are not checked.
const NO_PULL_REQUEST: &str = "it is about the pull request";

/// Holds a submission against every rule, in the verifier's order; those that need the network or the pull request are named, with what to do about them.
#[must_use]
pub fn check(contents: &Contents<'_>) -> Vec<Finding> {
    let release = contents.release();
    let mut findings =
        vec![required_files(contents), no_other_files(contents.files), folder(contents), one_product(contents)];
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
                findings.push(Finding::failed(rule, "there are no results to look at"));
            }
        }
    }
    findings.push(log_version(contents, release));
    findings.extend(pull_request(contents));
    findings
}

fn required_files(contents: &Contents<'_>) -> Finding {
    let found = |name: &str| contents.files.iter().find(|file| file.name() == name);
    let missing: Vec<&str> = FILES.into_iter().filter(|name| found(name).is_none()).collect();
    let empty: Vec<&str> = FILES.into_iter().filter(|name| found(name).is_some_and(|file| file.bytes == 0)).collect();
    let hint = "`plumbline submission assemble` writes all four from the archive of a run";
    if !missing.is_empty() {
        return Finding::failed(rules::REQUIRED_FILES, format!("there is no {}", missing.join(", "))).hint(hint);
    }
    if !empty.is_empty() {
        return Finding::failed(rules::REQUIRED_FILES, format!("there is nothing in {}", empty.join(", "))).hint(hint);
    }
    if let Some(Err(error)) = contents.product.map(Product::parse) {
        return Finding::failed(rules::REQUIRED_FILES, format!("`{PRODUCT}` cannot be read: {error}"));
    }
    if contents.product.is_none() {
        return Finding::failed(rules::REQUIRED_FILES, format!("`{PRODUCT}` is no text, or too large"));
    }
    Finding::passed(rules::REQUIRED_FILES, format!("{} are there", FILES.join(", ")))
}

fn no_other_files(files: &[FoundFile]) -> Finding {
    let others: Vec<&str> =
        files.iter().filter(|file| !FILES.contains(&file.name())).map(|file| file.path.as_str()).collect();
    if others.is_empty() {
        return Finding::passed(rules::NO_OTHER_FILES, "there are no other files");
    }
    let what =
        format!("{} other {}", others.len(), if others.len() == 1 { "file is there" } else { "files are there" });
    Finding::failed(rules::NO_OTHER_FILES, what).hint("remove what is named here").names(others)
}

fn folder(contents: &Contents<'_>) -> Finding {
    let wrong: Vec<&str> = contents.folders().into_iter().filter(|folder| release_of(folder).is_none()).collect();
    if contents.files.is_empty() {
        return Finding::failed(rules::FOLDER, "there are no files");
    }
    if wrong.is_empty() {
        let folders: Vec<&str> = contents.folders().into_iter().collect();
        return Finding::passed(rules::FOLDER, format!("the files stand in {}", folders.join(", ")));
    }
    Finding::failed(rules::FOLDER, "files stand in a folder that is not `vX.YY/product`")
        .hint("name the folder like `v1.36/my-engine`, and put the four files there")
        .names(wrong.into_iter().map(|folder| if folder.is_empty() { "." } else { folder }))
}

fn one_product(contents: &Contents<'_>) -> Finding {
    let folders = contents.folders();
    match folders.len() {
        0 => Finding::failed(rules::ONE_PRODUCT, "there are no files"),
        1 => Finding::passed(rules::ONE_PRODUCT, "there is one product"),
        n => Finding::failed(rules::ONE_PRODUCT, format!("files stand in {n} folders"))
            .hint("every product and version is a submission of its own")
            .names(folders),
    }
}

fn product(text: Option<&str>) -> [Finding; 3] {
    let product = match text.map(Product::parse) {
        Some(Ok(product)) => product,
        _ => {
            return [rules::PRODUCT_FIELDS, rules::PRODUCT_ADDRESSES, rules::PRODUCT_TYPE]
                .map(|rule| Finding::failed(rule, format!("there is no `{PRODUCT}` that can be read")));
        }
    };
    let missing = product.missing();
    let fields = match missing.is_empty() {
        true => Finding::passed(rules::PRODUCT_FIELDS, "all required fields are filled in"),
        false => Finding::failed(
            rules::PRODUCT_FIELDS,
            format!("{} missing or empty", plural(missing.len(), "field is", "fields are")),
        )
        .hint(format!("fill them in in `{PRODUCT}`"))
        .names(missing),
    };
    let malformed = product.malformed();
    let addresses = match malformed.is_empty() {
        true => Finding::passed(rules::PRODUCT_ADDRESSES, "addresses have the form of addresses"),
        false => Finding::failed(
            rules::PRODUCT_ADDRESSES,
            format!("{} no address", plural(malformed.len(), "field is", "fields are")),
        )
        .hint("pages begin with `https://`, and mail goes to `who@where`")
        .names(malformed),
    };
    let known = product.has_known_type();
    let kind = product.get("type");
    let kind = match known {
        true => Finding::passed(rules::PRODUCT_TYPE, format!("the type is `{kind}`")),
        false => Finding::failed(rules::PRODUCT_TYPE, format!("the type `{kind}` is none"))
            .hint(format!("`type` is one of: {}", TYPES.join(", "))),
    };
    [fields, addresses, kind]
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
    .hint("the latest minor version and the two before it are taken")
}

fn results_readable(cases: &Cases) -> Finding {
    let rule = rules::RESULTS_READABLE;
    let again = "take the file as the suite wrote it; a file that was merged from several runs is not one";
    if let Some(problem) = &cases.problem {
        return Finding::failed(rule, format!("the results cannot be read to their end: {problem}")).hint(again);
    }
    if let Some(encoding) = &cases.encoding {
        return Finding::failed(rule, format!("{encoding}: the verifier reads UTF-8 only")).hint(again);
    }
    if let Some(root) = cases.root.as_deref().filter(|root| *root != ROOT) {
        return Finding::failed(rule, format!("the outermost element is `{root}`: the verifier reads `{ROOT}` only"))
            .hint(again);
    }
    if cases.nested() > 0 {
        let what = format!(
            "{} in suites within suites, where the verifier does not look",
            plural(cases.nested() as usize, "case stands", "cases stand")
        );
        return Finding::failed(rule, what).hint(again);
    }
    Finding::passed(rule, format!("{} ran, {} skipped", plural(cases.ran() as usize, "case", "cases"), cases.skipped()))
}

fn required_tests(cases: &Cases, required: Option<&Required>, release: Option<Release>) -> Finding {
    let rule = rules::REQUIRED_TESTS;
    let Some(required) = required else {
        let version = release.map_or_else(|| "this version".to_owned(), |release| release.to_string());
        return Finding::not_checked(rule, format!("it is not known which tests {version} requires"))
            .hint("`--required FILE` takes the `conformance.yaml` of that version of Kubernetes");
    };
    let missing: Vec<&String> = required.names.difference(cases.passed()).collect();
    if missing.is_empty() {
        return Finding::passed(
            rule,
            format!("all {} required tests passed ({})", required.names.len(), required.source),
        );
    }
    let what = format!(
        "{} of {} required tests did not run, or failed ({})",
        missing.len(),
        required.names.len(),
        required.source
    );
    Finding::failed(rule, what)
        .hint("run the suite with `--mode certified-conformance`; a name that is nearly right is a suite of another version")
        .names(missing)
}

fn no_failed_tests(cases: &Cases) -> Finding {
    let rule = rules::NO_FAILED_TESTS;
    let failed = cases.failed();
    if failed.is_empty() {
        return Finding::passed(rule, "no conformance test failed");
    }
    let again = failed.intersection(cases.passed()).count();
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
        (Some(folder), Some(log)) if folder == log => Finding::passed(rule, format!("the log is of {log}")),
        (Some(folder), Some(log)) => Finding::failed(rule, format!("the folder is for {folder}, the log of {log}"))
            .hint("take log and results of one run, and name the folder after its version"),
        (None, _) => Finding::not_checked(rule, "no folder names a version"),
        (_, None) => Finding::not_checked(rule, "the beginning of the log names no version"),
    }
    .ours()
}

fn pull_request(contents: &Contents<'_>) -> [Finding; 4] {
    let place = contents.folders().into_iter().find_map(|folder| {
        let release = release_of(folder)?;
        Place::new(release, folder.split_once('/')?.1).ok()
    });
    let title = place.map_or_else(|| "Conformance results for vX.YY/product".to_owned(), |place| place.title());
    let call = format!("call the pull request `{title}`");
    let told = |rule| Finding::not_checked(rule, NO_PULL_REQUEST).hint(call.clone());
    [
        told(rules::TITLE),
        told(rules::TITLE_FORM),
        told(rules::TITLE_VERSION),
        Finding::not_checked(rules::ONE_COMMIT, NO_PULL_REQUEST)
            .hint("the pull request is one commit with these four files"),
    ]
}

fn plural(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}
