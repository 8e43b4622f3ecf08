//! Further facts that matter on a cluster node, under a key of their own.

mod certificates;
mod configuration;
mod kernel;
mod kubelet;
mod resources;
mod runtime;
mod time;

use crate::collector::Collector;

pub(crate) fn gather(collector: &mut Collector<'_>) {
    let names = ["kubelet", "containerd", "crio", "cri-dockerd", "dockerd"];
    let processes = configuration::processes(collector.source, &names);
    kernel::control_groups(collector);
    kubelet::gather(collector, &processes);
    runtime::gather(collector, &processes);
    kernel::modules_and_parameters(collector);
    resources::limits(collector);
    resources::swap(collector);
    time::gather(collector);
    certificates::gather(collector);
    resources::disks(collector);
    resources::pressure(collector);
}
