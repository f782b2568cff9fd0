#!/usr/bin/env bash
# Kubernetes' own conformance tests against the demo's hosted cluster, which is made if there is none. `--short` runs 20 of them. What else
# is given goes to the runner, such as -continue, -procs 8, -only TEXT, -page docs/conformance.md; `bin/conformance -help` lists it.
. "$(dirname "$0")/lib.sh"
. hack/demo-lib.sh
need_linux_root
need_go

step "Building the suite and what its images are made of (minutes, once)"
make --no-print-directory build-cli
( # outside of the sandbox, which lets nobody fetch modules
  [ -z "${HYPERSHIFT_SANDBOX_DIR:-}" ] || leave_sandbox
  go build -o bin/conformance ./hack/conformance
  bin/conformance -build-only
)

step "The demo"
hack/demo.sh
enter_sandbox

step "Conformance tests of the hosted cluster"
bin/conformance -kubeconfig "$WORK/kubeconfig" -kubectl "$(command -v kubectl)" -to quay.io/conformance -auth-file "$PULL_SECRET" \
  -ca-file "$SSL_CERT_FILE" -out "${CONFORMANCE_OUT:-conformance}" "$@"
