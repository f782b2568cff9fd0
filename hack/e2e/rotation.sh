#!/usr/bin/env bash
# Certificates that live minutes are renewed under load, all authorities are replaced, and no request fails; then the former
# authority of the administrator's certificate is taken out, and what it has signed is refused.
. "$(dirname "$0")/lib.sh"

DIR=$WORK/rotation OLD=$WORK/rotation/old.kubeconfig
rm -rf "$DIR"; mkdir -p "$DIR"
cp "$WORK/kubeconfig" "$OLD"; chmod 600 "$OLD"
hosted() { kubectl -n $NAMESPACE annotate hostedcluster/$NAME --overwrite "$@" >/dev/null; }
fingerprint() { kubectl -n $CPNS get secret "$1" -o jsonpath='{.data}' | sha256sum; }
field() { kubectl -n $CPNS get secret "$1" -o jsonpath="{.data.${2//./\\.}}" | base64 -d; }
served() { # the certificate at the published address
  local server; server=$(sed -n 's/^ *server: https:..//p' "$OLD")
  openssl s_client -connect "$server" </dev/null 2>/dev/null | openssl x509 -noout -fingerprint -sha256
}

# What a client of the cluster does all the time: the API through its published address, commands in pods through the tunnel.
# It keeps the kubeconfig of before: nothing of it ends while the test runs.
ask() { # NAME COMMAND...
  local name=$1; shift
  while [ -e "$DIR/asking" ]; do
    if "$@" >/dev/null 2>"$DIR/$name.err"; then echo >>"$DIR/$name.ok"
    else { date -u +%T; cat "$DIR/$name.err"; } >>"$DIR/failures"; fi
    sleep 0.5
  done
}
# Through the tunnel a command is repeated: the one that an API server has accepted ends with its tunnel when its successor is there.
again() {
  local try
  for try in 1 2 3 4 5; do
    "$@" && { [ $try -eq 1 ] || echo >>"$DIR/repeated"; return 0; }
    sleep 1
  done
  return 1
}
touch "$DIR/asking"
old() { kubectl --kubeconfig "$OLD" --request-timeout=20s "$@"; }
ask api old get --raw /api/v1/namespaces/default &
ask write old -n default annotate serviceaccount default "e2e/rotation=$RANDOM" --overwrite &
ask exec again old -n default exec deployment/web -- true &
ask logs again old -n default logs deployment/web --tail=1 &
trap 'rm -f "$DIR/asking"; wait' EXIT

authorities="root-ca etcd-signer konnectivity-signer kas-aggregator-client-signer kube-control-plane-signer kube-apiserver-to-kubelet-signer
  system-admin-signer hcco-signer cluster-signer-ca ignition-server-ca-cert"
before=$(for a in $authorities; do fingerprint $a; done)
# A certificate of an hour that is renewed when less than 59 minutes are left; and every authority that is older than now.
hosted hypershift.openshift.io/certificate-validity=1h hypershift.openshift.io/certificate-renewal=0.98
told() { kubectl -n $CPNS get pods -l app=control-plane-operator -o jsonpath='{.items[*].spec.containers[0].env[?(@.name=="CERTIFICATE_VALIDITY")].value}' | grep -qx 1h; }
until_ok 60 told
hosted "hypershift.openshift.io/rotate-authorities-made-before=$(date -u +%FT%TZ)"
replaced() { ! grep -qxF "$before" <(for a in $authorities; do fingerprint $a; done) && ! field system-admin-client tls.crt | openssl x509 -noout -checkend 3700; }
until_ok 180 replaced
echo "authorities replaced: $(echo $authorities | wc -w)"

for round in 1 2; do
  last=$(served)
  renewed() { local now; now=$(served); [ -n "$now" ] && [ "$now" != "$last" ]; }
  until_ok 300 renewed
  echo "certificate renewed and served, round $round"
done

# Back to a year: an hour is less than the thirty days that must be left, so everything is renewed once more.
hosted hypershift.openshift.io/certificate-validity- hypershift.openshift.io/certificate-renewal- hypershift.openshift.io/rotate-authorities-made-before-
year() { for c in kas-server-crt konnectivity-cluster kube-controller-manager; do field $c tls.crt | openssl x509 -noout -checkend 8640000 >/dev/null || return 1; done; }
until_ok 180 year
rolled() { ! kubectl -n $CPNS get controlplanecomponents -o jsonpath='{range .items[*]}{.status.conditions[?(@.type=="RolloutComplete")].status}{"\n"}{end}' | grep -v True; }
until_ok 300 rolled
until_ok 180 guest -n kube-system rollout status daemonset/konnectivity-agent --timeout=5s

rm -f "$DIR/asking"; wait; trap - EXIT
for name in api write exec logs; do echo "  $name: $(wc -l <"$DIR/$name.ok") requests"; done
[ ! -s "$DIR/failures" ] || { cat "$DIR/failures" >&2; fail "$(grep -c '^[0-9][0-9]:' "$DIR/failures") requests failed"; }
echo "no request failed; $(cat "$DIR/repeated" 2>/dev/null | wc -l) commands through the tunnel were repeated"

# Every kubeconfig that is derived works, with the new authorities alone.
port=$(kubectl -n $CPNS get service kube-apiserver -o jsonpath='{.spec.clusterIP}'):6443
works() { # SECRET KEY
  field "$1" "$2" >"$DIR/config"; chmod 600 "$DIR/config"
  case $1 in
    *admin-kubeconfig | bootstrap-kubeconfig) [ "$1" != service-network-admin-kubeconfig ] ;;
    *) false ;;
  esac && { kubectl --kubeconfig "$DIR/config" get --raw /version; return; }
  kubectl --kubeconfig "$DIR/config" --server "https://$port" --tls-server-name kube-apiserver get --raw /version
}
for secret in admin-kubeconfig bootstrap-kubeconfig service-network-admin-kubeconfig localhost-kubeconfig hcco-kubeconfig kube-scheduler-kubeconfig \
  kube-controller-manager-kubeconfig; do works $secret kubeconfig >/dev/null || fail "$secret does not work"; done
works $INFRA_ID-kubeconfig value >/dev/null || fail "Cluster API's kubeconfig does not work"
copied() { [ "$(kubectl -n $NAMESPACE get secret $NAME-admin-kubeconfig -o jsonpath='{.data.kubeconfig}')" = "$(kubectl -n $CPNS get secret admin-kubeconfig -o jsonpath='{.data.kubeconfig}')" ]; }
until_ok 60 copied
echo "every kubeconfig works"

# The former authority is trusted until nothing of its certificates is valid any more, or until it is taken out.
old get --raw /version >/dev/null || fail "the former kubeconfig stopped too early"
kubectl -n $CPNS patch secret system-admin-signer --type=json -p '[{"op":"remove","path":"/data/previous.crt"}]' >/dev/null
hypershift create kubeconfig --name $NAME --namespace $NAMESPACE >"$WORK/kubeconfig"; chmod 600 "$WORK/kubeconfig"
refused() { old auth whoami 2>&1 | grep -qi -e unauthorized -e 'logged in'; }
until_ok 240 refused
guest get --raw /version >/dev/null
echo "what the former authority signed is refused"
wait_nodes
until_ok 120 guest -n default exec deployment/web -- true
kubectl -n $NAMESPACE wait hostedcluster/$NAME --for=condition=Available --timeout=2m >/dev/null
