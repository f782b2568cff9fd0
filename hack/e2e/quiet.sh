#!/usr/bin/env bash
# A converged hosted cluster is left in peace: nobody writes to the management cluster but leases and node heartbeats.
. "$(dirname "$0")/lib.sh"

writes() {
  kubectl get --raw /metrics | grep '^apiserver_request_total{' | grep -E 'verb="(PUT|PATCH|POST|APPLY|DELETE)"' |
    grep -vE 'resource="(leases|events|tokenreviews|subjectaccessreviews|selfsubjectaccessreviews|serviceaccounts|nodes)"' |
    awk '{total += $NF} END {print total + 0}'
}
settled() { local before; before=$(writes); sleep 10; [ $(($(writes) - before)) -le 10 ]; }
until_ok 120 settled
echo "at rest: at most one write a second"
