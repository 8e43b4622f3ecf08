//! The lists of tests in the built-in profile of Kubernetes.

use std::fs;
use std::path::Path;

use plumbline_conformance::lists::Embedded;

/// Returns the lists of this kind: `tests` or `required`. `None` if the profile is absent, as the
/// workspace allows.
pub(crate) fn lists(kind: &str) -> Option<Embedded<'static>> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins/profiles/kubernetes/lists").join(kind);
    let Ok(entries) = fs::read_dir(&dir) else {
        eprintln!("SKIPPED: the profile of Kubernetes is not in this workspace");
        return None;
    };
    let list = |path: &Path| -> Option<(&'static str, &'static [u8])> {
        let version = path.file_name()?.to_str()?.strip_suffix(".gz")?.to_owned();
        Some((&*version.leak(), &*fs::read(path).unwrap().leak()))
    };
    let paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    Some(Embedded::new(paths.iter().filter_map(|path| list(path))))
}
