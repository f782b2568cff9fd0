#!/usr/bin/env bash
# A second hosted cluster beside the demo's, with the same address range, and nothing shared.
. "$(dirname "$0")/lib.sh"

SECOND=second SECOND_INFRA=second-m8w3c DIR=$WORK/second
second() { kubectl --kubeconfig "$DIR/kubeconfig" "$@"; }

cluster_infra $SECOND $SECOND_INFRA "$DIR"
kubectl -n $NAMESPACE get hostedcluster $SECOND >/dev/null 2>&1 ||
  cluster_create $SECOND $SECOND_INFRA "$DIR" --node-pool-replicas 1
kubectl -n $NAMESPACE wait hostedcluster/$SECOND --for=condition=Available --timeout=10m
hypershift create kubeconfig --name $SECOND --namespace $NAMESPACE >"$DIR/kubeconfig"
chmod 600 "$DIR/kubeconfig"
until_ok 300 second wait nodes --all --for=condition=Ready --timeout=10s
guest wait nodes --all --for=condition=Ready --timeout=60s

echo "the same VNet range: 10.0.0.0/16"
second get nodes -o wide
guest get nodes -o wide

# A listener on the host network of the second cluster's node, reached from inside, not from the demo's pods.
second -n default delete pod listener --ignore-not-found --grace-period=1 >/dev/null 2>&1 || true
second -n default run listener --image="$TOOLS_IMAGE" --restart=Never \
  --overrides='{"spec":{"hostNetwork":true,"tolerations":[{"operator":"Exists"}]}}' \
  --command -- /bin/sh -c 'mkdir -p /tmp/w && echo second >/tmp/w/index.html && exec httpd -f -p 18080 -h /tmp/w'
second -n default wait pod/listener --for=condition=Ready --timeout=2m
address=$(second get nodes -o jsonpath='{.items[0].status.addresses[?(@.type=="InternalIP")].address}')
[ "$(second -n default exec listener -- timeout 5 wget -qO- "http://$address:18080/")" = second ] || fail "the listener does not answer in its own cluster"
pod=$(guest -n default get pods -l app=web -o jsonpath='{.items[0].metadata.name}')
if answer=$(guest -n default exec "$pod" -- timeout 5 wget -qO- "http://$address:18080/" 2>/dev/null); then
  fail "a pod of the demo's cluster reached the second cluster's node $address: $answer"
fi
echo "isolated"

hypershift destroy cluster azure --name $SECOND --azure-creds "$AZURE_CREDS" --dns-zone-rg-name os4-common
