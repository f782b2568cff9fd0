#!/usr/bin/env bash
# A backup of the demo's etcd as the guide tells to make it, and a new hosted cluster that begins with it.
. "$(dirname "$0")/lib.sh"

RESTORED=restored RESTORED_INFRA=restored-v5t8n DIR=$WORK/restored
mkdir -p "$DIR/etcd"
restored() { kubectl --kubeconfig "$DIR/kubeconfig" "$@"; }

guest -n default create configmap backed-up --from-literal=answer=42 --dry-run=client -o yaml | guest apply -f - >/dev/null
guest -n default delete configmap too-late --ignore-not-found >/dev/null

# The real etcdctl, against the member itself. The payload's etcd is etcdctl too when it is called so.
program=$(find "${HYPERSHIFT_CACHE:-$HOME/.cache/hypershift-sandbox}" -type f -name etcd -path '*bin*' -perm -u+x | head -n 1)
[ -n "$program" ] || fail "the sandbox's cache has no etcd"
etcdctl() { "$program" etcdctl --endpoints https://localhost:12379 --cacert "$DIR/etcd/ca.crt" --cert "$DIR/etcd/etcd-client.crt" --key "$DIR/etcd/etcd-client.key" "$@"; }
(umask 077; for file in etcd-client.crt etcd-client.key ca.crt; do
  kubectl -n $CPNS get secret etcd-client-tls -o jsonpath="{.data.${file//./\\.}}" | base64 -d >"$DIR/etcd/$file"
done)
kubectl -n $CPNS port-forward pod/etcd-0 12379:2379 >/dev/null &
forward=$!
until_ok 30 etcdctl endpoint health
rm -f "$DIR/etcd/demo.db"
etcdctl snapshot save "$DIR/etcd/demo.db" >/dev/null
kill $forward
# Written after the backup: the new cluster must not have it.
guest -n default create configmap too-late --from-literal=answer=43 --dry-run=client -o yaml | guest apply -f - >/dev/null

# Into a blob that the world may read; the embedded Azure has no shared access signatures.
token() {
  curl -sf -d "grant_type=client_credentials&client_id=$AZURE_CLIENT_ID&scope=$1/.default" --data-urlencode "client_secret@-" \
    "https://login.microsoftonline.com/$AZURE_TENANT_ID/oauth2/v2.0/token" < <(printf %s "$AZURE_CLIENT_SECRET") |
    sed -n 's/.*"access_token" *: *"\([^"]*\)".*/\1/p'
}
arm=$(token https://management.azure.com)
host=${ISSUER_URL#https://}; host=${host%%/*}
account=/subscriptions/$AZURE_SUBSCRIPTION_ID/resourceGroups/os4-common/providers/Microsoft.Storage/storageAccounts/${host%%.*}
azure() { curl -sf -o /dev/null -X PUT -H "Authorization: Bearer $arm" -H 'Content-Type: application/json' "https://management.azure.com$1" -d "$2"; }
azure "$account/blobServices/default/containers/backups?api-version=2023-01-01" '{"properties":{"publicAccess":"Blob"}}'
storage=$(token https://storage.azure.com)
URL=https://$host/backups/demo.db
upload() {
  curl -sf -o /dev/null -T "$DIR/etcd/demo.db" -H "Authorization: Bearer $storage" -H 'x-ms-version: 2023-11-03' -H 'x-ms-blob-type: BlockBlob' "$URL"
}
until_ok 30 upload
rm -rf "$DIR/etcd"

cluster_infra $RESTORED $RESTORED_INFRA "$DIR" 2>/dev/null
cluster_create $RESTORED $RESTORED_INFRA "$DIR" --node-pool-replicas 1 --render --render-sensitive >"$DIR/rendered.yaml"
# It begins with the backup, and reads the Secrets in it with the key that they were written with.
awk -v url="$URL" -v key="$NAME-etcd-encryption-key" '
  active {sub(/name: .*/, "name: " key); active = 0}
  /^ *activeKey:$/ {active = 1}
  {print}
  /^ *storage:$/ && !done {match($0, /^ */); printf "%*s  restoreSnapshotURL: [\"%s\"]\n", RLENGTH, "", url; done = 1}' \
  "$DIR/rendered.yaml" | kubectl apply -f - 2>/dev/null >/dev/null
rm -f "$DIR/rendered.yaml"
kubectl -n $NAMESPACE wait hostedcluster/$RESTORED --for=condition=Available --timeout=10m
kubectl -n $NAMESPACE get hostedcluster $RESTORED -o jsonpath='{.status.conditions[?(@.type=="HostedClusterRestoredFromBackup")].status}: {.status.conditions[?(@.type=="HostedClusterRestoredFromBackup")].message}{"\n"}' | tee "$DIR/condition"
grep -q '^True: etcd began with' "$DIR/condition" || fail "the condition does not say that the backup was restored"
hypershift create kubeconfig --name $RESTORED --namespace $NAMESPACE >"$DIR/kubeconfig"
chmod 600 "$DIR/kubeconfig"
[ "$(restored -n default get configmap backed-up -o jsonpath='{.data.answer}')" = 42 ] || fail "the restored cluster lacks what was backed up"
if restored -n default get configmap too-late >/dev/null 2>&1; then fail "the restored cluster has what was written after the backup"; fi
# The address, which may carry a signature, is taken away once it has served.
taken() { [ -z "$(kubectl -n $NAMESPACE-$RESTORED get secret etcd-snapshot -o jsonpath='{.data.url}')" ]; }
until_ok 60 taken
echo "the backup lives in $RESTORED"

# Its nodes are its own: those of the original came with the backup and go by themselves, although the original lives on.
own_node() { [ "$(restored get nodes -o jsonpath='{range .items[*]}{.spec.providerID} {.status.conditions[?(@.type=="Ready")].status}{"\n"}{end}' | grep -v "virtualMachines/$RESTORED-.* True$" | wc -l)" -eq 0 ] &&
  [ "$(restored get nodes -o name | wc -l)" -eq 1 ]; }
until_ok 300 own_node
restored -n kube-system rollout status deployment/coredns --timeout=3m
restored -n default create secret generic prober-pull --type=kubernetes.io/dockerconfigjson --from-file=.dockerconfigjson="$PULL_SECRET" >/dev/null
restored -n default run prober --image="$TOOLS_IMAGE" --restart=Never \
  --overrides='{"spec":{"imagePullSecrets":[{"name":"prober-pull"}]}}' --command -- sleep 600 >/dev/null
restored -n default wait pod/prober --for=condition=Ready --timeout=2m >/dev/null
until_ok 60 restored -n default exec prober -- nslookup kubernetes.default.svc.cluster.local
[ "$(guest get nodes --no-headers | awk '$2=="Ready"' | wc -l)" -eq 2 ] || fail "the original lost nodes"
echo "names are resolved in $RESTORED, and the original keeps its nodes"

hypershift destroy cluster azure --name $RESTORED --azure-creds "$AZURE_CREDS" --dns-zone-rg-name os4-common
guest -n default delete configmap backed-up too-late >/dev/null
curl -sf -o /dev/null -X DELETE -H "Authorization: Bearer $arm" "https://management.azure.com$account/blobServices/default/containers/backups?api-version=2023-01-01"
