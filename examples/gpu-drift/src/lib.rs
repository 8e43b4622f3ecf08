//! A check of a node: its GPUs and other accelerators, with their drivers and NUMA nodes.
//!
//! Each device is an item, and its facts are metadata. A device fails if no driver is bound to it,
//! or if it is not as the options say. A fact that cannot be read makes it `unknown`. A node without
//! devices is `skipped`, unless the option `devices` expects some.
//!
//! As a summarizer, the module compares the facts of all nodes. The item `drift` has a child for
//! each fact that differs, with the majority's value and the nodes that differ.
#![forbid(unsafe_code)]

mod device;
mod summary;

use std::collections::BTreeMap;

use plumbline_drift_common::DriftStatus;
use plumbline_sdk::context::FileError;
use plumbline_sdk::{Checker, Context, Item, Output, PluginInfo, Status};
use serde::Deserialize;

use crate::device::Device;

/// The directory with a link for each PCI device.
const DEVICES: &str = "/sys/bus/pci/devices";
/// The item about the number of devices of a node.
const COUNT: &str = "devices";
/// The maximum number of devices. A node has some hundred, most of them no GPUs.
const MAX_DEVICES: usize = 4096;

/// The check. The documentation of the crate describes it.
#[derive(Debug, Clone, Copy)]
pub struct GpuDrift;

/// The options of the definition.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
struct Options {
    /// The number of devices that each node must have.
    devices: Option<u64>,
    /// The version that a driver must have, by its name, such as `nvidia`.
    driver_versions: BTreeMap<String, String>,
    /// Whether each device must belong to a NUMA node.
    numa: bool,
    /// The status of a fact that differs between nodes.
    drift: DriftStatus,
}

impl Checker for GpuDrift {
    fn run(plugin: &PluginInfo, context: &mut Context, out: &mut Output) -> Result<(), String> {
        let options: Options = plugin.options()?;
        let entries = match context.read_dir(DEVICES) {
            Ok(entries) => entries,
            // A machine without a PCI bus has no such directory.
            Err(error @ FileError::NotFound { .. }) if options.devices.is_none() => {
                out.emit(Item::new(0, COUNT).status(Status::Skipped).text("skipped", error.to_string()));
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        if entries.len() > MAX_DEVICES {
            return Err(format!("`{DEVICES}` has more than {MAX_DEVICES} devices"));
        }
        let (mut found, mut unreadable, total) = (0, 0, entries.len() as u64);
        for (done, entry) in (1..).zip(entries) {
            match Device::read(context, &format!("{DEVICES}/{}", entry.name)) {
                Ok(None) => {}
                Ok(Some(device)) => {
                    found += 1;
                    out.emit(item(&entry.name, &device, &options));
                }
                Err(error) => {
                    unreadable += 1;
                    out.emit(Item::new(0, &*entry.name).status(Status::Unknown).meta("error", error.to_string()));
                }
            }
            context.progress(done, total, entry.name);
        }
        if let Some(item) = count(found, unreadable, options.devices) {
            out.emit(item);
        }
        Ok(())
    }
}

/// Returns the item about the number of devices, if there is something to say.
fn count(found: u64, unreadable: u64, want: Option<u64>) -> Option<Item> {
    let item = Item::new(0, COUNT).meta("count", found.to_string());
    match want {
        // Any of these may be a device that counts.
        Some(_) if unreadable > 0 => {
            let error = format!("{unreadable} devices cannot be read");
            Some(item.status(Status::Unknown).meta("error", error))
        }
        Some(want) if want == found => Some(item.status(Status::Passed)),
        Some(want) => Some(item.status(Status::Failed).text("failure", format!("want {want} devices, got {found}"))),
        None if found + unreadable == 0 => {
            Some(item.status(Status::Skipped).text("skipped", "the node has no GPU or accelerator"))
        }
        None => None,
    }
}

fn item(address: &str, device: &Device, options: &Options) -> Item {
    let facts = device.facts();
    let item = facts.into_iter().fold(Item::new(0, address), |item, (key, value)| item.meta(key, value));
    let problems = problems(device, options);
    if problems.is_empty() {
        item.status(Status::Passed)
    } else {
        item.status(Status::Failed).text("failure", problems.join("; "))
    }
}

fn problems(device: &Device, options: &Options) -> Vec<String> {
    let mut problems = Vec::new();
    match &device.driver {
        None => problems.push("no driver is bound to the device".to_owned()),
        Some(driver) => {
            let got = device.driver_version.as_deref().unwrap_or("no version");
            if let Some(want) = options.driver_versions.get(driver).filter(|want| *want != got) {
                problems.push(format!("want version {want} of the driver `{driver}`, got {got}"));
            }
        }
    }
    if options.numa && device.numa_node.is_none() {
        problems.push("the device belongs to no NUMA node".to_owned());
    }
    problems
}

plumbline_sdk::module! {
    name: "gpu-drift",
    formats: [],
    default_files: [],
    schema: {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "devices": { "type": "integer", "minimum": 0, "description": "The number of devices that each node must have." },
            "driver-versions": {
                "type": "object",
                "description": "The version that a driver must have, by its name.",
                "additionalProperties": { "type": "string" }
            },
            "numa": { "type": "boolean", "description": "Whether each device must belong to a NUMA node." },
            "drift": {
                "enum": ["warn", "fail"],
                "description": "Whether a fact that differs between nodes is a warning, or fails the run."
            }
        },
        "additionalProperties": false
    },
    rights: { "files": ["/sys"] },
    summarizer: GpuDrift,
    check: GpuDrift,
}
