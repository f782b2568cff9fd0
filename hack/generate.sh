#!/usr/bin/env bash
# Regenerates what is derived: deepcopy functions and CustomResourceDefinitions from api/, and the definitions of Cluster API
# and its Azure provider from their modules. The generator's version is in hack/tools/go.mod, the modules' in hack/capicrds.
. "$(dirname "$0")/lib.sh"
need_go
go tool -modfile=hack/tools/go.mod controller-gen object paths=./api/v1beta1 crd:crdVersions=v1 output:crd:dir=config/crd/hypershift
go run ./hack/capicrds
