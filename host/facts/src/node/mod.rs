//! Further facts that matter on a cluster node, under a key of their own, one subject per file.

use crate::gathering::Collector;

mod certificates;
mod cgroup;
mod disks;
mod flat;
mod kernel;
mod kubelet;
mod limits;
mod pressure;
mod processes;
mod runtime;
mod swap;
mod time;
mod toml;

pub(crate) fn gather(gathering: &mut Collector<'_>) {
    let processes = processes::find(gathering.source, &["kubelet", "containerd", "crio", "cri-dockerd", "dockerd"]);
    cgroup::gather(gathering);
    kubelet::gather(gathering, &processes);
    runtime::gather(gathering, &processes);
    kernel::gather(gathering);
    limits::gather(gathering);
    swap::gather(gathering);
    time::gather(gathering);
    certificates::gather(gathering);
    disks::gather(gathering);
    pressure::gather(gathering);
}
