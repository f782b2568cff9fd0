#!/usr/bin/env bash
# The main job on one machine: sandbox, the three phases, a hosted cluster with two Ready workers.
# Every command is shown as a person would type it. Run again, it changes nothing and shows the result.
# AZURE_PROFILE=fast has what is made in the embedded Azure show at once.
. "$(dirname "$0")/lib.sh"
. hack/demo-lib.sh

need_linux_root
need_go

step "Building the command line"
show make --no-print-directory build-cli

step "Phase 1: identities, OIDC issuer and infrastructure (the embedded Azure starts first, Kubernetes follows)"
show hypershift sandbox up --azure-only ${AZURE_PROFILE:+--azure-profile "$AZURE_PROFILE"}
enter_sandbox
phase1
mark phase1 "$(elapsed)"

leave_sandbox
step "The management cluster (what is missing is compiled now; the cache keeps it)"
show make --no-print-directory build
show hypershift sandbox up ${AZURE_PROFILE:+--azure-profile "$AZURE_PROFILE"}
enter_sandbox

step "Phase 2: the operator"
phase2

step "Phase 3: the hosted cluster"
phase3

step "The result"
result
figures
next_steps
