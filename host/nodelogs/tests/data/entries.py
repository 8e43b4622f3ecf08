#!/usr/bin/env python3
"""Writes the entries of the test journals in the export format of the journal, to standard output."""
import struct, sys

BOOT = "0123456789abcdef0123456789abcdef"
BASE = 1_700_000_000_000_000
out = sys.stdout.buffer

def entry(n, realtime, fields):
    out.write(b"__REALTIME_TIMESTAMP=%d\n__MONOTONIC_TIMESTAMP=%d\n_BOOT_ID=%s\n" % (realtime, 1_000_000 + n, BOOT.encode()))
    for name, value in fields:
        if isinstance(value, str):
            value = value.encode()
        if b"\n" in value or any(byte < 32 for byte in value):
            out.write(name.encode() + b"\n" + struct.pack("<Q", len(value)) + value + b"\n")
        else:
            out.write(name.encode() + b"=" + value + b"\n")
    out.write(b"\n")

def common(unit, priority, message):
    return [("_HOSTNAME", "node-1"), ("_SYSTEMD_UNIT", unit), ("SYSLOG_IDENTIFIER", unit.split(".")[0]),
            ("PRIORITY", str(priority)), ("MESSAGE", message)]

for n in range(200):
    unit = ["kubelet.service", "containerd.service", "sshd.service"][n % 3]
    entry(n, BASE + n * 1_000_000, common(unit, [6, 6, 4, 3, 5][n % 5], f"message {n} of {unit}"))
n = 200
special = [
    [("MESSAGE", "two\nlines"), ("PRIORITY", "3"), ("_SYSTEMD_UNIT", "kubelet.service")],
    [("MESSAGE", b"\x1b[31mred\x1b[0m"), ("PRIORITY", "3"), ("_SYSTEMD_UNIT", "kubelet.service")],
    [("MESSAGE", b"not text: \xff\xfe"), ("PRIORITY", "2")],
    [("MESSAGE", "gr\u00fc\u00dfe \u2713"), ("PRIORITY", "6"), ("TAG", "a"), ("TAG", "b"), ("TAG", b"\x01")],
    [("MESSAGE", "long: " + "0123456789 abcdef " * 2000), ("PRIORITY", "1"), ("_SYSTEMD_UNIT", "long.service")],
    [("MESSAGE", "long again: " + "0123456789 abcdef " * 2000), ("PRIORITY", "1"), ("_SYSTEMD_UNIT", "long.service")],
    [("MESSAGE", ""), ("PRIORITY", "7")],
    [("MESSAGE", "quotes \" and \\ and \ttab"), ("PRIORITY", "0")],
]
for fields in special:
    entry(n, BASE + n * 1_000_000, fields)
    n += 1
