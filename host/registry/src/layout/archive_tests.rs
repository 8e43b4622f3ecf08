use super::*;

const MARK_TEXT: &[u8] = br#"{"imageLayoutVersion":"1.0.0"}"#;
const INDEX_TEXT: &[u8] = br#"{"schemaVersion":2,"manifests":[]}"#;

struct Tar(Builder<Vec<u8>>);

impl Tar {
    fn new() -> Self {
        Self(Builder::new(Vec::new()))
    }

    fn with(mut self, name: &str, kind: EntryType, size: u64, content: &[u8]) -> Self {
        let mut header = Header::new_ustar();
        // Write the bytes directly, because `set_path` rejects malicious names.
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(kind);
        header.set_size(size);
        header.set_mode(0o644);
        header.set_cksum();
        self.0.append(&header, content).unwrap();
        self
    }

    fn file(self, name: &str, content: &[u8]) -> Self {
        self.with(name, EntryType::Regular, content.len() as u64, content)
    }

    fn open(self) -> Result<OpenedLayout, Cause> {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), self.0.into_inner().unwrap()).unwrap();
        open(file.path(), None)
    }
}

fn error(tar: Tar) -> String {
    tar.open().unwrap_err().to_string()
}

fn blob(content: &[u8]) -> String {
    blob_name(Digest::of(content))
}

#[test]
fn an_archive_is_opened_in_any_order_and_with_other_things_in_it() {
    let tar = Tar::new()
        .file("manifest.json", b"[]")
        .with("blobs/", EntryType::Directory, 0, b"")
        .file(&blob(b"x"), b"x")
        .with("pax", EntryType::XHeader, 3, b"abc")
        .file("./index.json", INDEX_TEXT)
        .file("oci-layout", MARK_TEXT);
    let opened = tar.open().unwrap();
    assert!(opened.layout().entries().unwrap().is_empty());
    assert_eq!(fs::read(opened.layout().blob_path(Digest::of(b"x"))).unwrap(), b"x");
    assert!(!opened.layout().dir().join("manifest.json").exists());
    let dir = opened.layout().dir().to_path_buf();
    drop(opened);
    assert!(!dir.exists());
}

#[test]
fn hostile_archives_are_refused_by_name() {
    let mark = || Tar::new().file("oci-layout", MARK_TEXT).file("index.json", INDEX_TEXT);
    assert!(matches!(mark().file(&blob(b"x"), b"y").open(), Err(Cause::Mismatch { .. })));
    assert!(error(mark().file(&format!("{BLOBS}/../../../evil"), b"y")).contains("invalid digest"));
    assert!(error(mark().file("index.json", INDEX_TEXT)).contains("twice"));
    for kind in [EntryType::Symlink, EntryType::Link, EntryType::Fifo, EntryType::Char, EntryType::GNUSparse] {
        assert!(error(mark().with(&blob(b"x"), kind, 0, b"")).contains("neither a file"), "{kind:?}");
    }
    // A declared size of an exabyte is rejected without reading.
    assert!(error(mark().with(&blob(b"x"), EntryType::Regular, 1 << 60, b"")).contains("too large"));
    assert!(error(mark().with(&blob(b"x"), EntryType::Regular, 4096, b"x")).contains("invalid archive of a layout"));
    assert!(error(Tar::new().with("index.json", EntryType::Regular, 5 << 20, b"")).contains("too large"));
    assert!(error(Tar::new().file("letter.txt", b"dear")).contains("no file `oci-layout`"));

    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), [0x1f, 0x8b, 8, 0]).unwrap();
    assert!(open(file.path(), None).unwrap_err().to_string().contains("gunzip"));
    fs::write(file.path(), vec![b'x'; 2048]).unwrap();
    assert!(open(file.path(), None).unwrap_err().to_string().contains("invalid archive of a layout"));
}

#[test]
fn leftovers_of_killed_processes_are_removed_and_directories_in_use_are_not() {
    let dir = tempfile::tempdir().unwrap();
    let made = |name: &str, old: bool| {
        let path = dir.path().join(name);
        fs::create_dir_all(path.join(BLOBS)).unwrap();
        let there = File::open(&path).unwrap();
        if old {
            there.set_modified(std::time::SystemTime::now() - NEW * 2).unwrap();
        }
        (path, there)
    };
    let (left, _) = made(&format!("{UNPACKED}left"), true);
    let (used, claim) = made(&format!("{UNPACKED}used"), true);
    let (new, _) = made(&format!("{UNPACKED}new"), false);
    let (other, _) = made("other", true);
    claim.try_lock().unwrap();
    sweep(dir.path());
    assert_eq!([left, used, new, other].map(|path| path.exists()), [false, true, true, true]);
}
