//! What is known of a machine, as plain data.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The facts of a machine, and what could not be found out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Facts {
    /// What was found out.
    #[serde(rename = "ansible_facts", default)]
    pub host: HostFacts,
    /// What was not, in the order in which it was tried.
    #[serde(default)]
    pub errors: Vec<FactError>,
}

/// A fact that could not be found out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FactError {
    /// The key in [`HostFacts`], or `KEY.PART` where only a part is missing.
    pub fact: String,
    /// Which file was tried and what was wrong with it.
    pub reason: String,
}

/// The facts by name. A fact that could not be found out is absent; why stands in [`Facts::errors`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HostFacts {
    /// Name of the machine up to the first dot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
    /// Name of the machine as the kernel has it; it holds a domain only where somebody put one there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodename: Option<String>,
    /// `Linux`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// Release of the kernel, such as `6.1.0-18-amd64`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// Build of the kernel, such as `#1 SMP PREEMPT_DYNAMIC Debian 6.1.76-1 (2024-02-01)`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel_version: Option<String>,
    /// What the kernel calls the machine: `x86_64`, `aarch64`, ...
    #[serde(skip_serializing_if = "Option::is_none")]
    pub architecture: Option<String>,
    /// The family of the distribution as Ansible names it: `Debian`, `RedHat`, `Suse`, ...; the distribution itself where it belongs to none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub os_family: Option<String>,
    /// Name of the distribution, from `os-release(5)`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distribution: Option<String>,
    /// `VERSION_ID` of `os-release(5)`; rolling distributions have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distribution_version: Option<String>,
    /// `VERSION_CODENAME` of `os-release(5)`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distribution_release: Option<String>,
    /// `ID` of `os-release(5)`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distribution_id: Option<String>,
    /// Model of the first processor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processor_model: Option<String>,
    /// Processors (hardware threads) that are online.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processor_vcpus: Option<u64>,
    /// Memory that the kernel manages, in MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memtotal_mb: Option<u64>,
    /// Memory that is not used for anything, in MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memfree_mb: Option<u64>,
    /// Memory that programs could still get, caches included, in MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memavailable_mb: Option<u64>,
    /// Swap space, in MiB; 0 where swap is off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swaptotal_mb: Option<u64>,
    /// Swap space that is free, in MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swapfree_mb: Option<u64>,
    /// Whole seconds since the machine started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uptime_seconds: Option<u64>,
    /// What is mounted, in the order of mounting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mounts: Option<Vec<Mount>>,
    /// Names of the network interfaces, sorted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interfaces: Option<Vec<String>>,
    /// The network interfaces by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub links: Option<BTreeMap<String, Link>>,
    /// Every IPv4 address of the machine but loopback, also those whose interface cannot be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub all_ipv4_addresses: Option<Vec<String>>,
    /// Every IPv6 address of the machine but loopback.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub all_ipv6_addresses: Option<Vec<String>>,
    /// The IPv4 route that everything else takes; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_ipv4: Option<DefaultRoute>,
    /// The IPv6 route that everything else takes; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_ipv6: Option<DefaultRoute>,
    /// How names are resolved, from `resolv.conf(5)`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dns: Option<Dns>,
    /// 1 or 2; a hybrid hierarchy is 1, because that is where its controllers are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cgroup_version: Option<u32>,
    /// The controllers that are there, sorted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cgroup_controllers: Option<Vec<String>>,
    /// What the machine runs on or in: `kvm`, `vmware`, `docker`, ...; `none` where nothing hints at either.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub virtualization_type: Option<String>,
    /// What `virtualization_type` was concluded from: every hint, the strongest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub virtualization_hints: Option<Vec<String>>,
    /// Maker of the machine, from its DMI table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_vendor: Option<String>,
    /// Model of the machine, from its DMI table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub product_name: Option<String>,
    /// Whether the kernel runs in FIPS 140 mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fips: Option<bool>,
}

/// Something that is mounted, from `/proc/mounts`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// Device, or what stands for it.
    pub device: String,
    /// Where it is mounted.
    pub mount: String,
    /// Type of the filesystem.
    pub fstype: String,
    /// Options, comma-separated.
    pub options: String,
}

/// A network interface.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Link {
    /// Whether it is up. `None`: the driver does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active: Option<bool>,
    /// Hardware address; absent where the interface has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub macaddress: Option<String>,
    /// Largest packet, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u64>,
    /// Its IPv4 addresses, as far as a connected route tells which interface they belong to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ipv4: Vec<Ipv4>,
    /// Its IPv6 addresses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ipv6: Vec<Ipv6>,
}

/// An IPv4 address of an interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ipv4 {
    /// The address.
    pub address: String,
    /// Length of the network's prefix in bits.
    pub prefix: u8,
}

/// An IPv6 address of an interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ipv6 {
    /// The address, in the form of RFC 5952.
    pub address: String,
    /// Length of the network's prefix in bits.
    pub prefix: u8,
    /// `host`, `link`, `site` or `global`.
    pub scope: String,
}

/// A default route.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DefaultRoute {
    /// The next hop; absent on point-to-point links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateway: Option<String>,
    /// The interface it leaves by.
    pub interface: String,
}

/// How names are resolved.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Dns {
    /// Addresses of the servers, in the order in which they are asked.
    pub nameservers: Vec<String>,
    /// Domains that are tried after a short name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub search: Vec<String>,
    /// Options as written, such as `ndots:5`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
}
