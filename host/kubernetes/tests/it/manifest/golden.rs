//! The printed manifest for every combination of permission mode and driver.

use plumbline_core::config::Permissions;
use plumbline_kubernetes::manifest::to_yaml;
use serde_json::Value;

use super::{DAEMON_SET, JOB, made, options};

#[test]
fn modes_and_drivers() {
    for &mode in Permissions::ALL {
        for (driver, yaml) in [("job", JOB), ("daemonset", DAEMON_SET)] {
            let printed = to_yaml(&made(&options(mode, yaml)));
            insta::assert_snapshot!(format!("{mode}-{driver}"), printed);
        }
    }
}

#[test]
fn printed_manifests_read_back_equal() {
    let objects = made(&options(Permissions::Minimal, DAEMON_SET));
    let read: Vec<Value> = serde_saphyr::from_multiple(&to_yaml(&objects)).unwrap();
    let read: Vec<Value> = read.into_iter().filter(|document| !document.is_null()).collect();
    assert_eq!(read, objects);
}
