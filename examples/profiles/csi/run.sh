#!/bin/sh
# Runs the suite, which writes its report into the results directory.
set -u
program=${CSI_SANITY_PROGRAM:-csi-sanity}
mkdir -p "$RESULTS_DIR"
work=${CSI_WORK_DIR:-$(mktemp -d)}
mkdir -p "$work"
for name in parameters snapshot-parameters; do
    file=${SONOBUOY_CONFIG_DIR:-/tmp/sonobuoy/config}/$name.yaml
    [ -f "$file" ] || continue
    case $name in
    parameters) set -- "$@" "--csi.testvolumeparameters=$file" ;;
    snapshot-parameters) set -- "$@" "--csi.testsnapshotparameters=$file" ;;
    esac
done
# The suite reads credentials from a file, which only this user can read and which does not stay.
if [ -n "${CSI_CREDENTIALS:-}" ]; then
    credentials=$(mktemp) || exit 73
    trap 'rm -f "$credentials"' EXIT
    trap 'exit 143' INT TERM
    printf %s "$CSI_CREDENTIALS" >"$credentials"
    unset CSI_CREDENTIALS
    set -- "$@" "--csi.secrets=$credentials"
fi
[ -z "${CSI_FOCUS:-}" ] || set -- "$@" "--ginkgo.focus=$CSI_FOCUS"
[ -z "${CSI_SKIP:-}" ] || set -- "$@" "--ginkgo.skip=$CSI_SKIP"
log=$RESULTS_DIR/csi-sanity.log
# Without a socket, the suite waits a minute before each test.
for argument in "$@"; do
    case $argument in
    --csi.endpoint=unix:*)
        socket=$(printf %s "$argument" | sed 's,^--csi.endpoint=unix:/*,/,')
        [ -S "$socket" ] && continue
        echo "socket $socket not found: check that the driver is running" | tee "$log" >&2
        printf %s "$RESULTS_DIR" >"$RESULTS_DIR/done"
        exit 69
        ;;
    esac
done
"$program" --csi.mountdir="$work/mount" --csi.stagingdir="$work/staging" \
    --ginkgo.no-color --ginkgo.junit-report="$RESULTS_DIR/junit.xml" "$@" >"$log" 2>&1
code=$?
# What the driver left mounted must stay, so only empty directories are removed.
rmdir "$work/mount" "$work/staging" "$work" 2>/dev/null
if [ ! -s "$RESULTS_DIR/junit.xml" ]; then
    tail -n 20 "$log" >&2
    echo "the suite wrote no report (exit code $code)" >&2
    [ "$code" -ne 0 ] || code=70
fi
printf %s "$RESULTS_DIR" >"$RESULTS_DIR/done"
exit "$code"
