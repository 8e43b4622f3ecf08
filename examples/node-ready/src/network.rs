//! Rules about the network of the node, and about sockets.
//!
//! In a pod, `/proc/1` is the first process of the node, because the check reads the node's `/proc`.
//! So the files of `/proc/1/net` are those of the node in any pod. The parameters in `/proc/sys/net`
//! and the host name are those of the process that reads them.

use std::collections::BTreeSet;

use plumbline_sdk::Context;
use plumbline_sdk::context::FileError;

use crate::rule::{Outcome, exists, first_line};

/// The sockets of container runtimes, without `/var` before `/run`.
const SOCKETS: [&str; 4] = [
    "/run/containerd/containerd.sock",
    "/run/crio/crio.sock",
    "/run/cri-dockerd.sock",
    "/run/k3s/containerd/containerd.sock",
];
/// The variable with the socket of another container runtime.
const ENDPOINT: &str = "CONTAINER_RUNTIME_ENDPOINT";
/// Files and directories that only a node has: the credentials of its kubelet, and the control groups
/// of its pods.
const SIGNS_OF_A_NODE: [&str; 4] = [
    "/etc/kubernetes/kubelet.conf",
    "/sys/fs/cgroup/kubepods.slice",
    "/sys/fs/cgroup/kubepods",
    "/sys/fs/cgroup/kubelet.slice",
];
/// The maximum length of a host name, because it becomes the value of a label.
const MAX_HOST_NAME: usize = 63;
/// Why nothing is known of the node.
const OTHER_NETWORK: &str = "the check is not in the network of the node: set `hostNetwork: true` in `podSpec`";

pub(crate) fn forwarding(context: &mut Context) -> Result<Outcome, FileError> {
    const FILE: &str = "/proc/1/net/snmp";
    let text = context.read_to_string(FILE)?;
    // A row with names, and one with values.
    let mut rows = text.lines().filter_map(|line| line.strip_prefix("Ip: "));
    let (names, values) = (rows.next().unwrap_or_default(), rows.next().unwrap_or_default());
    let found = names.split(' ').zip(values.split(' ')).find(|(name, _)| *name == "Forwarding");
    Ok(match found.map(|(_, value)| value) {
        Some("1") => Outcome::Passed,
        Some("2") => Outcome::Failed("`net.ipv4.ip_forward` is not 1".to_owned()),
        _ => Outcome::unparsed(FILE),
    })
}

pub(crate) fn bridged_traffic(context: &mut Context) -> Result<Outcome, FileError> {
    let value = first_line(context, "/proc/sys/net/bridge/bridge-nf-call-iptables")?;
    if !is_in_network_of_node(context)? {
        return Ok(Outcome::Unknown(OTHER_NETWORK.to_owned()));
    }
    Ok(Outcome::passed_if(value == "1", || "`net.bridge.bridge-nf-call-iptables` is not 1".to_owned()))
}

pub(crate) fn host_name(context: &mut Context) -> Result<Outcome, FileError> {
    let host = first_line(context, "/proc/sys/kernel/hostname")?;
    if !is_in_network_of_node(context)? {
        return Ok(Outcome::Unknown(OTHER_NETWORK.to_owned()));
    }
    let is_label = |label: &str| {
        let is_allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        !label.is_empty() && !label.starts_with('-') && !label.ends_with('-') && label.bytes().all(is_allowed)
    };
    Ok(if host.len() > MAX_HOST_NAME {
        Outcome::Failed(format!("`{host}` is longer than {MAX_HOST_NAME} characters"))
    } else if host == "localhost" {
        Outcome::Failed("it is `localhost`".to_owned())
    } else {
        Outcome::passed_if(host.split('.').all(is_label), || format!("`{host}` is not a DNS name in lower case"))
    })
}

/// Returns whether this process has the network interfaces of the first process. A pod without
/// `hostNetwork` has others. It also has another host name.
fn is_in_network_of_node(context: &mut Context) -> Result<bool, FileError> {
    Ok(interfaces(context, "self")? == interfaces(context, "1")?)
}

fn interfaces(context: &mut Context, process: &str) -> Result<BTreeSet<String>, FileError> {
    let text = context.read_to_string(&format!("/proc/{process}/net/dev"))?;
    Ok(text.lines().filter_map(|line| line.split_once(':')).map(|(name, _)| name.trim().to_owned()).collect())
}

pub(crate) fn runtime(context: &mut Context) -> Result<Outcome, FileError> {
    const FILE: &str = "/proc/1/net/unix";
    /// What the kernel writes for a socket that listens.
    const LISTENS: &str = "00010000";
    let endpoint = context.env(ENDPOINT).unwrap_or_default();
    let endpoint = without_var(endpoint.strip_prefix("unix://").unwrap_or(&endpoint));
    // Names of sockets may have any bytes.
    let bytes = context.read(FILE)?;
    let text = String::from_utf8_lossy(&bytes);
    if !text.starts_with("Num") {
        return Ok(Outcome::unparsed(FILE));
    }
    let is_runtime = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, _, _, flags, _, _, _, path] = fields.as_slice() else { return false };
        let path = without_var(path);
        *flags == LISTENS && (SOCKETS.contains(&path) || path == endpoint)
    };
    Ok(Outcome::passed_if(text.lines().any(is_runtime), || {
        "no socket of containerd, CRI-O or cri-dockerd found".to_owned()
    }))
}

/// Returns the path without `/var` before `/run`, which is a link.
fn without_var(path: &str) -> &str {
    path.strip_prefix("/var").filter(|rest| rest.starts_with("/run/")).unwrap_or(path)
}

pub(crate) fn api_server_port(context: &mut Context) -> Result<Outcome, FileError> {
    port(context, 6443)
}

pub(crate) fn kubelet_port(context: &mut Context) -> Result<Outcome, FileError> {
    port(context, 10250)
}

fn port(context: &mut Context, port: u16) -> Result<Outcome, FileError> {
    const FILES: [&str; 2] = ["/proc/1/net/tcp", "/proc/1/net/tcp6"];
    let mut is_used = false;
    for (at, file) in FILES.into_iter().enumerate() {
        match context.read_to_string(file) {
            Ok(text) => match has_listener(&text, port) {
                Some(found) => is_used |= found,
                None => return Ok(Outcome::unparsed(file)),
            },
            // A node without IPv6 lacks the second file.
            Err(FileError::NotFound { .. }) if at > 0 => {}
            Err(error) => return Err(error),
        }
    }
    Ok(if !is_used {
        Outcome::Passed
    } else if is_node(context)? {
        Outcome::Skipped("in use, and this machine is a node already".to_owned())
    } else {
        Outcome::Failed("something listens on it".to_owned())
    })
}

/// Returns whether a table of TCP sockets has one that listens on the port. `None` if it is not such a
/// table.
fn has_listener(table: &str, port: u16) -> Option<bool> {
    /// What the kernel writes for a socket that listens.
    const LISTENS: &str = "0A";
    let mut lines = table.lines();
    lines.next().filter(|head| head.contains("local_address"))?;
    let end = format!(":{port:04X}");
    Some(lines.any(|line| {
        // The number, the local address, the remote address, and the state.
        let fields: Vec<&str> = line.split_whitespace().take(4).collect();
        matches!(fields.as_slice(), [_, local, _, state] if local.ends_with(&end) && *state == LISTENS)
    }))
}

fn is_node(context: &mut Context) -> Result<bool, FileError> {
    for sign in SIGNS_OF_A_NODE {
        if exists(context, sign)? {
            return Ok(true);
        }
    }
    Ok(false)
}
