#!/usr/bin/env bash
# ExternalDNS publishes a hosted cluster's names in Azure's DNS, as a service principal and by workload identity, and takes
# them back.
. "$(dirname "$0")/lib.sh"

ZONE=clusters.$BASE_DOMAIN NAMED=named NAMED_INFRA=named-x2v7q DIR=$WORK/named
CREATE_DNS=(hypershift create dns azure --dns-zone-name "$ZONE" --resource-group-name os4-common --azure-creds "$AZURE_CREDS"
  --location "$LOCATION" --dns-resolver 198.18.0.1:53)
mkdir -p "$DIR"
prober default

# install_with FILE: the seeds' command with ExternalDNS; a short interval keeps the test quick.
install_with() {
  hypershift install --pull-secret "$PULL_SECRET" --limit-crd-install Azure --external-dns-provider=azure \
    --external-dns-credentials "$1" --external-dns-domain-filter "$ZONE" --external-dns-txt-owner-id e2e \
    --external-dns-interval 2s --wait-until-available >/dev/null
  kubectl -n hypershift rollout status deployment/external-dns --timeout=2m
}
signed_in() { kubectl -n hypershift logs deployment/external-dns | grep -q "$1"; }
answers() { kubectl -n default exec prober -- nslookup "$1" 198.18.0.1 | sed 1,2d | grep -q "^Address"; }
silent() { ! answers "$1"; }
published() { local name; for name in "${NAMES[@]}"; do answers "$name" || return 1; done; }
withdrawn() { local name; for name in "${NAMES[@]}"; do silent "$name" || return 1; done; }
routes() { kubectl -n $NAMESPACE-$NAMED get routes -o jsonpath='{range .items[*]}{.spec.host}{"\n"}{end}' | grep "\.$ZONE\$"; }

"${CREATE_DNS[@]}" --service-principal-name e2e-external-dns --external-dns-credentials "$DIR/principal.json"
install_with "$DIR/principal.json"
until_ok 60 signed_in "Using client_id+client_secret"

cluster_infra $NAMED $NAMED_INFRA "$DIR"
kubectl -n $NAMESPACE get hostedcluster $NAMED >/dev/null 2>&1 ||
  cluster_create $NAMED $NAMED_INFRA "$DIR" --node-pool-replicas 0 --external-dns-domain "$ZONE"
has_routes() { [ "$(routes | wc -l)" -ge 3 ]; }
until_ok 180 has_routes
mapfile -t NAMES < <(routes)
until_ok 120 published
echo "published by the service principal: ${NAMES[*]}"

kubectl -n $NAMESPACE wait hostedcluster/$NAMED --for=condition=Available --timeout=10m
hypershift create kubeconfig --name $NAMED --namespace $NAMESPACE >"$DIR/kubeconfig"
chmod 600 "$DIR/kubeconfig"
named() { kubectl --kubeconfig "$DIR/kubeconfig" "$@"; }
named config view -o jsonpath='{.clusters[0].cluster.server}' | grep -F "https://api-$NAMED.$ZONE"
until_ok 60 named get --raw /readyz
named get namespaces

# The same by the token of ExternalDNS's own service account: no secret is left.
"${CREATE_DNS[@]}" --management-issuer-url "$MANAGEMENT_ISSUER_URL" --external-dns-credentials "$DIR/identity.json"
if grep -q aadClientSecret "$DIR/identity.json"; then fail "the file of a workload identity has a secret"; fi
install_with "$DIR/identity.json"
until_ok 60 signed_in "Using workload identity"
kubectl -n $NAMESPACE create service loadbalancer published --tcp=80:18080 --dry-run=client -o yaml |
  kubectl annotate --local -f - "external-dns.alpha.kubernetes.io/hostname=service.$ZONE" -o yaml | kubectl apply -f - >/dev/null
until_ok 120 answers "service.$ZONE"
published || fail "a record is gone after the change of credentials"
echo "published by workload identity: service.$ZONE"

kubectl -n $NAMESPACE delete service published
NAMES+=("service.$ZONE")
hypershift destroy cluster azure --name $NAMED --azure-creds "$AZURE_CREDS" --dns-zone-rg-name os4-common
until_ok 60 withdrawn
echo "withdrawn"

# Without ExternalDNS again, as the other scripts expect it.
kubectl -n hypershift delete deployment external-dns
kubectl -n default delete pod prober --grace-period=1 >/dev/null
