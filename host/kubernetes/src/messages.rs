//! Every error of this crate, with its hint.

use plumbline_catalogue::{Catalogue, samples};
use plumbline_core::definition::DefinitionError;
use plumbline_core::{CheckRunTooLarge, PluginName};

use crate::chunks::ChunkError;
use crate::driver::DriverError;
use crate::error::ClusterError;
use crate::manifest::ManifestError;
use crate::retrieve::{NotReady, RetrieveError};
use crate::schedule::OverlapError;
use crate::status::StatusError;

fn plugin() -> PluginName {
    "example".parse().unwrap()
}

fn cluster() -> ClusterError {
    ClusterError::new("list nodes", "the connection was lost").hint("try again")
}

#[test]
fn every_error_is_in_the_catalogue() {
    let mut all = Catalogue::default();
    all.add(
        samples!(RetrieveError {
            NotReady { 0 = Box::new(NotReady::NoStatus) }, Cluster { 0 = Box::new(cluster()) }, Command { command, code, stderr },
            Unknown { 0 }, Interrupted { name, have, size, cause, part }, Wrong { name, why, aside }, Stream { 0 },
            Local { what, path, source }, Busy { 0 },
        }),
        RetrieveError::hint,
    );
    let waiting = samples!(NotReady {
        Starting { 0 }, NoStatus {}, Damaged { 0 }, Running { 0 }, PostProcessing {}, Failed { 0 = None }, NoArchive { 0 },
    });
    let waiting = waiting.into_iter().map(|(name, why)| (name, RetrieveError::NotReady(Box::new(why)))).collect();
    all.add(waiting, RetrieveError::hint);
    all.add(
        samples!(StatusError {
            NoNamespace { namespace }, NoPod { namespace }, Pending { pod, namespace, waiting = None, events },
            PodFailed { pod, namespace, why, last = None }, PodUnknown { pod, node, last = None },
            NoAnnotation { pod, namespace, waiting = None }, Damaged { pod, cause }, Cluster { 0 = cluster() },
        }),
        StatusError::hint,
    );
    all.add(
        samples!(ManifestError {
            Name { 0 = "the namespace", 1, 2 }, Definition { 0 = DefinitionError::Empty }, Driver { 0 = DriverError::NoImage(plugin()) },
            Process { 0 = plugin() }, PermissionsAndAccount { 0 = plugin(), 1 }, AccountOfOther { 0 = plugin(), 1, 2 = plugin() },
            ClusterPermissions { 0 = plugin() },
            NoVersion { 0 = plugin(), 1 }, Shape { 0 = plugin(), 1, 2 }, TooLarge { what = "the definition", plugin = plugin(), bytes },
            Chunks { 0 = ChunkError::TooLarge(1 << 30) }, TooManyModules { 0 },
            ScheduleWithoutStorage {}, KeepWithoutVolume {}, Write { 0 },
        }),
        |_| None,
    );
    all.add(
        samples!(ChunkError { Name { 0 = plugin(), 1 }, Size { 0 = plugin(), 1, 2 }, TooLarge { 0 }, Compress { 0 } }),
        |_| None,
    );
    all.add(
        samples!(DriverError {
            Process { 0 = plugin() }, NoImage { 0 = plugin() }, LabelTooLong { label, value }, Type { plugin = plugin(), path, expected },
            ProgressPort { plugin = plugin(), container, port }, SecretReserved { 0 = plugin(), 1 }, ContainerTwice { 0 = plugin(), 1 },
            ContainerReserved { 0 = plugin() }, CheckMissing { 0 = plugin() }, CheckRead { plugin = plugin(), file, cause },
            CheckChunks { 0 = ChunkError::TooLarge(1 << 30) }, CheckRun { plugin = plugin(), error = CheckRunTooLarge { bytes: 1 << 20 } }, CheckFiles { 0 = plugin(), 1 },
        }),
        |_| None,
    );
    all.add(
        samples!(OverlapError { Active { namespace, pod }, Remains { namespace, pods }, Cluster { 0 = cluster() } }),
        |_| None,
    );
    insta::assert_snapshot!("messages", all.text());
}
