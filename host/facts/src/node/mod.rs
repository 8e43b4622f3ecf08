//! What matters on a node of a cluster besides, under our own key, one subject per file.

use crate::gathering::Gathering;

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

pub(crate) fn gather(gathering: &mut Gathering<'_>) {
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
