#!/bin/sh
# The command of the plugin: writes the results, then the done file with their path.
set -eu
cat > "$SONOBUOY_RESULTS_DIR/junit.xml" <<'XML'
<testsuite name="suite" tests="2" failures="1">
  <testcase name="starts"/>
  <testcase name="[slow] stops"><failure message="still there after 30 s"/></testcase>
</testsuite>
XML
printf %s "$SONOBUOY_RESULTS_DIR/junit.xml" > "$SONOBUOY_RESULTS_DIR/done"
