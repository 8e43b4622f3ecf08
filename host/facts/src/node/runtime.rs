//! The container runtime: its name, version and configuration.

use serde_json::{Map, Value, json};

use super::configuration::{Processes, flatten, option, parse_toml};
use crate::collector::{Collector, present};
use crate::program::version;
use crate::source::{Source, TABLE, Unreadable};

/// A container runtime, and how it is recognized.
struct Runtime {
    name: &'static str,
    program: &'static str,
    /// Its sockets. If one exists, the runtime is running.
    sockets: &'static [&'static str],
    /// Command line options that name its configuration file.
    options: &'static [&'static str],
    files: &'static [&'static str],
    /// The reported parts of its configuration, as dotted keys. None holds a secret, unlike the
    /// credentials of registries.
    keys: &'static [&'static str],
}

/// The runtimes in order of precedence when several are running.
///
/// dockerd brings a containerd along, and a kubelet talks to dockerd through cri-dockerd.
const RUNTIMES: [Runtime; 4] = [
    Runtime {
        name: "cri-o",
        program: "crio",
        sockets: &["/run/crio/crio.sock", "/var/run/crio/crio.sock"],
        options: &["c", "config"],
        files: &["/etc/crio/crio.conf", "/etc/crio/crio.conf.d/10-crio.conf"],
        keys: &[
            "crio.root",
            "crio.runroot",
            "crio.storage_driver",
            "crio.image.pause_image",
            "crio.runtime.cgroup_manager",
            "crio.runtime.conmon_cgroup",
            "crio.runtime.default_runtime",
            "crio.runtime.pids_limit",
            "crio.runtime.selinux",
            "crio.runtime.seccomp_profile",
            "crio.runtime.apparmor_profile",
        ],
    },
    Runtime {
        name: "cri-dockerd",
        program: "cri-dockerd",
        sockets: &["/run/cri-dockerd.sock"],
        options: &[],
        files: &[],
        keys: &[],
    },
    Runtime {
        name: "docker",
        program: "dockerd",
        sockets: &["/run/dockershim.sock", "/var/run/dockershim.sock"],
        options: &["config-file"],
        files: &["/etc/docker/daemon.json"],
        keys: &[
            "data-root",
            "storage-driver",
            "exec-opts",
            "log-driver",
            "log-opts",
            "live-restore",
            "cgroup-parent",
            "default-runtime",
            "iptables",
            "ipv6",
            "mtu",
        ],
    },
    Runtime {
        name: "containerd",
        program: "containerd",
        sockets: &["/run/containerd/containerd.sock", "/run/k3s/containerd/containerd.sock"],
        options: &["c", "config"],
        files: &["/etc/containerd/config.toml", "/var/lib/rancher/k3s/agent/etc/containerd/config.toml"],
        keys: &[
            "version",
            "root",
            "state",
            "disabled_plugins",
            "oom_score",
            "plugins.io.containerd.grpc.v1.cri.sandbox_image",
            "plugins.io.containerd.grpc.v1.cri.enable_selinux",
            "plugins.io.containerd.grpc.v1.cri.max_container_log_line_size",
            "plugins.io.containerd.grpc.v1.cri.containerd.snapshotter",
            "plugins.io.containerd.grpc.v1.cri.containerd.default_runtime_name",
            "plugins.io.containerd.grpc.v1.cri.containerd.runtimes.runc.runtime_type",
            "plugins.io.containerd.grpc.v1.cri.containerd.runtimes.runc.options.SystemdCgroup",
            "plugins.io.containerd.cri.v1.images.snapshotter",
            "plugins.io.containerd.cri.v1.images.pinned_images.sandbox",
            "plugins.io.containerd.cri.v1.runtime.containerd.default_runtime_name",
            "plugins.io.containerd.cri.v1.runtime.containerd.runtimes.runc.options.SystemdCgroup",
        ],
    },
];

/// Names of containerd plugins, which contain dots.
const DOTTED: [&str; 3] = ["io.containerd.grpc.v1.cri", "io.containerd.cri.v1.images", "io.containerd.cri.v1.runtime"];

pub(super) fn gather(collector: &mut Collector<'_>, processes: &Processes) {
    let source = collector.source;
    let runs = |runtime: &&Runtime| {
        processes.contains_key(runtime.program) || runtime.sockets.iter().any(|socket| source.exists(socket))
    };
    let Some(runtime) = RUNTIMES.iter().find(runs) else { return };
    let version = version(collector, "container_runtime", runtime.program, first_version);
    let named = processes.get(runtime.program).and_then(|arguments| option(arguments, runtime.options));
    let file = named.or_else(|| runtime.files.iter().copied().find(|path| source.exists(path)));
    let config = file.and_then(|file| {
        let found = configuration(source, file, runtime.keys);
        collector.keep("plumbline_facts.container_runtime.config", found)
    });
    collector.own(
        "container_runtime",
        present(json!({
            "name": runtime.name,
            "version": version,
            "config": config.unwrap_or_default(),
            "config_file": file,
        })),
    );
}

/// Returns the first word that looks like a version.
///
/// Known answers are `containerd github.com/containerd/containerd v1.7.2 0cae528`, `crio version
/// 1.28.1` and `Docker version 24.0.5, build ced0996`.
fn first_version(answer: &str) -> String {
    let words = answer.split_ascii_whitespace().map(|word| word.trim_end_matches(','));
    let is_version =
        |word: &&str| word.trim_start_matches('v').starts_with(|c: char| c.is_ascii_digit()) && word.contains('.');
    words.into_iter().find(is_version).unwrap_or_default().to_owned()
}

fn configuration(source: &Source, path: &str, keys: &[&str]) -> Result<Map<String, Value>, Unreadable> {
    let text = source.text(path, TABLE)?;
    let value = if path.ends_with(".json") {
        serde_json::from_str(&text).map_err(|error| {
            Unreadable::malformed(path, format!("line {}, column {}: invalid JSON", error.line(), error.column()))
        })?
    } else {
        parse_toml(&text)
    };
    let found = keys.iter().filter_map(|key| Some(((*key).to_owned(), look_up(&value, key)?.clone())));
    Ok(flatten(&found.collect(), keys))
}

/// Returns the value at a dotted key.
fn look_up<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    if key.is_empty() {
        return Some(value);
    }
    let name = DOTTED
        .iter()
        .copied()
        .find(|name| key.starts_with(name))
        .unwrap_or_else(|| key.split('.').next().unwrap_or(key));
    look_up(value.get(name)?, key.get(name.len()..)?.trim_start_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Tree;

    #[test]
    fn versions_of_all_runtimes_are_found() {
        for (answer, want) in [
            ("containerd github.com/containerd/containerd v1.7.2 0cae528\n", "v1.7.2"),
            ("crio version 1.28.1\nVersion: 1.28.1\n", "1.28.1"),
            ("Docker version 24.0.5, build ced0996\n", "24.0.5"),
            ("cri-dockerd 0.3.4 (e88b1605)\n", "0.3.4"),
            ("nothing\n", ""),
        ] {
            assert_eq!(first_version(answer), want);
        }
    }

    #[test]
    fn only_known_keys_of_a_configuration_are_reported() {
        let tree = Tree::new();
        tree.file(
            "/c.toml",
            "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\"]\nsandbox_image = \"pause:3.9\"\n[plugins.\"io.containerd.grpc.v1.cri\".registry.configs.\"r\".auth]\npassword = \"s3cr3t\"\n[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.runc.options]\nSystemdCgroup = true\n",
        );
        tree.file("/d.json", "{\"exec-opts\": [\"native.cgroupdriver=systemd\"], \"proxies\": {\"http\": \"u:p@x\"}}");
        tree.file("/bad.json", "{s3cr3t");
        let source = Source::new(tree.root());
        let [_, _, docker, containerd] = &RUNTIMES;
        assert_eq!(
            Value::from(configuration(&source, "/c.toml", containerd.keys).unwrap()),
            json!({
                "version": 2,
                "plugins.io.containerd.grpc.v1.cri.sandbox_image": "pause:3.9",
                "plugins.io.containerd.grpc.v1.cri.containerd.runtimes.runc.options.SystemdCgroup": true,
            })
        );
        assert_eq!(
            Value::from(configuration(&source, "/d.json", docker.keys).unwrap()),
            json!({"exec-opts": "native.cgroupdriver=systemd"})
        );
        assert!(!configuration(&source, "/bad.json", docker.keys).unwrap_err().to_string().contains("s3cr3t"));
    }
}
