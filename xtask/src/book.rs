//! `cargo xtask book`: makes a book from the pages in `docs/`, with mdBook.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::cargo_tool::CargoTool;
use crate::error::Error;
use crate::paths::Workspace;
use crate::process;
use crate::report::print_status;
use crate::steps::Outcome;

/// Without its web server and its search index, which pull in half of its dependencies.
const MDBOOK: CargoTool = CargoTool { program: "mdbook", version: "0.5.4", features: &["--no-default-features"] };

/// Where files of the repository can be read.
const REPOSITORY: &str = "https://github.com/plumbline-dev/plumbline/blob/main/";

/// The list of the book's pages.
const SUMMARY: &str = "SUMMARY.md";

/// The page in the root of the repository that the book includes.
const CONTRIBUTING: &str = "CONTRIBUTING.md";

/// Makes the book, and prints where it is.
pub(crate) fn make(workspace: &Workspace) -> Result<(), Error> {
    build(workspace)?;
    print_status(format_args!("the book is {}", workspace.target().join("book/index.html").display()));
    Ok(())
}

/// Makes the book, and checks that it has every page.
pub(crate) fn check(workspace: &Workspace) -> Result<Outcome, Error> {
    let docs = workspace.root().join("docs");
    let summary = docs.join(SUMMARY);
    let listed = fs::read_to_string(&summary).map_err(Error::io("read", &summary))?;
    let mut pages = BTreeSet::new();
    collect(&docs, "", &mut pages)?;
    pages.retain(|page| page != SUMMARY && !listed.contains(&format!("({page})")));
    if !pages.is_empty() {
        let pages: Vec<_> = pages.into_iter().collect();
        return Err(Error::unexpected(format!("docs/{SUMMARY} does not list {}", pages.join(", "))));
    }
    build(workspace)?;
    Ok(Outcome::Passed)
}

/// Collects the pages below `dir`, relative to `docs/`. `prefix` is the path of `dir` from there.
fn collect(dir: &Path, prefix: &str, pages: &mut BTreeSet<String>) -> Result<(), Error> {
    for entry in fs::read_dir(dir).map_err(Error::io("read", dir))? {
        let path = entry.map_err(Error::io("read", dir))?.path();
        let name = format!("{prefix}{}", path.file_name().unwrap_or_default().to_string_lossy());
        if path.is_dir() {
            collect(&path, &format!("{name}/"), pages)?;
        } else if name.ends_with(".md") {
            pages.insert(name);
        }
    }
    Ok(())
}

fn build(workspace: &Workspace) -> Result<(), Error> {
    let source = workspace.target().join("book-source");
    copy(&workspace.root().join("docs"), &source, "../")?;
    // `contributing.md` includes this file, by the same relative path as in the repository.
    let contributing = workspace.root().join(CONTRIBUTING);
    let text = fs::read_to_string(&contributing).map_err(Error::io("read", &contributing))?;
    let included = workspace.target().join(CONTRIBUTING);
    fs::write(&included, of_the_root(&text)).map_err(Error::io("write", &included))?;
    let mut mdbook = Command::new(MDBOOK.ensure()?);
    mdbook.arg("build").arg(&source).arg("--dest-dir").arg(workspace.target().join("book"));
    process::run_with_output(&mut mdbook)
}

/// Returns a page of the repository's root with links that work in the book.
fn of_the_root(text: &str) -> String {
    let mut parts = text.split("](");
    let mut page = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        page += "](";
        page += &match part.strip_prefix("docs/") {
            Some(of_book) => of_book.to_owned(),
            None if part.starts_with("http") || part.starts_with('#') => part.to_owned(),
            None => format!("{REPOSITORY}{part}"),
        };
    }
    page
}

/// Copies pages. Links to files that are not part of the book lead to the repository. `root` is the
/// relative path from the pages to the root of the repository.
fn copy(from: &Path, to: &Path, root: &str) -> Result<(), Error> {
    fs::create_dir_all(to).map_err(Error::io("create", to))?;
    for entry in fs::read_dir(from).map_err(Error::io("read", from))? {
        let path = entry.map_err(Error::io("read", from))?.path();
        let target = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy(&path, &target, &format!("../{root}"))?;
        } else if path.extension().is_some_and(|extension| extension == "md") {
            let text = fs::read_to_string(&path).map_err(Error::io("read", &path))?;
            let text = text.replace(&format!("]({root}"), &format!("]({REPOSITORY}"));
            fs::write(&target, text).map_err(Error::io("write", &target))?;
        } else {
            fs::copy(&path, &target).map_err(Error::io("write", &target))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_in_directories_are_found() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("sub")).unwrap();
        for file in ["a.md", "sub/b.md", "sub/picture.png"] {
            fs::write(dir.path().join(file), "").unwrap();
        }
        let mut pages = BTreeSet::new();
        collect(dir.path(), "", &mut pages).unwrap();
        assert_eq!(pages.into_iter().collect::<Vec<_>>(), ["a.md", "sub/b.md"]);
    }

    #[test]
    fn links_of_the_included_page_work_in_the_book() {
        let text = "[a](docs/a.md) [d](deploy/README.md) [s](https://example.org)";
        assert_eq!(of_the_root(text), format!("[a](a.md) [d]({REPOSITORY}deploy/README.md) [s](https://example.org)"));
    }

    #[test]
    fn links_out_of_the_book_lead_to_the_repository() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("docs"), dir.path().join("to"));
        fs::create_dir_all(from.join("sub")).unwrap();
        fs::write(from.join("a.md"), "[r](../README.md) [b](sub/b.md)").unwrap();
        fs::write(from.join("sub/b.md"), "[r](../../README.md) [a](../a.md)").unwrap();
        copy(&from, &to, "../").unwrap();
        let text = |file: &str| fs::read_to_string(to.join(file)).unwrap();
        assert_eq!(text("a.md"), format!("[r]({REPOSITORY}README.md) [b](sub/b.md)"));
        assert_eq!(text("sub/b.md"), format!("[r]({REPOSITORY}README.md) [a](../a.md)"));
    }
}
