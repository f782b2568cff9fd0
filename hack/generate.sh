#!/usr/bin/env bash
# Regenerates what is derived: from api/ the deepcopy functions, the CustomResourceDefinitions (completed by hack/crdschema), the
# typed client and the reference; from internal/metrics the dashboard and its part of the reference;
# from internal/controlplane/table the page of the control plane; from internal/support/table the page of what acts; from the modules' own files the page of licences; the definitions of Cluster API
# and its Azure provider from their modules. The generators' versions are in hack/tools/go.mod, the modules' in hack/capicrds and
# hack/crdschema.
. "$(dirname "$0")/lib.sh"
need_go
go tool -modfile=hack/tools/go.mod controller-gen object paths=./api/v1beta1 crd:crdVersions=v1 output:crd:dir=config/crd/hypershift
go run ./hack/crdschema
go run ./hack/capicrds
go run ./hack/twincontent

module=$(go list -m)
rm -rf client
go tool -modfile=hack/tools/go.mod client-gen --clientset-name versioned --fake-clientset=false --go-header-file /dev/null \
  --input-base "" --input "$module/api/v1beta1" --output-dir client --output-pkg "$module/client"
go run ./hack/dashboard
go run ./hack/apidocs
go run ./hack/licences
