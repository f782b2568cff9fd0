# shellcheck shell=bash
# The demo's phases, shared with the tests. Needs lib.sh.

NAME=demo
INFRA_ID=demo-h4k2p
NAMESPACE=clusters
CPNS=$NAMESPACE-$NAME

# mark NAME SECONDS keeps a figure for the end.
mark() { FIGURES+=("$1=$2"); }
FIGURES=()

enter_sandbox() {
  eval "$(hypershift sandbox env)"
  WORK=${HYPERSHIFT_SANDBOX_DIR:?}/demo
  mkdir -p "$WORK"
}

# the environment from before may know another PATH than hack/lib.sh made
leave_sandbox() { eval "$(hypershift sandbox env --unset)"; export PATH="$PWD/bin:$PATH"; }

phase1() {
  show hypershift create oidc-issuer azure --name $NAME --azure-creds "$AZURE_CREDS" \
    --resource-group-name os4-common --location "$LOCATION" --output-dir "$WORK" | tee "$WORK/issuer-url"
  ISSUER_URL=$(tail -n 1 "$WORK/issuer-url")
  show hypershift create iam azure --name $NAME --infra-id $INFRA_ID --azure-creds "$AZURE_CREDS" \
    --resource-group-name os4-common --location "$LOCATION" --oidc-issuer-url "$ISSUER_URL" \
    --output-file "$WORK/workload-identities.json"
  show hypershift create infra azure --name $NAME --infra-id $INFRA_ID --azure-creds "$AZURE_CREDS" \
    --location "$LOCATION" --base-domain "$BASE_DOMAIN" --workload-identities-file "$WORK/workload-identities.json" \
    --assign-identity-roles --dns-zone-rg-name os4-common --output-file "$WORK/infra.yaml"
}

phase2() {
  show hypershift install --pull-secret "$PULL_SECRET" --limit-crd-install Azure --wait-until-available
}

phase3() {
  APPLIED=$(date +%s.%N)
  if kubectl -n $NAMESPACE get hostedcluster $NAME >/dev/null 2>&1; then
    echo "  hosted cluster $NAME exists and is kept"
  else
    show hypershift create cluster azure --name $NAME --namespace $NAMESPACE --infra-id $INFRA_ID \
      --azure-creds "$AZURE_CREDS" --location "$LOCATION" --node-pool-replicas 2 --base-domain "$BASE_DOMAIN" \
      --pull-secret "$PULL_SECRET" --generate-ssh --release-image "$RELEASE_IMAGE" --infra-json "$WORK/infra.yaml" \
      --sa-token-issuer-private-key-path "$WORK/serviceaccount-signer.private" --oidc-issuer-url "$ISSUER_URL" \
      --workload-identities-file "$WORK/workload-identities.json" --diagnostics-storage-account-type Managed
    FRESH=yes
  fi
  APPLIED=$(date +%s.%N)
  show kubectl -n $NAMESPACE wait hostedcluster/$NAME --for=condition=KubeAPIServerAvailable --timeout=10m
  mark apiserver_available "$(since)"
  show kubectl -n $NAMESPACE wait hostedcluster/$NAME --for=condition=Available --timeout=10m
  mark hosted_cluster_available "$(since)"
  [ -z "${FRESH:-}" ] || breakdown
  hypershift create kubeconfig --name $NAME --namespace $NAMESPACE >"$WORK/kubeconfig"
  chmod 600 "$WORK/kubeconfig"
  wait_nodes
  mark two_workers_ready "$(since)"
}

since() { awk -v a="$APPLIED" -v b="$(date +%s.%N)" 'BEGIN{printf "%.1f", b-a}'; }

# show a kubectl command of the hosted cluster, then run it
show_guest() { printf '  \033[36m$ kubectl %s\033[0m\n' "$*"; guest "$@"; }
guest() { kubectl --kubeconfig "$WORK/kubeconfig" "$@"; }

wait_nodes() {
  local deadline=$((SECONDS + 600)) ready=0
  while [ $SECONDS -lt $deadline ]; do
    ready=$(guest get nodes --no-headers 2>/dev/null | awk '$2=="Ready"' | wc -l) || ready=0 # the API server may just be replaced
    [ "$ready" -ge 2 ] && return 0
    sleep 0.5
  done
  kubectl -n $NAMESPACE get nodepool,hostedcluster >&2 || true
  fail "$ready of 2 workers are Ready after 10 minutes; see \`kubectl -n $NAMESPACE describe nodepool $NAME\` and \`hypershift sandbox status\`"
}

result() {
  show hypershift create kubeconfig --name $NAME --namespace $NAMESPACE >/dev/null
  echo "  \$ export KUBECONFIG=$WORK/kubeconfig"
  show_guest get nodes -o wide
  # the image of the payload that has a shell and a web server
  sed "s|image: tools|image: $TOOLS_IMAGE|" hack/demo-web.yaml | guest apply -f - >/dev/null
  guest -n kube-system rollout status deployment/coredns --timeout=3m
  show_guest -n default rollout status deployment/web --timeout=3m
  show_guest -n default get pods -o wide
  local pods ips; mapfile -t pods < <(guest -n default get pods -l app=web -o jsonpath='{range .items[*]}{.metadata.name}{"\n"}{end}')
  mapfile -t ips < <(guest -n default get pods -l app=web -o jsonpath='{range .items[*]}{.status.podIP}{"\n"}{end}')
  # The kubelets' certificates are signed, and the name server's and the Service's addresses reach every node, within seconds.
  local deadline=$((SECONDS + 60))
  until guest -n default logs "${pods[0]}" --tail=1 >/dev/null 2>&1; do
    [ $SECONDS -lt $deadline ] || fail "the kubelet does not show the log of pod ${pods[0]} after 60 s; see \`kubectl get csr\` of the hosted cluster"
    sleep 0.5
  done
  show_guest -n default logs "${pods[0]}" --tail=2
  until guest -n default exec "${pods[0]}" -- timeout 5 wget -qO- http://web/ >/dev/null 2>&1; do
    [ $SECONDS -lt $deadline ] || fail "the Service web does not answer by its name after 60 s; see \`kubectl -n kube-system get pods\` of the hosted cluster"
    sleep 0.5
  done
  echo "  pod on node A -> pod on node B, a ClusterIP, and kubernetes.default:"
  show_guest -n default exec "${pods[0]}" -- timeout 5 wget -qO- "http://${ips[1]}:8080/"
  show_guest -n default exec "${pods[0]}" -- timeout 5 wget -qO- http://web/
  guest -n default exec "${pods[0]}" -- sh -c 'timeout 5 wget -qO- --no-check-certificate https://kubernetes.default/version 2>&1 || true' | grep -E 'gitVersion|401|403' ||
    fail "kubernetes.default does not answer inside the hosted cluster"
}

# Anonymous memory of the hosted control plane's pods, MiB.
control_plane_memory() {
  local total=0 uid f v
  for uid in $(kubectl -n $CPNS get pods -o jsonpath='{.items[*].metadata.uid}'); do
    for f in $(find /sys/fs/cgroup -path "*pod$uid*" \( -path '*/memory/*' -name memory.stat -o -name memory.stat \) -prune 2>/dev/null | awk -F/ '{print NF, $0}' | sort -n | head -n 1 | cut -d' ' -f2-); do
      v=$(awk '$1=="total_rss"||$1=="anon"{print $2; exit}' "$f"); total=$((total + ${v:-0}))
    done
  done
  echo $((total / 1048576))
}

# When each component was available first, in seconds since the HostedCluster was made.
breakdown() {
  local created name at
  created=$(date -d "$(kubectl -n $NAMESPACE get hostedcluster $NAME -o jsonpath='{.metadata.creationTimestamp}')" +%s)
  while read -r name at; do
    if [ -n "$at" ]; then mark "  $name" "$(($(date -d "$at" +%s) - created))"; fi
  done < <(kubectl -n $CPNS get controlplanecomponents -o \
    jsonpath='{range .items[*]}{.metadata.name} {.status.conditions[?(@.type=="Available")].lastTransitionTime}{"\n"}{end}' | sort -k 2)
}

figures() {
  mark control_plane_anonymous_mib "$(control_plane_memory)"
  mark total "$(elapsed)"
  step "Figures"
  local f
  for f in "${FIGURES[@]}"; do printf '  %-32s %s\n' "${f%%=*}" "${f#*=}"; done
}

next_steps() {
  cat <<EOF

Three commands to try next (first: eval "\$(hypershift sandbox env)"):
  kubectl -n $NAMESPACE scale nodepool/$NAME --replicas=3
  kubectl -n $CPNS get pods
  hypershift destroy cluster azure --name $NAME --azure-creds "\$AZURE_CREDS"
EOF
}
