#!/bin/sh
# Checks whether this machine has what a Kubernetes node needs, and writes the answers as JUnit.
#
# POSIX sh, read-only, without privileges: a check that is impossible here is skipped, with the reason. A failed check is a result and
# not an error, so the exit code is 0 whenever the results could be written.

set -u
export LC_ALL=C
# Programs of administrators are there, and other users may not have these directories in their PATH.
PATH=${PATH:-/usr/bin:/bin}:/usr/local/sbin:/usr/sbin:/sbin
export PATH

results=${SONOBUOY_RESULTS_DIR:-${RESULTS_DIR:-.}}
report=$results/node-check.xml

MIN_CPUS=2
MIN_MEMORY_MIB=1700
MIN_DISK_GIB=4
# The kubelet starts to remove images when less than this is free.
MIN_DISK_PERCENT=15
TOTAL=19

# --- The report. ---

cases=
run=0
failed=0
skipped=0
failures=
name=

# Text for XML: only printable ASCII is kept, because XML forbids some other characters, and the encoding is unknown.
escape() {
    printf '%s' "$1" | tr '\t\r\n' '   ' | tr -cd '\040-\176' |
        sed -e 's/&/\&amp;/g' -e 's/</\&lt;/g' -e 's/>/\&gt;/g' -e 's/"/\&quot;/g' -e "s/'/\&apos;/g"
}

add() {
    cases="$cases    <testcase classname=\"node\" name=\"$(escape "$name")\"$1
"
    run=$((run + 1))
    progress
}

pass() { add '/>'; }

fail() {
    failed=$((failed + 1))
    failures="$failures${failures:+,}\"$name\""
    add "><failure message=\"$(escape "$1")\"/></testcase>"
}

# An answer that cannot be understood. JUnit calls that an error, which never passes.
unknown() {
    failed=$((failed + 1))
    failures="$failures${failures:+,}\"$name\""
    add "><error message=\"$(escape "$1")\"/></testcase>"
}

skip() {
    skipped=$((skipped + 1))
    add "><skipped message=\"$(escape "$1")\"/></testcase>"
}

# Reports progress to the worker. It is optional: after the first failure it is not tried again.
can_report=false
if [ -n "${SONOBUOY_PROGRESS_PORT:-}" ] && command -v curl >/dev/null 2>&1; then can_report=true; fi
progress() {
    # Only at the start, at the end, and after every fifth check: each report starts a process.
    if ! $can_report || { [ $((run % 5)) -ne 0 ] && [ "$run" -ne "$TOTAL" ]; }; then return 0; fi
    curl --silent --output /dev/null --noproxy '*' --max-time 0.5 --header 'Content-Type: application/json' \
        --data "{\"msg\":\"$run of $TOTAL checks\",\"total\":$TOTAL,\"completed\":$((run - failed)),\"failures\":[$failures]}" \
        "http://127.0.0.1:$SONOBUOY_PROGRESS_PORT/progress" || can_report=false
}

# The first line of a file; empty if it has none.
first_line() {
    line=
    if [ -r "$1" ]; then IFS= read -r line <"$1" || :; fi
    printf '%s' "$line"
}

# KiB as GiB with one digit.
gib() { printf '%s.%s GiB' $(($1 / 1048576)) $(($1 % 1048576 * 10 / 1048576)); }

# --- The checks. ---

swap() {
    name='swap is off'
    if [ ! -r /proc/swaps ]; then skip '/proc/swaps cannot be read'; return; fi
    total=0
    problem='it has no heading'
    while read -r device _ size _; do
        if [ "$device $size" = 'Filename Size' ]; then problem=; continue; fi
        case $size in
            '' | *[!0-9]*) problem="the size of $device is not a number"; break ;;
            *) total=$((total + size)) ;;
        esac
    done </proc/swaps
    if [ -n "$problem" ]; then unknown "/proc/swaps cannot be parsed: $problem"
    elif [ "$total" -eq 0 ]; then pass
    else fail "$(gib "$total") of swap in use"; fi
}

bridge_filter() {
    name='br_netfilter is loaded'
    if [ -d /proc/sys/net/bridge ] || [ -d /sys/module/br_netfilter ]; then pass
    elif [ ! -d /sys/module ]; then skip '/sys is not mounted'
    else fail 'module not loaded'; fi
}

overlay() {
    name='overlay filesystem is available'
    if [ ! -r /proc/filesystems ]; then skip '/proc/filesystems cannot be read'
    elif grep -qw overlay /proc/filesystems; then pass
    else fail 'the kernel does not support `overlay`, and its module is not loaded'; fi
}

forwarding() {
    name='IPv4 forwarding is on'
    case $(first_line /proc/sys/net/ipv4/ip_forward) in
        1) pass ;;
        '') skip '/proc/sys/net/ipv4/ip_forward cannot be read' ;;
        *) fail 'net.ipv4.ip_forward is not 1' ;;
    esac
}

bridged_traffic() {
    name='bridged traffic passes iptables'
    case $(first_line /proc/sys/net/bridge/bridge-nf-call-iptables) in
        1) pass ;;
        '') skip 'unknown: br_netfilter is not loaded here' ;;
        *) fail 'net.bridge.bridge-nf-call-iptables is not 1' ;;
    esac
}

control_groups() {
    name='control groups are version 2'
    if [ ! -d /sys/fs/cgroup ]; then skip '/sys/fs/cgroup not found'; return; fi
    if [ ! -r /sys/fs/cgroup/cgroup.controllers ]; then fail 'the unified hierarchy is not mounted'; return; fi
    controllers=" $(first_line /sys/fs/cgroup/cgroup.controllers) "
    missing=
    for controller in cpu memory pids; do
        case $controllers in *" $controller "*) ;; *) missing="$missing $controller" ;; esac
    done
    if [ -z "$missing" ]; then pass; else fail "controllers are missing:$missing"; fi
}

conntrack_tool() {
    name='conntrack is installed'
    if command -v conntrack >/dev/null 2>&1; then pass; else fail '`conntrack` not found'; fi
}

filter_tool() {
    name='iptables or nft is installed'
    if command -v iptables >/dev/null 2>&1 || command -v nft >/dev/null 2>&1; then pass
    else fail 'neither `iptables` nor `nft` found'; fi
}

runtime() {
    name='a container runtime listens'
    for socket in "${CONTAINER_RUNTIME_ENDPOINT:-}" /run/containerd/containerd.sock /run/crio/crio.sock \
        /run/cri-dockerd.sock /var/run/cri-dockerd.sock /run/k3s/containerd/containerd.sock; do
        if [ -S "${socket#unix://}" ]; then pass; return; fi
    done
    fail 'no socket of containerd, CRI-O or cri-dockerd found'
}

kernel() {
    name='kernel is 4.19 or newer'
    release=$(uname -r)
    major=${release%%.*}
    rest=${release#*.}
    minor=${rest%%[!0-9]*}
    case $major,$minor in
        , | ,* | *, | *[!0-9,]*) skip "cannot parse the release $release" ;;
        *) if [ "$major" -gt 4 ] || { [ "$major" -eq 4 ] && [ "$minor" -ge 19 ]; }; then pass; else fail "it is $release"; fi ;;
    esac
}

processors() {
    name="at least $MIN_CPUS processors"
    count=$(getconf _NPROCESSORS_ONLN 2>/dev/null || grep -c '^processor' /proc/cpuinfo 2>/dev/null)
    case $count in
        '' | *[!0-9]* | 0) skip 'cannot be counted' ;;
        *) if [ "$count" -ge "$MIN_CPUS" ]; then pass; else fail "found $count"; fi ;;
    esac
}

memory() {
    name="at least $MIN_MEMORY_MIB MiB of memory"
    kib=$(sed -n 's/^MemTotal: *\([0-9][0-9]*\) kB.*/\1/p' /proc/meminfo 2>/dev/null)
    if [ -z "$kib" ]; then skip '/proc/meminfo cannot be read'
    elif [ "$kib" -ge $((MIN_MEMORY_MIB * 1024)) ]; then pass
    else fail "found $((kib / 1024)) MiB"; fi
}

disk() {
    name='disk space for images and pods'
    place=/var/lib
    for candidate in /var/lib/containerd /var/lib/containers /var/lib/kubelet; do
        if [ -d "$candidate" ]; then place=$candidate; break; fi
    done
    # shellcheck disable=SC2046 # The fields of the second line.
    set -- $(df -Pk "$place" 2>/dev/null | sed -n '2p')
    case ${2:-},${4:-} in
        , | ,* | *, | *[!0-9,]* | 0,*) skip "the size of $place cannot be read" ;;
        *)
            percent=$(($4 * 100 / $2))
            if [ "$4" -lt $((MIN_DISK_GIB * 1048576)) ] || [ "$percent" -lt "$MIN_DISK_PERCENT" ]; then
                fail "$(gib "$4") ($percent %) free at $place: at least $MIN_DISK_GIB GiB and $MIN_DISK_PERCENT % are needed"
            else pass; fi ;;
    esac
}

# $1: the port; $2: the port in hexadecimal, as the kernel writes it; $3: what needs it. 0A is the state of a listening socket.
port() {
    name="port $1 is free for the $3"
    if [ ! -r /proc/net/tcp ]; then skip '/proc/net/tcp cannot be read'; return; fi
    if cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | grep -q "^ *[0-9]*: [0-9A-F]*:$2 [0-9A-F]*:0000 0A "; then
        if [ -e /etc/kubernetes/kubelet.conf ] || [ -d /var/lib/rancher ]; then skip 'in use, and this machine is a node already'
        else fail 'something listens on it'; fi
    else pass; fi
}

machine_id() {
    name='machine-id is set'
    id=$(first_line /etc/machine-id)
    case $id in
        '') if [ -e /etc/machine-id ]; then fail '/etc/machine-id is empty'; else skip '/etc/machine-id not found'; fi ;;
        *[!0-9a-f]*) fail "/etc/machine-id is not a valid id: $id" ;;
        *) if [ ${#id} -eq 32 ]; then pass; else fail "/etc/machine-id has ${#id} digits instead of 32"; fi ;;
    esac
}

product_uuid() {
    name='product UUID is not a placeholder'
    file=/sys/class/dmi/id/product_uuid
    if [ ! -e $file ]; then skip 'this machine has no DMI table'; return; fi
    uuid=$(first_line $file 2>/dev/null | tr 'A-F' 'a-f')
    case $uuid in
        '') skip "$file can be read by root only" ;;
        # Placeholders of manufacturers that assign no UUID.
        00000000-0000-0000-0000-000000000000 | ffffffff-ffff-ffff-ffff-ffffffffffff | 03000200-0400-0500-0006-000700080009)
            fail "$uuid is a placeholder, which many machines have" ;;
        *) pass ;;
    esac
}

host_name() {
    name='host name is valid for a node'
    host=$(uname -n)
    # A DNS-1123 subdomain of at most 63 characters, because it becomes a label.
    if [ ${#host} -gt 63 ]; then fail "$host is longer than 63 characters"
    elif [ "$host" = localhost ]; then fail 'it is localhost'
    elif printf '%s\n' "$host" | grep -qxE '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'; then pass
    else fail "$host has characters other than lower-case letters, digits, - and ."; fi
}

clock() {
    name='clock is synchronised'
    if [ -e /run/systemd/timesync/synchronized ]; then pass; return; fi
    answer=
    if [ -d /run/systemd/system ] && command -v timedatectl >/dev/null 2>&1; then
        answer=$(timeout 1 timedatectl show --property NTPSynchronized --value 2>/dev/null)
    fi
    case $answer in
        yes) pass ;;
        no) fail 'no time source is in use' ;;
        *) skip 'unknown: systemd does not answer here' ;;
    esac
}

# --- The run. ---

progress
swap
bridge_filter
overlay
forwarding
bridged_traffic
control_groups
conntrack_tool
filter_tool
runtime
kernel
processors
memory
disk
port 6443 192B 'API server'
port 10250 280A kubelet
machine_id
product_uuid
host_name
clock

# The report appears only when it is complete, and the done file only after it.
printf '%s\n' '<?xml version="1.0" encoding="UTF-8"?>' \
    "<testsuites><testsuite name=\"node-check\" tests=\"$run\" failures=\"$failed\" errors=\"0\" skipped=\"$skipped\">" \
    "$cases</testsuite></testsuites>" >"$report.part" &&
    mv "$report.part" "$report" && printf '%s' "$report" >"$results/done"
