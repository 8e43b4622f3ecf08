//! Upload to S3-compatible storage.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey, Checksum};
use object_store::buffered::BufWriter;
use object_store::path::Path;
use object_store::{Attribute, Attributes, BackoffConfig, ObjectStore, ObjectStoreExt, RetryConfig};
use tokio::io::AsyncWriteExt;

use crate::deliver::again::again;
use crate::deliver::archive::Archive;
use crate::deliver::error::{DeliverError, chain};

/// Size of one part of a large archive, in bytes. The upload needs twice as much memory.
const PART: usize = 8 << 20;
/// Number of concurrent parts.
const PARALLEL: usize = 2;
/// Maximum number of attempts for the whole archive. Single requests are retried before that.
const ATTEMPTS: usize = 3;
/// Key of the digest in the object's metadata.
const DIGEST: &str = "sha256";

/// A bucket and a prefix in it.
#[derive(Debug)]
pub(crate) struct Bucket {
    name: String,
    prefix: String,
    store: Arc<dyn ObjectStore>,
}

impl Bucket {
    pub(crate) fn new(name: &str, prefix: &str, settings: &BTreeMap<String, String>) -> Result<Self, String> {
        crate::deliver::put::install_crypto();
        let mut builder = AmazonS3Builder::new().with_bucket_name(name).with_checksum_algorithm(Checksum::SHA256);
        for (key, value) in settings {
            // Other settings in a Secret or environment are for other programs.
            if key.starts_with("AWS_")
                && let Ok(key) = key.to_ascii_lowercase().parse::<AmazonS3ConfigKey>()
            {
                builder = builder.with_config(key, value);
            }
        }
        let retry =
            RetryConfig { backoff: BackoffConfig::default(), max_retries: 8, retry_timeout: Duration::from_secs(180) };
        let store = builder.with_retry(retry).build().map_err(|error| chain(&error))?;
        Ok(Self { name: name.to_owned(), prefix: prefix.to_owned(), store: Arc::new(store) })
    }

    pub(crate) async fn deliver(&self, archive: &Archive) -> Result<String, DeliverError> {
        let key =
            if self.prefix.is_empty() { archive.name.clone() } else { format!("{}/{}", self.prefix, archive.name) };
        let address = format!("s3://{}/{key}", self.name);
        let path = Path::from(key);
        again(ATTEMPTS, || self.attempt(archive, &path, &address)).await?;
        Ok(address)
    }

    async fn attempt(&self, archive: &Archive, path: &Path, address: &str) -> Result<(), DeliverError> {
        let unreadable = |source| DeliverError::Read { path: archive.path.display().to_string(), source };
        let refused = |cause: String, transient| DeliverError::Refused {
            address: address.to_owned(),
            attempts: ATTEMPTS,
            cause,
            transient,
        };
        let file = tokio::fs::File::open(&archive.path).await.map_err(unreadable)?;
        let mut file = tokio::io::BufReader::with_capacity(1 << 20, file);
        let attributes = Attributes::from_iter([
            (Attribute::ContentType, "application/gzip".to_owned()),
            (Attribute::Metadata(DIGEST.into()), archive.sha256.clone()),
        ]);
        let mut writer = BufWriter::with_capacity(Arc::clone(&self.store), path.clone(), PART)
            .with_max_concurrency(PARALLEL)
            .with_attributes(attributes);
        // Reading is local, so an error comes from the server.
        let sent = match tokio::io::copy_buf(&mut file, &mut writer).await {
            Ok(_) => writer.shutdown().await,
            Err(error) => {
                // Abort while the writer has not been shut down. Parts that remain are removed by
                // the storage's own rules.
                if let Err(error) = writer.abort().await {
                    tracing::debug!("an unfinished upload may be left at `{address}`: {error}");
                }
                Err(error)
            }
        };
        sent.map_err(|error| {
            let told = chain(&error);
            let transient = !is_final(&told);
            refused(told, transient)
        })?;
        // The server has verified each part. Verify that all of them are there.
        let there = self.store.head(path).await.map_err(|error| refused(chain(&error), true))?;
        if there.size != archive.bytes {
            return Err(refused(format!("{} of {} bytes arrived", there.size, archive.bytes), true));
        }
        Ok(())
    }
}

/// Returns whether retries cannot help, such as for a missing bucket or wrong credentials.
fn is_final(told: &str) -> bool {
    ["403", "404", "401", "NoSuchBucket", "AccessDenied", "InvalidAccessKeyId"].iter().any(|word| told.contains(word))
}
