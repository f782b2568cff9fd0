#!/usr/bin/env bash
# Shows that the demo leaves nothing: looks at the machine, runs the demo, takes it down, looks again, compares.
. "$(dirname "$0")/lib.sh"
need_linux_root
before=$(mktemp) after=$(mktemp)
trap 'rm -f "$before" "$after"' EXIT
hack/leftovers.sh >"$before"
hack/demo.sh
hack/demo-down.sh
hack/leftovers.sh >"$after"
diff "$before" "$after" || fail "the lines above differ before and after"
echo "nothing is left"
