//! Property tests for arbitrary bytes and trees.

use std::fs;
use std::num::NonZeroUsize;

use plumbline_archive::extract::{ExtractLimits, extract_tar_gz};
use plumbline_archive::pack::{PackOptions, pack_directory};
use plumbline_archive::results::{ReadLimits, ResultsArchive};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

use crate::make::*;

/// Generates names that are never accidental path prefixes of each other. The first letter
/// distinguishes directories from files.
fn names() -> impl Strategy<Value = String> {
    let base = "[a-zé雪 ._-]{1,40}".prop_map(|name| format!("f{name}"));
    (vec("d[a-c]{0,3}", 0..4), base).prop_map(|(dirs, base)| {
        let mut parts = dirs;
        parts.push(base);
        parts.join("/")
    })
}

fn trees() -> impl Strategy<Value = Tree> {
    let content = prop_oneof![vec(any::<u8>(), 0..600), Just(vec![b'x'; 512]), Just(vec![0; 70_000])];
    btree_map(names(), content.prop_map(Some), 0..12)
}

fn with_directories(tree: &Tree) -> Tree {
    let mut all = tree.clone();
    for name in tree.keys() {
        for (at, _) in name.match_indices('/') {
            all.insert(name[..at].to_owned(), None);
        }
    }
    all
}

fn small() -> ExtractLimits {
    ExtractLimits { unpacked_bytes: 64 << 10, entries: 20, ..ExtractLimits::default() }
}

/// Generates members with headers of any kind.
fn members() -> impl Strategy<Value = Tar> {
    let kind = prop_oneof![
        Just(FILE),
        Just(DIR),
        Just(SYMLINK),
        Just(PAX),
        Just(PAX_GLOBAL),
        Just(GNU_LONG_NAME),
        Just(GNU_SPARSE),
        any::<u8>()
    ];
    let name = prop_oneof!["[a./]{0,20}".prop_map(String::into_bytes), vec(any::<u8>(), 0..100)];
    let content = prop_oneof![
        vec(any::<u8>(), 0..700),
        "[0-9]{1,2} (path|size|GNU.sparse.[a-z]{1,5})=[./a0-9]{0,5}\n".prop_map(String::into_bytes)
    ];
    (kind, name, content, any::<bool>(), any::<u64>()).prop_map(|(kind, name, content, lies, size)| {
        let size = if lies { size >> (size % 64) } else { content.len() as u64 };
        Tar::new().header(&name, kind, size, b"").content(&content)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_tree_comes_back(tree in trees(), threads in 1usize..4) {
        let (from, to) = (tempfile::tempdir().unwrap(), Destination::new());
        write_tree(from.path(), &tree);
        let options = PackOptions { threads: NonZeroUsize::new(threads).unwrap(), ..PackOptions::default() };
        let (packed, packing) = pack_directory(from.path(), Vec::new(), &options, &mut || false).unwrap();
        let want = with_directories(&tree);
        prop_assert_eq!(packing.entries, want.len() as u64);
        prop_assert_eq!(packing.digest.bytes, packed.len() as u64);
        let extracted = to.extract(&packed, &ExtractLimits::default()).unwrap();
        prop_assert_eq!(extracted.files, tree.len() as u64);
        prop_assert_eq!(self::tree(&to.dest()), want);
    }

    #[test]
    fn any_results_are_read_back(tree in trees(), order in vec(any::<prop::sample::Index>(), 0..20)) {
        let from = tempfile::tempdir().unwrap();
        write_tree(&from.path().join("plugins/p/results/global"), &tree);
        fs::create_dir(from.path().join("meta")).unwrap();
        fs::write(from.path().join("meta/info.json"), r#"{"plugins":["p"]}"#).unwrap();
        let file = from.path().join("out.tar.gz");
        let options = PackOptions { exclude: vec![file.clone()], ..PackOptions::single_threaded() };
        let out = fs::File::create(&file).unwrap();
        pack_directory(from.path(), out, &options, &mut || false).unwrap();

        let mut archive = ResultsArchive::open(&file).unwrap();
        fs::remove_file(&file).unwrap();
        let mut directory = ResultsArchive::open(from.path()).unwrap();
        let names: Vec<String> = directory.files().map(|(name, _)| name.to_owned()).collect();
        prop_assert_eq!(&names, &archive.files().map(|(name, _)| name.to_owned()).collect::<Vec<_>>());
        // In any order, repeatedly.
        for index in order {
            let name = index.get(&names);
            prop_assert_eq!(archive.read(name, 1 << 20).unwrap(), directory.read(name, 1 << 20).unwrap());
        }
    }

    #[test]
    fn any_bytes_end_and_stay_inside(data in vec(any::<u8>(), 0..3000), packed in any::<bool>()) {
        let place = Destination::new();
        let archive = if packed { gz(&data) } else { data };
        let _ = place.extract(&archive, &small());
        let file = place.dest().join("archive");
        fs::write(&file, &archive).unwrap();
        prop_assert!(ResultsArchive::open(&file).is_err());
    }

    #[test]
    fn any_members_end_and_stay_inside(members in vec(members(), 0..6), end in any::<bool>()) {
        let mut tar = Tar::new();
        for member in members {
            tar.0.extend(member.0);
        }
        let archive = gz(&if end { tar.end() } else { tar }.0);
        let place = Destination::new();
        let result = place.extract(&archive, &small());
        let written: usize = tree(&place.dest()).values().flatten().map(Vec::len).sum();
        prop_assert!(written as u64 <= small().unpacked_bytes);
        if let Ok(extracted) = result {
            prop_assert!(extracted.bytes >= written as u64);
        }
        let file = place.outside().join("archive");
        fs::write(&file, &archive).unwrap();
        let limits = ReadLimits { entries: 20, unpacked_bytes: 64 << 10 };
        if let Ok(mut results) = ResultsArchive::open_with(&file, &limits) {
            let names: Vec<String> = results.files().map(|(name, _)| name.to_owned()).collect();
            for name in names {
                results.read(&name, u64::MAX).unwrap();
            }
        }
    }

    #[test]
    fn an_interrupted_source_changes_nothing(tree in trees(), step in 1usize..700) {
        /// Returns a few bytes at a time.
        struct Slow<'a>(&'a [u8], usize);
        impl std::io::Read for Slow<'_> {
            fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
                let most = out.len().min(self.1);
                std::io::Read::read(&mut self.0, &mut out[..most])
            }
        }
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        write_tree(from.path(), &tree);
        let options = PackOptions::single_threaded();
        let (packed, _) = pack_directory(from.path(), Vec::new(), &options, &mut || false).unwrap();
        extract_tar_gz(Slow(&packed, step), to.path(), &ExtractLimits::default()).unwrap();
        prop_assert_eq!(self::tree(to.path()), with_directories(&tree));
    }
}
