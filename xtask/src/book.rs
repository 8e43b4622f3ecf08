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

/// Makes the book, and prints where it is.
pub(crate) fn make(workspace: &Workspace) -> Result<(), Error> {
    build(workspace)?;
    print_status(format_args!("the book is {}", workspace.target().join("book/index.html").display()));
    Ok(())
}

/// Makes the book, and checks that it has every page.
pub(crate) fn check(workspace: &Workspace) -> Result<Outcome, Error> {
    let docs = workspace.root().join("docs");
    let summary = docs.join("SUMMARY.md");
    let listed = fs::read_to_string(&summary).map_err(Error::io("read", &summary))?;
    let mut pages = BTreeSet::new();
    for entry in fs::read_dir(&docs).map_err(Error::io("read", &docs))? {
        let name = entry.map_err(Error::io("read", &docs))?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".md") && name != "SUMMARY.md" {
            pages.insert(name);
        }
    }
    pages.retain(|page| !listed.contains(&format!("({page})")));
    if !pages.is_empty() {
        let pages: Vec<_> = pages.into_iter().collect();
        return Err(Error::unexpected(format!("docs/SUMMARY.md does not list {}", pages.join(", "))));
    }
    build(workspace)?;
    Ok(Outcome::Passed)
}

fn build(workspace: &Workspace) -> Result<(), Error> {
    let source = workspace.target().join("book-source");
    copy(&workspace.root().join("docs"), &source, "../")?;
    let mut mdbook = Command::new(MDBOOK.ensure()?);
    mdbook.arg("build").arg(&source).arg("--dest-dir").arg(workspace.target().join("book"));
    process::run_with_output(&mut mdbook)
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
