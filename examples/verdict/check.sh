#!/bin/sh
# Stands for a suite: five tests, two of which fail, and a log with what took how long.
set -eu
results=${SONOBUOY_RESULTS_DIR:-${RESULTS_DIR:-.}}

cat > "$results/io.log" <<'LOG'
level=info msg="opened" path=/data
level=info msg="fsync" took=3.2ms
level=info msg="fsync" took=4.1ms
level=warn msg="fsync" took=87.5ms
LOG

cat > "$results/junit.xml" <<'XML'
<testsuite name="storage" tests="5" failures="2">
  <testcase classname="storage" name="[storage] volumes should be mounted" time="1.2"/>
  <testcase classname="storage" name="[storage] volumes should be unmounted" time="0.8"/>
  <testcase classname="storage" name="[storage] volumes should be deleted" time="0.5"/>
  <testcase classname="storage" name="[storage] volumes should be resized while they are in use" time="31">
    <failure message="still 1Gi after 30 s"/>
  </testcase>
  <testcase classname="storage" name="[storage] snapshots should be taken" time="10">
    <failure message="no snapshot class"/>
  </testcase>
</testsuite>
XML

if [ -n "${SONOBUOY_RESULTS_DIR:-}" ]; then
    printf %s "$results" > "$results/done"
fi
