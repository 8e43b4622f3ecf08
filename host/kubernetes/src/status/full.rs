//! Stores the full status, compressed, in a ConfigMap, for runs whose status does not fit into the
//! annotation.

use std::io::{BufWriter, Read as _};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::Api;
use plumbline_core::run_status::RunStatus;

use crate::cluster::Cluster;
use crate::error::ClusterError;
use crate::names;

/// The key in the ConfigMap.
const KEY: &str = "status.json.gz";
/// Maximum size of the compressed status: 900 KiB, because an object may have 1 MiB.
const MAX_PACKED_BYTES: usize = 900 << 10;
/// Maximum size of the decompressed status: 64 MiB. Anything larger is not a status.
pub const MAX_FULL_BYTES: u64 = 64 << 20;
/// Maximum size in bytes of the names of failed tests in each entry, if all of them do not fit.
const FEW_NAMES: usize = 1 << 10;

/// Returns the full status, or `None` if there is none. Then the annotation is complete, or another
/// kind of aggregator wrote it.
///
/// # Errors
/// Returns an error if the ConfigMap cannot be read, or does not contain a status.
pub async fn full(cluster: &Cluster, namespace: &str) -> Result<Option<RunStatus>, ClusterError> {
    let api: Api<ConfigMap> = Api::namespaced(cluster.client(), namespace);
    let what = format!("read the status in full from ConfigMap `{}`", names::STATUS_CONFIG_MAP);
    let found = api.get_opt(names::STATUS_CONFIG_MAP).await.map_err(|error| ClusterError::api(&what, &error))?;
    let Some(ByteString(packed)) = found.and_then(|map| map.binary_data).and_then(|mut data| data.remove(KEY)) else {
        return Ok(None);
    };
    unpack(&packed).map(Some).map_err(|cause| ClusterError::new(what, cause))
}

fn unpack(packed: &[u8]) -> Result<RunStatus, String> {
    let mut text = Vec::new();
    let mut reader = GzDecoder::new(packed).take(MAX_FULL_BYTES + 1);
    reader.read_to_end(&mut text).map_err(|error| format!("`{KEY}` is damaged: {error}"))?;
    if text.len() as u64 > MAX_FULL_BYTES {
        return Err(format!("`{KEY}` has more than {} MiB", MAX_FULL_BYTES >> 20));
    }
    serde_json::from_slice(&text).map_err(|error| format!("`{KEY}` is not a status: {error}"))
}

/// Compresses the status. Omits most names of failed tests if it would not fit otherwise.
fn pack(status: &RunStatus) -> Result<Vec<u8>, String> {
    let packed = gzip(status)?;
    if packed.len() <= MAX_PACKED_BYTES {
        return Ok(packed);
    }
    let mut smaller = status.clone();
    for progress in smaller.plugins.iter_mut().flatten().filter_map(|entry| entry.progress.as_mut()) {
        progress.errors.clear();
        progress.trim_names(FEW_NAMES);
    }
    let packed = gzip(&smaller)?;
    let size = packed.len();
    if size <= MAX_PACKED_BYTES {
        Ok(packed)
    } else {
        Err(format!("it has {size} bytes, compressed and without names of tests"))
    }
}

fn gzip(status: &RunStatus) -> Result<Vec<u8>, String> {
    let mut writer = BufWriter::new(GzEncoder::new(Vec::new(), Compression::fast()));
    serde_json::to_writer(&mut writer, status).map_err(|error| error.to_string())?;
    let encoder = writer.into_inner().map_err(|error| error.to_string())?;
    encoder.finish().map_err(|error| error.to_string())
}

/// Returns the ConfigMap with the full status. For 10,000 results this takes milliseconds of CPU
/// time.
pub(super) fn config_map(status: &RunStatus, owner: Option<OwnerReference>) -> Result<ConfigMap, String> {
    Ok(ConfigMap {
        metadata: ObjectMeta {
            name: Some(names::STATUS_CONFIG_MAP.to_owned()),
            labels: Some([(names::COMPONENT_LABEL.to_owned(), names::COMPONENT_VALUE.to_owned())].into()),
            owner_references: owner.map(|owner| vec![owner]),
            ..ObjectMeta::default()
        },
        binary_data: Some([(KEY.to_owned(), ByteString(pack(status)?))].into()),
        ..ConfigMap::default()
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use plumbline_core::ProgressUpdate;
    use plumbline_core::run_status::PluginStatus;

    fn status(entries: usize, name: impl Fn(usize) -> String) -> RunStatus {
        let entry = |n: usize| PluginStatus {
            plugin: "p".to_owned(),
            node: format!("node-{n}"),
            progress: Some(Box::new(ProgressUpdate {
                failures: (0..9).map(|k| name(n * 10 + k)).collect(),
                ..ProgressUpdate::default()
            })),
            ..PluginStatus::default()
        };
        RunStatus { plugins: Some((0..entries).map(entry).collect()), ..RunStatus::default() }
    }

    /// Returns text that does not compress well.
    fn noise(n: usize) -> String {
        (0..40_u64).map(|k| format!("{:x}", (n as u64 * 41 + k).wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect()
    }

    #[test]
    fn ten_thousand_results_fit_and_come_back_as_they_were() {
        let all = status(10_000, |n| format!("[sig-node] a test, number {n}"));
        let packed = pack(&all).unwrap();
        assert!(packed.len() < MAX_PACKED_BYTES, "{}", packed.len());
        assert_eq!(unpack(&packed).unwrap(), all);
    }

    #[test]
    fn names_that_do_not_fit_are_counted() {
        let all = status(1000, noise);
        let back = unpack(&pack(&all).unwrap()).unwrap().plugins.unwrap();
        let progress = back[0].progress.as_ref().unwrap();
        assert!(progress.failures.len() < 9);
        assert_eq!(progress.failed(), 9);
    }

    #[test]
    fn an_invalid_status_is_an_error() {
        assert!(unpack(b"no gzip").unwrap_err().contains("damaged"));
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(b"[1").unwrap();
        assert!(unpack(&encoder.finish().unwrap()).unwrap_err().contains("not a status"));
    }
}
