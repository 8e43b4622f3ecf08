mod store {
    use std::fs;
    use std::time::Duration;

    use super::super::*;

    fn key(n: u8) -> Key {
        Key { engine: [0; 32], component: [n; 32] }
    }

    fn cache(max_bytes: u64) -> (tempfile::TempDir, Cache) {
        let base = tempfile::tempdir().unwrap();
        let cache = Cache::open(&base.path().join("cache"), max_bytes).unwrap();
        (base, cache)
    }

    fn has(cache: &Cache, n: u8) -> bool {
        cache.get(&key(n), |entry| Ok(entry.code.to_vec())).is_some()
    }

    fn age(cache: &Cache, name: &str, seconds: u64) {
        let then = SystemTime::now() - Duration::from_secs(seconds);
        fs::File::options().write(true).open(cache.path.join(name)).unwrap().set_modified(then).unwrap();
    }

    #[test]
    fn the_least_recently_used_entry_is_removed_first() {
        let (_base, cache) = cache(2 * 162);
        for n in 1..=2 {
            cache.put(&key(n), &[n; 50]);
            age(&cache, &key(n).file_name(), 1000 - u64::from(n));
        }
        assert!(has(&cache, 1), "and now it has been used");
        cache.put(&key(3), &[3; 50]);
        assert!(has(&cache, 1) && !has(&cache, 2) && has(&cache, 3));
        cache.put(&key(4), &[4; 1000]);
        assert!(!has(&cache, 4), "larger than the whole cache");
        assert!(has(&cache, 1), "and nothing had to go for it");
    }

    #[test]
    fn files_left_behind_go_in_time() {
        let (_base, cache) = cache(1000);
        for (name, seconds) in [(".new-1-0", 4000), (".new-1-1", 0)] {
            fs::write(cache.path.join(name), "").unwrap();
            age(&cache, name, seconds);
        }
        cache.put(&key(1), b"code");
        assert!(!cache.path.join(".new-1-0").exists());
        assert!(cache.path.join(".new-1-1").exists());
    }

    #[test]
    fn unusable_entries_are_removed() {
        let (_base, cache) = cache(1000);
        cache.put(&key(1), b"code");
        assert_eq!(cache.get(&key(1), |_| Err::<(), _>("the engine does not like it".into())), None);
        assert!(!cache.path.join(key(1).file_name()).exists());
        fs::write(cache.path.join(key(1).file_name()), "rubbish").unwrap();
        assert!(!has(&cache, 1));
        assert!(!cache.path.join(key(1).file_name()).exists());
    }
}

mod entry {
    use proptest::prelude::*;

    use super::super::*;

    const KEY: Key = Key { engine: [1; 32], component: [2; 32] };

    #[test]
    fn what_was_written_is_read() {
        let bytes = Entry::write(&KEY, b"code");
        assert_eq!(Entry::read_verified(&bytes, &KEY).unwrap().code, b"code");
        let name = KEY.file_name();
        assert!(name.starts_with("0101010101010101-0202") && name.ends_with("02.code"), "{name}");
    }

    #[test]
    fn each_difference_is_named() {
        let bytes = Entry::write(&KEY, b"code");
        let read = |key: &Key| Entry::read_verified(&bytes, key).unwrap_err();
        assert_eq!(read(&Key { engine: [9; 32], ..KEY }), EntryError::OtherEngine);
        assert_eq!(read(&Key { component: [9; 32], ..KEY }), EntryError::OtherComponent);
        assert_eq!(Entry::read_verified(b"", &KEY), Err(EntryError::NoEntry));
        assert_eq!(Entry::read_verified(&bytes[..bytes.len() - 1], &KEY), Err(EntryError::Corrupt));
    }

    proptest! {
        #[test]
        fn no_changed_bit_and_no_cut_goes_unnoticed(at in 0usize..1000, bit in 0u8..8, cut in 0usize..1000) {
            let bytes = Entry::write(&KEY, b"some code that is longer than nothing");
            let mut changed = bytes.clone();
            let at = at % changed.len();
            changed[at] ^= 1 << bit;
            prop_assert!(Entry::read_verified(&changed, &KEY).is_err());
            prop_assert!(Entry::read_verified(&bytes[..cut % bytes.len()], &KEY).is_err());
        }
    }
}
