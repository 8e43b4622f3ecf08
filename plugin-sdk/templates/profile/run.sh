#!/bin/sh
# Runs the suite, and writes its report into the results directory. The done file comes last.
set -u
mkdir -p "$RESULTS_DIR"
"$(dirname "$0")/suite.sh" >"$RESULTS_DIR/junit.xml"
code=$?
printf %s "$RESULTS_DIR" >"$RESULTS_DIR/done"
exit "$code"
