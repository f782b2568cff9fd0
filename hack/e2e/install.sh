#!/usr/bin/env bash
# Every form of install that the documentation of Azure shows, uninstall, and install again. No hosted cluster is there.
. "$(dirname "$0")/lib.sh"

ZONE=install.$BASE_DOMAIN DIR=$WORK/install OPERATOR=quay.io/hypershift/hypershift-operator
mkdir -p "$DIR"
# running NAME COUNT: this many pods of the name run, and all of their containers.
running() { [ "$(kubectl -n hypershift get pods -l name="$1" --no-headers | awk '$2=="1/1" && $3=="Running"' | wc -l)" -eq "$2" ]; }
show_pods() { kubectl -n hypershift get pods; }
definitions() { kubectl get crd -o name | grep -cE 'hypershift.openshift.io|cluster.x-k8s.io'; }

[ -z "$(kubectl get hostedcluster -A -o name)" ] || fail "hack/e2e/destroy.sh has to run before: a hosted cluster is there"
hypershift uninstall --delete-crds
[ "$(definitions)" -eq 0 ] || fail "definitions are left: $(kubectl get crd -o name)"
! kubectl get namespace hypershift >/dev/null 2>&1 || fail "the namespace hypershift is left"
left=$(kubectl get clusterrole,clusterrolebinding,priorityclass,validatingadmissionpolicy -o name | grep -E 'hypershift|external-dns' || true)
[ -z "$left" ] || fail "uninstall left: $left"
hypershift uninstall
echo "uninstalled"

# What render prints can be applied: the server takes the definitions, in both forms, and the operator is there.
for format in yaml json; do
  hypershift install render --format $format --outputs crds --limit-crd-install Azure |
    kubectl apply --server-side --dry-run=server -f - >"$DIR/rendered"
  grep -c 'serverside-applied (server dry run)' "$DIR/rendered"
  hypershift install render --format $format --outputs resources --pull-secret "$PULL_SECRET" --limit-crd-install Azure >"$DIR/render.$format"
  grep -E '^ *"?kind"?: "?Deployment"?' "$DIR/render.$format"
  ! grep -E '^ *"?kind"?: "?Secret"?,?$' "$DIR/render.$format" || fail "render prints the pull secret unasked"
done

hypershift install --pull-secret "$PULL_SECRET" --limit-crd-install Azure
until_ok 180 running operator 2
kubectl -n hypershift rollout status deployment/operator --timeout=1m
show_pods
until_ok 60 kubectl -n hypershift get configmap supported-versions # by the replica that leads, a moment after it is ready
again=$(hypershift install --pull-secret "$PULL_SECRET" --limit-crd-install Azure --wait-until-available)
[ -n "$again" ] || fail "a second install says nothing"

hypershift create dns azure --dns-zone-name "$ZONE" --resource-group-name os4-common --azure-creds "$AZURE_CREDS" \
  --location "$LOCATION" --dns-resolver 198.18.0.1:53 --service-principal-name e2e-install --external-dns-credentials "$DIR/azure_mgmt.json"
hypershift install --external-dns-provider=azure --external-dns-credentials "$DIR/azure_mgmt.json" --pull-secret "$PULL_SECRET" \
  --external-dns-domain-filter "$ZONE" --limit-crd-install Azure --wait-until-available >/dev/null
until_ok 120 running external-dns 1
show_pods

# Credentials in a Secret that is there already, and an image of one's own.
kubectl -n hypershift create secret generic azure-config-file --from-file=credentials="$DIR/azure_mgmt.json"
go build -o "$WORK/images" ./test/e2e/images
"$WORK/images" program --from "$(kubectl -n hypershift get deployment operator -o jsonpath='{.spec.template.spec.containers[0].image}')" \
  --to $OPERATOR:custom --file "etc/custom=$DIR/azure_mgmt.json" >/dev/null
hypershift install --external-dns-provider=azure --external-dns-secret azure-config-file --pull-secret "$PULL_SECRET" \
  --external-dns-domain-filter "$ZONE" --limit-crd-install Azure --hypershift-image $OPERATOR:custom --wait-until-available >/dev/null
custom() { kubectl -n hypershift get pods -l name=operator -o jsonpath='{.items[*].spec.containers[0].image}' | grep -x "$OPERATOR:custom $OPERATOR:custom"; }
until_ok 60 custom
until_ok 60 running external-dns 1

# Refused before anything is written.
if hypershift install --external-dns-provider=azure --limit-crd-install Azure >/dev/null 2>"$DIR/refused"; then fail "a provider without credentials was accepted"; fi
grep -F 'are required with --external-dns-provider' "$DIR/refused"
grep -F -- '--external-dns-domain-filter is required' "$DIR/refused"
if hypershift install --external-dns-provider=azure --external-dns-credentials "$DIR/azure_mgmt.json" --pull-secret "$PULL_SECRET" \
  --external-dns-domain-filter "nobodys.$BASE_DOMAIN" --limit-crd-install Azure >/dev/null 2>"$DIR/refused"; then fail "a zone that is not there was accepted"; fi
grep -F "nobodys.$BASE_DOMAIN" "$DIR/refused"
if hypershift install --limit-crd-install Mars 2>"$DIR/refused"; then fail "an unknown platform was accepted"; fi

# No flag at all: the pull secret of before stays, and so do the pods.
hypershift uninstall
hypershift install >/dev/null
kubectl -n hypershift get deployment operator >/dev/null
[ "$(definitions)" -ge 33 ] || fail "install without flags made only $(definitions) definitions"
hypershift install --pull-secret "$PULL_SECRET" --limit-crd-install Azure --wait-until-available >/dev/null
until_ok 60 running operator 2
echo "installed in every form"
