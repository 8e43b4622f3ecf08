#!/bin/sh
# Runs the suite, which writes its report into the results directory.
set -u
program=${NETWORK_POLICY_PROGRAM:-network-policy}
mkdir -p "$RESULTS_DIR"
report=$RESULTS_DIR/network-policy.jsonl
log=$RESULTS_DIR/network-policy.log
"$program" --results="$report" "$@" >"$log" 2>&1
code=$?
if [ ! -s "$report" ]; then
    tail -n 20 "$log" >&2
    echo "the suite wrote no report (exit code $code)" >&2
    [ "$code" -ne 0 ] || code=70
fi
printf %s "$RESULTS_DIR" >"$RESULTS_DIR/done"
exit "$code"
