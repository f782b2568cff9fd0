#!/usr/bin/env bash
# A rehearsal for real Azure: the demo and the whole guide, as typed, in a sandbox whose Azure shows nothing at once and answers 100 ms late.
# At the end it prints every kind of write that was made, and what real Azure may refuse it for that no sandbox can know.
. "$(dirname "$0")/lib.sh"

need_linux_root
need_go
need_az

step "Building the programs"
show make --no-print-directory build
[ "$(hypershift sandbox status -o json | grep -c '"running": true')" = 0 ] || fail "a sandbox is up; take it down first: hack/demo-down.sh"

step "A sandbox with the realistic profile, 100 ms away"
show hypershift sandbox up --azure-profile realistic
show hypershift sandbox fault add --preset latency

step "The guide, from the first line to the last"
AZURE_PROFILE=realistic go test ./test/e2e -long -count=1 -timeout 90m -v -run 'TestScripts/^80-guide$'

step "What was written, and what real Azure may refuse of it"
hypershift sandbox calls

show hack/demo-down.sh
step "The guide worked. What only real Azure can say is in docs/real-azure.md"
