use std::io::Read as _;

use flate2::write::GzEncoder;
use serde_json::json;
use tar::{Builder, Header};

use plumbline_core::Digest;

use super::*;
use crate::layout::Layout;
use crate::limits::MAX_BLOB_BYTES;
use crate::manifest::{Descriptor, ImageManifest, RawManifest};
use crate::media;
use crate::storage::Storage;

/// Kind of a layer's entry, with its content or target.
enum Is {
    File(&'static str),
    Dir,
    Soft(&'static str),
    Hard(&'static str),
    Fifo,
}

fn layer(entries: &[(&str, Is)]) -> Vec<u8> {
    let mut tar = Builder::new(GzEncoder::new(Vec::new(), flate2::Compression::fast()));
    for (name, is) in entries {
        let mut header = Header::new_gnu();
        header.set_mode(0o755);
        let (kind, content, link) = match is {
            Is::File(content) => (EntryType::Regular, *content, None),
            Is::Dir => (EntryType::Directory, "", None),
            Is::Soft(to) => (EntryType::Symlink, "", Some(to)),
            Is::Hard(to) => (EntryType::Link, "", Some(to)),
            Is::Fifo => (EntryType::Fifo, "", None),
        };
        header.set_entry_type(kind);
        header.set_size(content.len() as u64);
        match link {
            Some(to) => tar.append_link(&mut header, name, to).unwrap(),
            None => tar.append_data(&mut header, name, content.as_bytes()).unwrap(),
        }
    }
    tar.into_inner().unwrap().finish().unwrap()
}

async fn of_bytes(layers: &[Vec<u8>], path: &str) -> Result<String, String> {
    let dir = tempfile::tempdir().unwrap();
    let layout = Layout::create(dir.path()).unwrap();
    let put = |kind: &str, bytes: &[u8]| {
        let descriptor = Descriptor::of(kind, bytes);
        std::fs::write(dir.path().join("blobs/sha256").join(descriptor.digest.hex()), bytes).unwrap();
        descriptor
    };
    let config = json!({"rootfs": {"diff_ids": vec!["x"; layers.len()]}}).to_string();
    let config = put(media::OCI_CONFIG, config.as_bytes());
    let layers = layers.iter().map(|layer| put(media::OCI_LAYER_GZIP, layer)).collect();
    let manifest = RawManifest::write(&ImageManifest::new(None, config, layers));
    let image = Image::read(&Storage::Layout(layout), manifest.unwrap(), None).await.unwrap();
    let mut file = image.file(path).await.map_err(|error| error.cause.to_string())?;
    let mut content = String::new();
    file.read_to_string(&mut content).unwrap();
    Ok(content)
}

async fn of(layers: &[&[(&str, Is)]], path: &str) -> Result<String, String> {
    let layers: Vec<Vec<u8>> = layers.iter().map(|entries| layer(entries)).collect();
    of_bytes(&layers, path).await
}

#[tokio::test]
async fn the_highest_layer_counts() {
    let found =
        of(&[&[("bin/a", Is::File("low"))], &[("./bin/", Is::Dir), ("./bin/a", Is::File("high"))], &[]], "bin/a");
    assert_eq!(found.await.unwrap(), "high");
    assert_eq!(of(&[&[("bin/a", Is::File("one")), ("bin/a", Is::File("two"))]], "/bin/a").await.unwrap(), "two");
}

#[tokio::test]
async fn a_file_that_a_layer_hides_is_not_found() {
    let low: [(&str, Is); 1] = [("usr/bin/a", Is::File("low"))];
    for gone in ["usr/bin/.wh.a", "usr/.wh.bin", ".wh.usr", "usr/bin/.wh..wh..opq", ".wh..wh..opq"] {
        let message = of(&[&low, &[(gone, Is::File(""))]], "usr/bin/a").await.unwrap_err();
        assert!(message.contains("not found"), "{gone}: {message}");
        // A whiteout applies only to the layers below.
        let same = of(&[&low, &[("usr/bin/a", Is::File("new")), (gone, Is::File(""))]], "usr/bin/a").await;
        assert_eq!(same.unwrap(), "new", "{gone}");
    }
    for other in ["usr/bin/.wh.b", "usr/bin/.wh.a2", "usr/sbin/.wh..wh..opq", "usr/.wh.bi"] {
        assert_eq!(of(&[&low, &[(other, Is::File(""))]], "usr/bin/a").await.unwrap(), "low", "{other}");
    }
    let message = of(&[&low, &[("usr/bin", Is::File("a file now"))]], "usr/bin/a").await.unwrap_err();
    assert!(message.contains("not found"), "{message}");
}

#[tokio::test]
async fn links_are_followed_and_end() {
    let links: &[(&str, Is)] = &[("bin", Is::Soft("usr/bin")), ("usr/bin/a", Is::Soft("../lib/../lib/real"))];
    assert_eq!(of(&[&[("usr/lib/real", Is::File("x"))], links], "bin/a").await.unwrap(), "x");
    assert_eq!(of(&[&[("etc/a", Is::Soft("/../../x"))], &[("x", Is::File("y"))]], "etc/a").await.unwrap(), "y");
    let hard: &[(&str, Is)] = &[("first", Is::File("same")), ("second", Is::Hard("first"))];
    assert_eq!(of(&[hard], "second").await.unwrap(), "same");
    // A layer above deletes the first name. The second name still has the content.
    assert_eq!(of(&[hard, &[(".wh.first", Is::File(""))]], "second").await.unwrap(), "same");
    let message = of(&[&[("a", Is::Soft("b")), ("b", Is::Soft("a"))]], "a").await.unwrap_err();
    assert!(message.contains("links"), "{message}");
    // A directory in a layer above hides a link of the same name.
    let covered = of(&[&[("d", Is::Soft("e")), ("e/a", Is::File("x"))], &[("d", Is::Dir)]], "d/a").await.unwrap_err();
    assert!(covered.contains("not found"), "{covered}");
}

#[tokio::test]
async fn invalid_layers_are_rejected() {
    for (entries, path, expected) in [
        (&[("a", Is::Dir)][..], "a", "not a regular file"),
        (&[("a", Is::Fifo)][..], "a", "not a regular file"),
        (&[("a", Is::File("x"))][..], "../a", "not found"),
        (&[("a", Is::File("x"))][..], "", "not found"),
    ] {
        let message = of(&[entries], path).await.unwrap_err();
        assert!(message.contains(expected), "{path}: {message}");
    }
    let whole = layer(&[("a", Is::File("x"))]);
    for (bytes, expected) in [
        (b"not a tar, and long enough to be a header".repeat(20), "not a readable tar"),
        (vec![0x28, 0xb5, 0x2f, 0xfd, 0], "zstd"),
        (whole[..whole.len() / 2].to_vec(), "tar"),
    ] {
        let message = of_bytes(&[bytes], "a").await.unwrap_err();
        assert!(message.contains(expected), "{message}");
    }
    let long = "d/".repeat(100) + "a";
    assert_eq!(of_bytes(&[layer(&[(&long, Is::File("long"))])], &long).await.unwrap(), "long");
}

#[tokio::test]
async fn layers_have_a_limit_together() {
    let dir = tempfile::tempdir().unwrap();
    let layout = Layout::create(dir.path()).unwrap();
    let config = json!({"rootfs": {"diff_ids": vec!["x"; 5]}}).to_string();
    let descriptor = Descriptor::of(media::OCI_CONFIG, config.as_bytes());
    std::fs::write(dir.path().join("blobs/sha256").join(descriptor.digest.hex()), config).unwrap();
    let layers = vec![Descriptor::new(media::OCI_LAYER_GZIP, Digest::of(b"absent"), MAX_BLOB_BYTES); 5];
    let manifest = RawManifest::write(&ImageManifest::new(None, descriptor, layers)).unwrap();
    let image = Image::read(&Storage::Layout(layout), manifest, None).await.unwrap();
    let error = image.file("a").await.unwrap_err();
    assert!(matches!(*error.cause, Cause::TooLarge(MAX_IMAGE_BYTES)), "{}", error.cause);
}

#[test]
fn searches_have_a_limit_together() {
    let file = NamedTempFile::new().unwrap();
    std::fs::write(file.path(), layer(&[("a", Is::File("x")), ("b", Is::File("y"))])).unwrap();
    // Two entries with a header and a block each, and the end.
    let mut left = 4_000;
    let mut search = || search(file.path(), &["b".into()], &mut HashSet::new(), &mut left);
    assert!(matches!(search(), Ok(LayerEntry::Found(_))));
    assert!(matches!(search(), Err(Cause::TooLarge(MAX_SEARCHED_BYTES))));
}

#[test]
fn fields_of_headers_are_read_or_refused() {
    let read = |text: &str| {
        let mut pending = Pending::default();
        fields(text, &mut pending).map(|()| (pending.name, pending.link))
    };
    assert_eq!(read("12 path=a/b\n").unwrap(), (Some("a/b".into()), None));
    assert_eq!(read("9 mtime=\n14 linkpath=c\n").unwrap(), (None, Some("c".into())));
    assert_eq!(read("14 linkpath=c\n").unwrap(), (None, Some("c".into())));
    for wrong in ["x", "0 a", "99 path=a\n", "11 size=99\n", "22 GNU.sparse.major=1\n", "é"] {
        assert!(read(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn no_damage_to_a_layer_is_more_than_an_error() {
    let entries = [("a/", Is::Dir), ("a/b", Is::Soft("../c")), ("c", Is::File("content")), ("a/.wh.c", Is::File(""))];
    let mut tar = Vec::new();
    flate2::read::GzDecoder::new(layer(&entries).as_slice()).read_to_end(&mut tar).unwrap();
    let file = NamedTempFile::new().unwrap();
    // Test only every eleventh position, because each one writes a file.
    for at in (0..tar.len().min(4096)).step_by(11) {
        for change in [0x01, 0x80, 0xff] {
            let mut damaged = tar.clone();
            damaged[at] ^= change;
            std::fs::write(file.path(), &damaged).unwrap();
            // Any result is fine, as long as it terminates without a panic.
            let _ = search(file.path(), &["a".into(), "b".into()], &mut HashSet::new(), &mut (1 << 30));
        }
    }
}
