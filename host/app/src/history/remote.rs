//! Archives that are not on this machine: in buckets and in registries. They are downloaded one by
//! one, and not kept.

use std::ffi::OsString;
use std::path::Path;

use plumbline_aggregator::bucket::{Bucket, BucketError};
use plumbline_archive::finished::is_archive_name;
use plumbline_registry::{Reference, StoredResults, list_results};

use crate::attest::client;
use crate::context::Context;
use crate::error::AppError;
use crate::files;
use crate::history::index::FileKey;
use crate::history::scan::unreadable;
use crate::history::store::{COPY, Found, Loaded, LocalCopy, MAX_RUNS, load_remote};
use crate::modules::Limits;
use crate::results::is_archive_file;
use crate::runtime::runtime;
use crate::sources::registry;

/// The most objects of a bucket that are listed.
const MAX_OBJECTS: usize = 100_000;

/// The URL of a source that is not on this machine.
pub(super) fn url_of(source: &Path) -> Option<&str> {
    source.to_str().filter(|text| text.contains("://"))
}

/// Loads the history at a URL.
pub(super) fn load_url(context: &Context, limits: &Limits, url: &str) -> Result<Loaded, AppError> {
    match url.split_once("://") {
        Some(("s3", _)) => load_bucket(context, limits, url),
        Some(_) if Reference::is_meant(url) => load_registry(context, limits, url),
        _ => Err(AppError::usage(format!("`{url}` is not a source of archives"))
            .hint("pass a directory, an archive, a bucket (`s3://BUCKET/PREFIX`) or a repository (`oci://HOST/NAME`)")),
    }
}

fn load_bucket(context: &Context, limits: &Limits, url: &str) -> Result<Loaded, AppError> {
    let failed = |error: &BucketError| {
        let failed = AppError::system(format!("failed to read the archives in `{url}`")).because(error);
        failed.hint("check the URL, and the variables `AWS_…` (docs/history.md)")
    };
    let text = |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
    let settings = std::env::vars_os().filter_map(text).collect();
    let bucket = Bucket::parse(url, &settings).map_err(|error| failed(&error))?;
    let runtime = runtime()?;
    let objects = runtime.block_on(bucket.list(MAX_OBJECTS)).map_err(|error| failed(&error))?;
    let (bucket, runtime) = (&bucket, &runtime);
    let archives = objects.into_iter().filter(|object| is_archive_file(&object.name)).map(|object| {
        let url = bucket.url_of(&object);
        Found {
            key: FileKey { name: object.name.clone(), size: object.size, modified: object.modified },
            shown: url.clone(),
            modified: object.modified,
            open: Box::new(move || {
                let dir = files::scratch()?;
                let copied = runtime.block_on(bucket.download(&object, &dir.path().join(COPY)));
                copied.map(|()| LocalCopy::Object(dir)).map_err(|error| unreadable(&url, &error))
            }),
        }
    });
    load_remote(context, limits, bucket.url(), archives.collect())
}

/// Loads the archives that `results push` stored. A digest identifies each one.
fn load_registry(context: &Context, limits: &Limits, url: &str) -> Result<Loaded, AppError> {
    let reference = registry::reference(url)?;
    let client = client(context)?;
    let runtime = runtime()?;
    let stored = runtime.block_on(list_results(&client, &reference, MAX_RUNS))?;
    let (client, runtime) = (&client, &runtime);
    let archives = stored.into_iter().map(|stored| Found {
        key: key(&stored),
        shown: stored.reference.to_string(),
        modified: 0,
        open: Box::new(move || {
            let blob = runtime.block_on(stored.download(client));
            blob.map(LocalCopy::Blob).map_err(AppError::from)
        }),
    });
    load_remote(context, limits, &reference.to_string(), archives.collect())
}

/// What identifies an archive in a registry: its name there, its size, and the first bytes of its
/// digest in the place of a modification time.
fn key(stored: &StoredResults) -> FileKey {
    let name = stored.name.as_deref().filter(|name| is_archive_name(name));
    let name = name.or(stored.reference.tag()).map_or_else(|| stored.reference.to_string(), str::to_owned);
    let digest = stored.archive.digest.as_bytes().first_chunk().copied().unwrap_or_default();
    FileKey { name, size: stored.archive.size, modified: i64::from_be_bytes(digest) }
}
