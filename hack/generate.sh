#!/usr/bin/env bash
# Regenerates what is derived from api/ (deepcopy functions, CustomResourceDefinitions) and the Cluster API definitions.
set -euo pipefail
cd "$(dirname "$0")/.."
CONTROLLER_GEN=sigs.k8s.io/controller-tools/cmd/controller-gen@v0.20.1
GOFLAGS='' go run "$CONTROLLER_GEN" object paths=./api/v1beta1 crd:crdVersions=v1 output:crd:dir=config/crd/hypershift
hack/generate-capi.sh
