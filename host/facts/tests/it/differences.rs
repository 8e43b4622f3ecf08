//! The permitted differences between Ansible's facts and Plumbline's, each with its reason. A new
//! difference fails the test that uses this list.

use crate::compare::Rules;

const CLOCK: &str = "time passes between the two";
const MEMORY: &str = "memory is used and freed between the two";
const DISK: &str = "files are written and removed between the two";
const ORDER: &str =
    "Ansible has the order in which a directory or a kernel table happens to be read; ours is sorted, or the kernel's";
const ETHTOOL: &str = "from the program `ethtool`, which asks through `ioctl(2)`; there is no file for it";
const HOST_KEY: &str = "no key material leaves a machine, public or not";
const PYTHON: &str = "about the Python that Ansible runs on";
const ON_DISK: &str = "in the metadata on the disks, which is not read";
const CALL: &str = "about how Ansible was called";

pub(crate) const RULES: Rules = Rules {
    by_type: &[
        ("ansible_date_time > year", CLOCK),
        ("ansible_date_time > month", CLOCK),
        ("ansible_date_time > day", CLOCK),
        ("ansible_date_time > date", CLOCK),
        ("ansible_date_time > week*", CLOCK),
        ("ansible_date_time > hour", CLOCK),
        ("ansible_date_time > minute", CLOCK),
        ("ansible_date_time > second", CLOCK),
        ("ansible_date_time > time", CLOCK),
        ("ansible_date_time > epoch*", CLOCK),
        ("ansible_date_time > iso8601*", CLOCK),
        ("ansible_date_time > tz_dst", "the C library remembers summer times that a zone had long ago"),
        ("ansible_uptime_seconds", CLOCK),
        ("ansible_loadavg > *", "the load changes, and the kernel's file has two digits after the point"),
        ("ansible_memfree_mb", MEMORY),
        ("ansible_swapfree_mb", MEMORY),
        ("ansible_memory_mb > * > free", MEMORY),
        ("ansible_memory_mb > * > used", MEMORY),
        ("ansible_memory_mb > swap > cached", MEMORY),
        ("ansible_mounts > [] > block_available", DISK),
        ("ansible_mounts > [] > block_used", DISK),
        ("ansible_mounts > [] > size_available", DISK),
        ("ansible_mounts > [] > inode_available", DISK),
        ("ansible_mounts > [] > inode_used", DISK),
        ("ansible_mounts > [] > inode_total", "some filesystems make inodes as they need them"),
        ("ansible_fqdn", "Ansible asks name servers too, and what they answer is not this machine's"),
        ("ansible_domain", "follows from `ansible_fqdn`"),
    ],
    unordered: &[
        ("ansible_interfaces", ORDER),
        ("ansible_all_*", ORDER),
        ("ansible_locally_reachable_ips > *", ORDER),
        ("ansible_mounts", "Ansible lists them as their sizes come in"),
        ("ansible_virtualization_tech_*", "sets in Ansible"),
        ("interface > * > interfaces", ORDER),
    ],
    gaps: &[
        ("ansible_env", "the environment of a process holds what it was given in confidence"),
        ("ansible_python*", PYTHON),
        ("ansible_selinux_python_present", PYTHON),
        ("discovered_interpreter_python", PYTHON),
        ("ansible_system_capabilities*", "what the program `capsh` says of the process that asks, not of the machine"),
        ("ansible_ssh_host_key_*", HOST_KEY),
        ("gather_subset", CALL),
        ("module_setup", CALL),
        ("ansible_facter_*", "from another program, where it is installed"),
        ("ansible_ohai_*", "from another program, where it is installed"),
        ("interface > * > features", ETHTOOL),
        ("interface > * > timestamping", ETHTOOL),
        ("interface > * > hw_timestamp_filters", ETHTOOL),
        ("interface > * > phc_index", ETHTOOL),
        ("ansible_lvm > vgs > * > size_g", ON_DISK),
        ("ansible_lvm > pvs > * > size_g", ON_DISK),
        ("ansible_lvm > * > * > free_g", ON_DISK),
    ],
    ours: &[(
        "ansible_mounts > [] > note",
        "Ansible asks filesystems of other machines for their size too, and may wait",
    )],
};
