#!/bin/sh
# Builds a check for this machine with sanitizers, and compares its items.
set -eu
cd "$(dirname "$0")/.."
place=$(mktemp -d)
trap 'rm -r "$place"' EXIT
bindings=bindings/check-module
${CC:-cc} -std=c11 -g -Wno-attributes -fsanitize=address,undefined -I. -I$bindings \
    tests/network.c ./*.c $bindings/*.c native/check.c -o "$place/native"

denied='no line of PLUMBLINE_NETWORK has this host, so it is not granted: unknown'
want="503 the body: passed
the certificate is invalid: failed
$denied
192.0.2.1: passed
2001:db8::1: passed
not-found: failed
192.0.2.1:21: passed
refused: failed
$denied
40755 0 0: -
100644 0 0: -
failed to read \`/etc/none\`: it does not exist: skipped
failed to read \`/var\`: no granted directory contains it: unknown"
got=$(PLUMBLINE_NETWORK=tests/network.txt "$place/native" tests/node /etc)
if [ "$got" != "$want" ]; then
    printf 'failed\nwant:\n%s\ngot:\n%s\n' "$want" "$got"
    exit 1
fi
echo "passed: hosts and owners"
