#!/bin/sh
# Builds the check for this machine, and runs it with the files in `tests/node`.
set -eu
cd "$(dirname "$0")/.."
mkdir -p build
bindings=sdk/c/bindings/check-module
${CC:-cc} -std=c11 -g -Wno-attributes -Isdk/c -I$bindings src/*.c sdk/c/*.c $bindings/*.c sdk/c/native/check.c -o build/native

# same NAME WANT GOT
same() {
    if [ "$2" != "$3" ]; then
        printf 'failed: %s\nwant:\n%s\ngot:\n%s\n' "$1" "$2" "$3"
        exit 1
    fi
    echo "passed: $1"
}

export PLUMBLINE_OPTIONS='{"settings": {"vm/swappiness": "10", "vm/dirty_ratio": "20", "vm/none": "1"}}'
same "settings are compared" "vm/swappiness: passed
vm/dirty_ratio: failed
vm/none: skipped" "$(build/native tests/node /proc/sys 2> /dev/null)"
# Without a granted directory, as a definition without `grants`.
same "what cannot be read does not pass" "vm/swappiness: unknown
vm/dirty_ratio: unknown
vm/none: unknown" "$(build/native tests/node 2> /dev/null)"
export PLUMBLINE_OPTIONS='{"setings": {}}'
same "a misspelled option is an error" "error: unknown option: the only one is \`settings\`" "$(build/native tests/node 2>&1 || true)"
