//! The facts of Ansible's `setup` module in its format.

mod distribution;
mod hardware;
mod kernel;
mod local;
mod network;
mod storage;
mod system;
mod virtualization;

use crate::collector::Collector;

pub(crate) use hardware::{MEMINFO, mebibytes};
pub(crate) use local::gather as gather_local;

pub(crate) fn gather(collector: &mut Collector<'_>) {
    kernel::platform(collector);
    system::names(collector);
    distribution::gather(collector);
    distribution::linux_standard_base(collector);
    hardware::processors(collector);
    hardware::memory(collector);
    hardware::firmware(collector);
    storage::gather(collector);
    kernel::command_line(collector);
    system::clock(collector);
    system::resolver(collector);
    kernel::security(collector);
    let packages = distribution::package_manager(collector.source, collector.text("os_family"));
    collector.set("pkg_mgr", packages);
    collector.set("service_mgr", system::service_manager(collector.source));
    system::user(collector);
    storage::initiators(collector);
    virtualization::gather(collector);
    local::gather(collector);
    // This is last: interface names become fact names, and must not replace any other fact.
    network::gather(collector);
}
