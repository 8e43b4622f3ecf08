#!/bin/sh
# Runs the suite, which writes its report into the results directory. The converter turns the output
# of the tests into the events of `go test -json`.
set -u
program=${GATEWAY_API_PROGRAM:-gateway-api-conformance}
converter=${GATEWAY_API_CONVERTER:-test2json}
mkdir -p "$RESULTS_DIR"
"$converter" -t -p sigs.k8s.io/gateway-api/conformance \
    "$program" -test.v=test2json -test.run='^TestConformance$' -test.timeout=0 \
    -report-output="$RESULTS_DIR/report.yaml" -selection-output="$RESULTS_DIR/selection.json" "$@" \
    >"$RESULTS_DIR/tests.json" 2>"$RESULTS_DIR/suite.log"
code=$?
cat "$RESULTS_DIR/suite.log" >&2
if [ -s "$RESULTS_DIR/report.yaml" ]; then
    # The suite makes its report readable for its own user only.
    chmod a+r "$RESULTS_DIR/report.yaml"
else
    echo "the suite wrote no report (exit code $code)" >&2
    [ "$code" -ne 0 ] || code=70
fi
printf %s "$RESULTS_DIR" >"$RESULTS_DIR/done"
exit "$code"
