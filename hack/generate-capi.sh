#!/usr/bin/env bash
# Copies the definitions of Cluster API and its Azure provider from their modules; the versions are in hack/capicrds.
set -euo pipefail
cd "$(dirname "$0")/.."
go run ./hack/capicrds
