//! The facts of Ansible's `setup` module in its format, one subject per file.

mod cmdline;
mod date_time;
mod devices;
mod distribution;
mod dmi;
mod dns;
mod family;
mod initiators;
mod local;
mod lsb;
mod lvm;
mod memory;
mod mounts;
mod names;
mod network;
mod os_release;
mod platform;
mod processor;
mod security;
mod services;
mod user;
mod virtualization;

use crate::gathering::Collector;

pub(crate) use local::gather as gather_local;
pub(crate) use memory::{MEMINFO, mebibytes};
pub(crate) use mounts::{BindMounts, Mount, mounts};

pub(crate) fn gather(gathering: &mut Collector<'_>) {
    platform::gather(gathering);
    names::gather(gathering);
    distribution::gather(gathering);
    lsb::gather(gathering);
    processor::gather(gathering);
    memory::gather(gathering);
    dmi::gather(gathering);
    devices::gather(gathering);
    lvm::gather(gathering);
    mounts::gather(gathering);
    cmdline::gather(gathering);
    date_time::gather(gathering);
    dns::gather(gathering);
    security::gather(gathering);
    services::gather(gathering);
    user::gather(gathering);
    initiators::gather(gathering);
    virtualization::gather(gathering);
    local::gather(gathering);
    // This is last: interface names become fact names, and must not replace any other fact.
    network::gather(gathering);
}
