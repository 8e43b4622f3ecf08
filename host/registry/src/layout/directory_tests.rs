use super::*;
use crate::manifest::ImageManifest;

fn image(layout: &Layout, content: &[u8], subject: Option<Descriptor>) -> RawManifest {
    let mut descriptors = Vec::new();
    for (kind, bytes) in [(media::OCI_EMPTY, &b"{}"[..]), (media::WASM, content)] {
        let file = NamedTempFile::new().unwrap();
        fs::write(file.path(), bytes).unwrap();
        let descriptor = Descriptor::of(kind, bytes);
        layout.put_blob(&descriptor, file.path()).unwrap();
        descriptors.push(descriptor);
    }
    let (config, kind) = (descriptors.remove(0), Some("application/vnd.test"));
    let manifest = ImageManifest { subject, ..ImageManifest::new(kind, config, descriptors) };
    let manifest = RawManifest::write(&manifest).unwrap();
    layout.put_manifest(&manifest).unwrap();
    manifest
}

#[test]
fn stored_images_are_found_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let layout = Layout::create(&dir.path().join("new")).unwrap();
    let (one, two) = (image(&layout, b"one", None), image(&layout, b"two", None));
    layout.list(one.descriptor(), Some("h/n:1")).unwrap();
    layout.list(two.descriptor(), Some("h/n:2")).unwrap();
    // The name moves to another manifest, like a tag.
    layout.list(two.descriptor(), Some("h/n:1")).unwrap();
    let signature = image(&layout, b"signature", Some(two.descriptor()));
    layout.list(signature.descriptor(), None).unwrap();
    layout.list(signature.descriptor(), None).unwrap();

    let layout = Layout::create(layout.dir()).unwrap();
    let names: Vec<_> =
        layout.entries().unwrap().into_iter().map(|entry| (entry.name.unwrap(), entry.descriptor.digest)).collect();
    assert_eq!(names, [("h/n:2".to_owned(), two.digest), ("h/n:1".to_owned(), two.digest)]);
    let belonging: Vec<_> = layout.referrers(two.digest).unwrap().into_iter().map(|one| one.digest).collect();
    assert_eq!(belonging, [signature.digest]);
    assert!(layout.referrers(one.digest).unwrap().is_empty());
    let content = Descriptor::of(media::WASM, b"two");
    assert!(layout.has(&content));
    assert_eq!(fs::read(layout.blob(&content).unwrap()).unwrap(), b"two");
}

#[test]
fn lists_of_referrers_that_repeat_each_other_are_read_once() {
    let dir = tempfile::tempdir().unwrap();
    let layout = Layout::create(dir.path()).unwrap();
    let one = image(&layout, b"one", None);
    let signature = image(&layout, b"signature", Some(one.descriptor()));
    let (tag, mut listed) = (crate::client::fallback_tag(one.digest), signature.descriptor());
    for _ in 0..MAX_DEPTH {
        let index = RawManifest::write(&Index { manifests: vec![listed; 500], ..Index::default() }).unwrap();
        layout.put_manifest(&index).unwrap();
        listed = index.descriptor();
        listed.annotations.insert(media::REF_NAME.into(), tag.clone());
    }
    layout.list(listed, Some(&tag)).unwrap();
    let referrers: Vec<_> = layout.referrers(one.digest).unwrap().into_iter().map(|one| one.digest).collect();
    assert_eq!(referrers, [signature.digest]);
}

#[test]
fn a_layout_that_lies_is_found_out() {
    let dir = tempfile::tempdir().unwrap();
    let layout = Layout::create(dir.path()).unwrap();
    let manifest = image(&layout, b"content", None);
    layout.list(manifest.descriptor(), Some("h/n:1")).unwrap();
    let content = Descriptor::of(media::WASM, b"content");
    let path = layout.blob_path(content.digest);

    fs::write(&path, b"CONTENT").unwrap();
    assert!(matches!(layout.blob(&content), Err(Cause::Mismatch { .. })));
    fs::write(&path, b"content and more").unwrap();
    assert!(matches!(layout.blob(&content), Err(Cause::Size { more: true, .. })));
    fs::remove_file(&path).unwrap();
    assert!(layout.blob(&content).unwrap_err().to_string().contains("is missing from the layout"));
    std::os::unix::fs::symlink("/etc/hostname", &path).unwrap();
    assert!(layout.blob(&content).unwrap_err().to_string().contains("not a regular file"));
    assert!(!layout.has(&content));
    let wrong_size = Descriptor { size: 1, ..manifest.descriptor() };
    assert!(matches!(layout.manifest(&wrong_size), Err(Cause::Size { .. })));
    let wrong_kind = Descriptor { media_type: media::OCI_INDEX.into(), ..manifest.descriptor() };
    assert!(layout.manifest(&wrong_kind).unwrap_err().to_string().contains("but its `mediaType` is"));
    fs::write(layout.blob_path(manifest.digest), b"{}").unwrap();
    assert!(matches!(layout.manifest(&manifest.descriptor()), Err(Cause::Mismatch { .. })));
    fs::write(dir.path().join(INDEX), vec![b' '; 5 << 20]).unwrap();
    assert!(layout.entries().unwrap_err().to_string().contains("more than"));
}

#[test]
fn other_directories_are_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("letter.txt"), b"dear").unwrap();
    assert!(Layout::create(dir.path()).unwrap_err().to_string().contains("other files than a layout"));
    assert!(Layout::open(dir.path()).unwrap_err().to_string().contains("no file `oci-layout`"));
    fs::write(dir.path().join(MARK), br#"{"imageLayoutVersion":"2.0.0"}"#).unwrap();
    assert!(Layout::open(dir.path()).unwrap_err().to_string().contains("version `2.0.0`"));
}

#[test]
fn a_creation_that_was_interrupted_is_completed() {
    let parent = tempfile::tempdir().unwrap();
    // Each step leaves more, and so does a version that wrote an empty marker first.
    type Left = fn(&Path);
    let steps: [Left; 4] = [
        |dir| fs::create_dir_all(dir.join(BLOBS)).unwrap(),
        |dir| drop(unfinished(dir).unwrap().keep().unwrap()),
        |dir| fs::write(dir.join(INDEX), RawManifest::write(&Index::default()).unwrap().bytes).unwrap(),
        |dir| fs::write(dir.join(MARK), "").unwrap(),
    ];
    for count in 1..=steps.len() {
        let dir = parent.path().join(count.to_string());
        steps.iter().take(count).for_each(|step| step(&dir));
        let layout = Layout::create(&dir).unwrap();
        let one = image(&layout, b"one", None);
        layout.list(one.descriptor(), Some("h/n:1")).unwrap();
        assert_eq!(Layout::create(&dir).unwrap().entries().unwrap().len(), 1, "{count} steps");
    }
    // A layout that lost its marker is not replaced.
    let dir = parent.path().join("4");
    fs::remove_file(dir.join(MARK)).unwrap();
    assert!(Layout::create(&dir).unwrap_err().to_string().contains("other files than a layout"));
}

#[test]
fn lists_that_are_written_at_a_time_lose_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let layout = Layout::create(dir.path()).unwrap();
    let one = image(&layout, b"one", None);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (layout, one) = (layout.clone(), one.descriptor());
            scope.spawn(move || {
                for at in 0..25 {
                    layout.list(one.clone(), Some(&format!("h/n:{thread}-{at}"))).unwrap();
                }
            });
        }
    });
    assert_eq!(layout.entries().unwrap().len(), 100);
}

#[test]
fn only_temporary_files_of_killed_writers_are_swept() {
    let dir = tempfile::tempdir().unwrap();
    let layout = Layout::create(dir.path()).unwrap();
    let one = image(&layout, b"one", None);
    layout.list(one.descriptor(), Some("h/n:1")).unwrap();
    // Keep the temporary files, as if the process had been killed.
    let left =
        [dir.path().to_path_buf(), dir.path().join(BLOBS)].map(|dir| unfinished(&dir).unwrap().keep().unwrap().1);
    layout.sweep().unwrap();
    assert!(left.iter().all(|path| !path.exists()));
    assert_eq!(layout.entries().unwrap().len(), 1);
    layout.manifest(&one.descriptor()).unwrap();
}
