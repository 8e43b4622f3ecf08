#!/bin/sh
# The suite: prints a JUnit report about a program that sorts lines. Replace it by your suite.
set -u
program=${PROGRAM:-sort}

matches() { # NAME REGEX
    printf '%s\n' "$1" | grep -Eq -- "$2"
}

run_test() { # NAME INPUT EXPECTED [ARGUMENT]...
    name=$1 input=$2 expected=$3
    shift 3
    matches "$name" "${FOCUS:-.}" || return 0
    if [ -n "${SKIP:-}" ] && matches "$name" "$SKIP"; then return 0; fi
    if actual=$(printf '%b' "$input" | "$program" "$@") && [ "$actual" = "$(printf '%b' "$expected")" ]; then
        echo "<testcase name='$name'/>"
    else
        echo "<testcase name='$name'><failure message='it failed, or the lines are not in order'/></testcase>"
    fi
}

echo "<testsuite name='sorting'>"
run_test 'sorts lines' 'b\na\n' 'a\nb\n'
run_test 'sorts an empty input' '' ''
run_test 'sorts numbers' '10\n9\n' '9\n10\n' -n
run_test 'sorts in reverse' 'a\nb\n' 'b\na\n' -r
echo "</testsuite>"
