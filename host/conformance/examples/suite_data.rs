//! Generates the lists of tests of the profile of Kubernetes. `cargo xtask suite-data` calls it.
//!
//! The argument is a directory with one subdirectory per version (`v1.37.2`). Each has a
//! `conformance.yaml`. If the suite's program could be built, it also has a `tests.txt` with the
//! output of `e2e.test --list-tests`.

use std::collections::BTreeSet;
use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

use flate2::write::GzEncoder;
use flate2::{Compression, GzBuilder};
use plumbline_conformance::lists::from_program;
use plumbline_conformance::submission::{Release, Required};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let from: PathBuf = env::args_os().nth(1).ok_or("usage: suite_data DIR")?.into();
    let lists = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins/profiles/kubernetes/lists");
    let mut versions: Vec<(Release, String)> = Vec::new();
    for entry in fs::read_dir(&from)? {
        let name = entry?.file_name().into_string().map_err(|name| format!("{} is not a version", name.display()))?;
        versions.push((name.parse()?, name));
    }
    versions.sort();
    let mut tests = Kind::new(&lists.join("tests"))?;
    let mut required = Kind::new(&lists.join("required"))?;
    for (release, version) in versions.into_iter().rev() {
        let printed = from.join(&version);
        if let Ok(text) = fs::read_to_string(printed.join("tests.txt")) {
            let list = from_program(&text, &version, &version)?;
            tests.write(&version, list.specs().map(str::to_owned).collect())?;
        }
        let yaml = fs::read_to_string(printed.join("conformance.yaml"))?;
        required.write(&version, Required::from_yaml(&yaml, release, version.as_str())?.names)?;
    }
    Ok(())
}

/// Lists of one kind, from the newest version to the oldest. The first one is stored in full. The
/// others are stored as differences to the next newer version.
struct Kind {
    directory: PathBuf,
    newer: Option<(String, BTreeSet<String>)>,
}

impl Kind {
    /// Removes the lists in `directory`.
    fn new(directory: &Path) -> Result<Self> {
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "gz") {
                fs::remove_file(path)?;
            }
        }
        Ok(Self { directory: directory.to_owned(), newer: None })
    }

    fn write(&mut self, version: &str, names: BTreeSet<String>) -> Result<()> {
        let mut text = String::new();
        match &self.newer {
            None => names.iter().for_each(|name| text += &format!("{name}\n")),
            Some((newer, there)) => {
                text += &format!("#{newer}\n");
                names.difference(there).for_each(|name| text += &format!("+{name}\n"));
                there.difference(&names).for_each(|name| text += &format!("-{name}\n"));
            }
        }
        // Without a time stamp, the same lists yield the same bytes.
        let mut packed: GzEncoder<Vec<u8>> = GzBuilder::new().write(Vec::new(), Compression::best());
        packed.write_all(text.as_bytes())?;
        let packed = packed.finish()?;
        println!("{}: {} tests, {} bytes", self.directory.join(version).display(), names.len(), packed.len());
        fs::write(self.directory.join(format!("{version}.gz")), packed)?;
        self.newer = Some((version.to_owned(), names));
        Ok(())
    }
}
