# Shared by the scripts that test a sandbox with the demo's hosted cluster in it.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
. hack/demo-lib.sh
# The scripts look at Azure's wire themselves.
command -v curl >/dev/null || apt-get install -y -q curl >/dev/null || fail "curl is missing; apt-get install curl"
enter_sandbox
ISSUER_URL=$(tail -n 1 "$WORK/issuer-url")

# steady COMMAND...: waits until the command prints the same for eight seconds.
steady() {
  local last now since=$SECONDS deadline=$((SECONDS + 180))
  last=$("$@")
  while [ $((SECONDS - since)) -lt 8 ]; do
    [ $SECONDS -lt $deadline ] || fail "does not come to rest: $*"
    sleep 1
    now=$("$@")
    if [ "$now" != "$last" ]; then last=$now since=$SECONDS; fi
  done
}

# cluster_infra NAME INFRA_ID DIR: phase 1 of another cluster; its issuer's URL ends up in DIR/issuer-url. IAM_FLAGS, an array, adds flags
# of its identities.
cluster_infra() {
  local name=$1 infra=$2 dir=$3 url
  mkdir -p "$dir"
  hypershift create oidc-issuer azure --name "$name" --azure-creds "$AZURE_CREDS" --resource-group-name os4-common \
    --location "$LOCATION" --output-dir "$dir" | tail -n 1 >"$dir/issuer-url"
  url=$(cat "$dir/issuer-url")
  hypershift create iam azure --name "$name" --infra-id "$infra" --azure-creds "$AZURE_CREDS" --resource-group-name os4-common \
    --location "$LOCATION" --oidc-issuer-url "$url" --output-file "$dir/workload-identities.json" ${IAM_FLAGS[@]+"${IAM_FLAGS[@]}"}
  hypershift create infra azure --name "$name" --infra-id "$infra" --azure-creds "$AZURE_CREDS" --location "$LOCATION" \
    --base-domain "$BASE_DOMAIN" --workload-identities-file "$dir/workload-identities.json" --assign-identity-roles \
    --dns-zone-rg-name os4-common --output-file "$dir/infra.yaml"
}

# cluster_create NAME INFRA_ID DIR FLAG...: the cluster that cluster_infra prepared.
cluster_create() {
  local name=$1 infra=$2 dir=$3; shift 3
  hypershift create cluster azure --name "$name" --namespace $NAMESPACE --infra-id "$infra" --azure-creds "$AZURE_CREDS" \
    --location "$LOCATION" --base-domain "$BASE_DOMAIN" --pull-secret "$PULL_SECRET" --generate-ssh \
    --release-image "$RELEASE_IMAGE" --infra-json "$dir/infra.yaml" --oidc-issuer-url "$(cat "$dir/issuer-url")" \
    --sa-token-issuer-private-key-path "$dir/serviceaccount-signer.private" \
    --workload-identities-file "$dir/workload-identities.json" "$@"
}

# prober NAMESPACE: a pod with a shell and wget, listening on port 18080.
prober() {
  kubectl create namespace "$1" --dry-run=client -o yaml | kubectl apply -f - >/dev/null
  kubectl -n "$1" create secret generic pull-secret --type=kubernetes.io/dockerconfigjson --from-file=.dockerconfigjson="$PULL_SECRET" \
    --dry-run=client -o yaml | kubectl apply -f - >/dev/null
  kubectl -n "$1" delete pod prober --ignore-not-found --grace-period=1 >/dev/null
  kubectl -n "$1" run prober --image="$TOOLS_IMAGE" --restart=Never \
    --overrides='{"spec":{"imagePullSecrets":[{"name":"pull-secret"}]}}' --command -- \
    /bin/sh -c 'mkdir -p /tmp/w && echo probed >/tmp/w/index.html && exec httpd -f -p 18080 -h /tmp/w' >/dev/null
  kubectl -n "$1" wait pod/prober --for=condition=Ready --timeout=2m >/dev/null
}
