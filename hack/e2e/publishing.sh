#!/usr/bin/env bash
# A hosted cluster whose API server has a host name of an external DNS domain: its own router serves it, with and without a name asked
# for, so that machines can join; a rollout of the router costs no request.
. "$(dirname "$0")/lib.sh"

ZONE=named.$BASE_DOMAIN ROUTED=routed ROUTED_INFRA=routed-r7c4d DIR=$WORK/routed
CP=$NAMESPACE-$ROUTED API=api-$ROUTED.$ZONE
mkdir -p "$DIR"

hypershift create dns azure --dns-zone-name "$ZONE" --resource-group-name os4-common --azure-creds "$AZURE_CREDS" \
  --location "$LOCATION" --dns-resolver 198.18.0.1:53 --service-principal-name e2e-publishing --external-dns-credentials "$DIR/principal.json"
hypershift install --pull-secret "$PULL_SECRET" --limit-crd-install Azure --external-dns-provider=azure \
  --external-dns-credentials "$DIR/principal.json" --external-dns-domain-filter "$ZONE" --external-dns-txt-owner-id e2e \
  --external-dns-interval 2s --wait-until-available >/dev/null
cluster_infra $ROUTED $ROUTED_INFRA "$DIR" >/dev/null
kubectl -n $NAMESPACE get hostedcluster $ROUTED >/dev/null 2>&1 ||
  cluster_create $ROUTED $ROUTED_INFRA "$DIR" --node-pool-replicas 1 --external-dns-domain "$ZONE"

balancer() { kubectl -n "$CP" get service router -o jsonpath='{.status.loadBalancer.ingress[0].ip}' 2>/dev/null | grep .; }
until_ok 240 balancer
ADDRESS=$(balancer)
# Every Route is the cluster's own router's, which says so with its address.
owned() {
  local routes; routes=$(kubectl -n "$CP" get routes -l hypershift.openshift.io/hosted-control-plane="$CP" \
    -o jsonpath='{range .items[*]}{.status.ingress[0].routerCanonicalHostname}{"\n"}{end}')
  [ "$(grep -c "^$ADDRESS\$" <<<"$routes")" = 3 ]
}
until_ok 60 owned
kubectl -n $NAMESPACE wait hostedcluster/$ROUTED --for=condition=Available --timeout=10m
[ "$(kubectl -n "$CP" get networkpolicy openshift-ingress --ignore-not-found -o name)" = "" ] || fail "the management cluster's ingress is let in"
hypershift create kubeconfig --name $ROUTED --namespace $NAMESPACE >"$DIR/kubeconfig"
chmod 600 "$DIR/kubeconfig"
guest() { kubectl --kubeconfig "$DIR/kubeconfig" "$@"; }
guest config view -o jsonpath='{.clusters[0].cluster.server}' | grep -Fx "https://$API:443" >/dev/null
guest get --raw /readyz >/dev/null
echo "API server at $API, served by the cluster's own router at $ADDRESS"

# By no proxy: the connection is ours to direct.
direct() { curl -sk --max-time 5 --noproxy '*' "$@"; }
# Who knows only the address asks for no name.
[ "$(direct "https://$ADDRESS/readyz")" = ok ] || fail "a client that asks for no name is not served"
if direct --resolve "$API:443:198.18.0.2" "https://$API/readyz" >/dev/null; then fail "the shared ingress serves $API"; fi
joined() { [ "$(guest get nodes --no-headers | grep -c ' Ready ')" = 1 ]; }
until_ok 300 joined
guest -n kube-system rollout status daemonset/kube-proxy --timeout=2m >/dev/null
inside() { guest -n kube-system logs daemonset/konnectivity-agent --tail=1 >/dev/null; }
until_ok 60 inside
echo "a worker is Ready: $(guest get nodes -o jsonpath='{.items[0].metadata.name}')"

# One request after the other, each with a connection of its own, while every pod of the router is replaced.
count() {
  local made=0 failed=0
  until [ -e "$DIR/enough" ]; do
    made=$((made + 1))
    [ "$(direct --resolve "$API:443:$ADDRESS" "https://$API/readyz")" = ok ] || failed=$((failed + 1))
  done
  echo "$made $failed" >"$DIR/counted"
}
replaced() { kubectl -n "$CP" get pods -l app=private-router -o name | grep -qv -e "$BEFORE" && [ "$(kubectl -n "$CP" get pods -l app=private-router -o name | wc -l)" = 1 ]; }
rm -f "$DIR/enough" "$DIR/counted"
BEFORE=$(kubectl -n "$CP" get pods -l app=private-router -o name)
count & COUNTER=$!
kubectl -n "$CP" rollout restart deployment/router >/dev/null
until_ok 90 replaced
touch "$DIR/enough"
wait $COUNTER
read -r MADE FAILED <"$DIR/counted"
[ "$MADE" -gt 20 ] || fail "only $MADE requests in a rollout"
[ "$FAILED" = 0 ] || fail "$FAILED of $MADE requests failed while the router was replaced"
echo "router replaced: $MADE requests, none failed"

hypershift destroy cluster azure --name $ROUTED --azure-creds "$AZURE_CREDS" --dns-zone-rg-name os4-common >/dev/null
kubectl -n hypershift delete deployment external-dns
