//! Reads the archives in S3-compatible storage (`s3://BUCKET/PREFIX`), where [`crate::deliver`] puts
//! them.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use futures_util::{StreamExt, TryStreamExt};
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};
use plumbline_core::chain;
use plumbline_core::limits::BUCKET_OBJECT_BYTES;
use tokio::fs::File;
use tokio::io::AsyncWriteExt;

use crate::deliver::{DeliverError, bucket_and_prefix};

/// Error while reading a bucket.
#[derive(Debug, thiserror::Error)]
pub enum BucketError {
    /// The URL is not valid.
    #[error(transparent)]
    Address(#[from] DeliverError),
    /// The bucket or an object in it cannot be read.
    #[error("failed to read `{address}`: {cause}")]
    Read {
        /// The URL of the bucket or of the object.
        address: String,
        /// The error of the storage or of the connection, or what is wrong with the object.
        cause: String,
    },
    /// The prefix has too many objects.
    #[error("`{address}` has more than {most} objects")]
    TooMany {
        /// The URL of the bucket.
        address: String,
        /// The limit.
        most: usize,
    },
    /// The copy of the object could not be written.
    #[error("failed to write a copy of `{address}`: {source}")]
    Write {
        /// The URL of the object.
        address: String,
        /// The underlying I/O error.
        source: io::Error,
    },
}

/// An object in a bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BucketObject {
    /// The name, without the prefix.
    pub name: String,
    /// The size in bytes.
    pub size: u64,
    /// The time of the upload in nanoseconds since 1970.
    pub modified: i64,
    key: object_store::path::Path,
}

/// A bucket, or the objects in it whose keys start with a prefix.
#[derive(Debug, Clone)]
pub struct Bucket {
    url: String,
    prefix: String,
    store: Arc<dyn ObjectStore>,
}

impl Bucket {
    /// Parses a URL `s3://BUCKET/PREFIX`. `settings` are the variables of
    /// [`crate::deliver::Destination::parse`] for S3.
    pub fn parse(url: &str, settings: &BTreeMap<String, String>) -> Result<Self, BucketError> {
        let (bucket, prefix, store) = bucket_and_prefix(url, settings)?;
        let url = if prefix.is_empty() { format!("s3://{bucket}") } else { format!("s3://{bucket}/{prefix}") };
        Ok(Self { url, prefix, store })
    }

    /// The URL, without a slash at the end.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The URL of an object.
    pub fn url_of(&self, object: &BucketObject) -> String {
        format!("{}/{}", self.url, object.name)
    }

    /// Lists the objects directly below the prefix. At most `most` objects may be below it in all.
    pub async fn list(&self, most: usize) -> Result<Vec<BucketObject>, BucketError> {
        let prefix = object_store::path::Path::from(self.prefix.as_str());
        let listed: Result<Vec<ObjectMeta>, _> =
            self.store.list(Some(&prefix)).take(most.saturating_add(1)).try_collect().await;
        let listed = listed.map_err(|error| BucketError::Read { address: self.url.clone(), cause: chain(&error) })?;
        if listed.len() > most {
            return Err(BucketError::TooMany { address: self.url.clone(), most });
        }
        let object = |meta: ObjectMeta| {
            let mut below = meta.location.prefix_match(&prefix)?;
            let name = below.next()?.as_ref().to_owned();
            let is_direct = below.next().is_none();
            drop(below);
            let modified = meta.last_modified.timestamp_nanos_opt().unwrap_or_default();
            is_direct.then(|| BucketObject { name, size: meta.size, modified, key: meta.location.clone() })
        };
        Ok(listed.into_iter().filter_map(object).collect())
    }

    /// Copies an object to the new file `to`. An object above [`BUCKET_OBJECT_BYTES`] is not
    /// requested.
    pub async fn download(&self, object: &BucketObject, to: &Path) -> Result<(), BucketError> {
        let failed = |cause: String| BucketError::Read { address: self.url_of(object), cause };
        let size = object.size;
        if size > BUCKET_OBJECT_BYTES {
            return Err(failed(format!("it has {size} bytes, more than {BUCKET_OBJECT_BYTES}")));
        }
        let refused = |error: object_store::Error| failed(chain(&error));
        let changed = || failed("it has changed while it was read".to_owned());
        let unwritten = |source| BucketError::Write { address: self.url_of(object), source };
        let mut content = self.store.get(&object.key).await.map_err(refused)?.into_stream();
        let mut file = File::create_new(to).await.map_err(unwritten)?;
        let mut left = size;
        while let Some(piece) = content.try_next().await.map_err(refused)? {
            left = left.checked_sub(piece.len() as u64).ok_or_else(changed)?;
            file.write_all(&piece).await.map_err(unwritten)?;
        }
        file.flush().await.map_err(unwritten)?;
        if left > 0 { Err(changed()) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use object_store::memory::InMemory;

    use super::*;

    #[tokio::test]
    async fn an_object_that_is_too_large_is_not_downloaded() {
        let dir = tempfile::tempdir().unwrap();
        let to = dir.path().join("copy");
        let bucket = Bucket { url: "s3://b".to_owned(), prefix: String::new(), store: Arc::new(InMemory::new()) };
        let key = object_store::path::Path::from("run.tar.gz");
        let object = |size| BucketObject { name: "run.tar.gz".to_owned(), size, modified: 0, key: key.clone() };
        let error = bucket.download(&object(BUCKET_OBJECT_BYTES + 1), &to).await.unwrap_err().to_string();
        assert!(error.contains("`s3://b/run.tar.gz`: it has 8589934593 bytes"), "{error}");
        // Others are requested. The store has none.
        let error = bucket.download(&object(BUCKET_OBJECT_BYTES), &to).await.unwrap_err();
        assert!(matches!(&error, BucketError::Read { .. }), "{error}");
        assert!(!error.to_string().contains(" bytes"), "{error}");
        assert!(!to.exists());
    }
}
