//! The names by which the machine identifies itself to storage.

use crate::gathering::Collector;
use crate::source::{SMALL, Source};

const FIBRE_CHANNEL: &str = "/sys/class/fc_host";

pub(super) fn gather(gathering: &mut Collector<'_>) {
    let source = gathering.source;
    let iscsi = line(source, "/etc/iscsi/initiatorname.iscsi", |line| line.strip_prefix("InitiatorName="));
    gathering.set("iscsi_iqn", iscsi);
    let nvme = line(source, "/etc/nvme/hostnqn", |line| line.starts_with("nqn.").then_some(line));
    gathering.set("hostnqn", nvme);
    let ports = source.names(FIBRE_CHANNEL).unwrap_or_default();
    let names = ports.iter().filter_map(|port| source.value(&format!("{FIBRE_CHANNEL}/{port}/port_name")).ok());
    let names: Vec<String> = names.map(|name| name.strip_prefix("0x").unwrap_or(&name).to_owned()).collect();
    gathering.set("fibre_channel_wwn", names);
}

/// Returns the value from the first line that has one, or an empty string if there is none or no
/// such file.
fn line(source: &Source, path: &str, value: impl Fn(&str) -> Option<&str>) -> String {
    let text = source.text(path, SMALL).unwrap_or_default();
    text.lines().find_map(|line| value(line.trim())).unwrap_or_default().to_owned()
}
