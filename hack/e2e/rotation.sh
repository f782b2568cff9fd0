#!/usr/bin/env bash
# Certificates are renewed when their time has come and all authorities are replaced, under load: no request fails, nothing that reads
# its certificates again is restarted, and every kubeconfig is of the new authorities. Then a former authority is taken out, and what it
# has signed is refused.
. "$(dirname "$0")/lib.sh"

DIR=$WORK/rotation OLD=$WORK/rotation/old.kubeconfig
rm -rf "$DIR"; mkdir -p "$DIR"; touch "$DIR/failures" "$DIR/cut"
umask 077
hypershift create kubeconfig --name $NAME --namespace $NAMESPACE >"$OLD"
hosted() { kubectl -n $NAMESPACE annotate hostedcluster/$NAME --overwrite "$@" >/dev/null; }
field() { kubectl -n $CPNS get secret "$1" -o jsonpath="{.data.${2//./\\.}}" | base64 -d; }
digest() { field "$1" "$2" | sha256sum; }
pods() { kubectl -n $CPNS get pods -l "app=$1" -o jsonpath='{range .items[*]}{.metadata.uid} {.status.containerStatuses[*].restartCount}{"\n"}{end}'; }
agents() { guest -n kube-system get pods -l k8s-app=konnectivity-agent -o jsonpath='{range .items[*]}{.metadata.uid}{"\n"}{end}'; }
old() { kubectl --kubeconfig "$OLD" --request-timeout=15s "$@"; }

# What clients of the cluster do all the time, with the kubeconfig of before: nothing of it ends while the test runs.
ask() { # NAME COMMAND...
  local name=$1; shift
  while [ -e "$DIR/asking" ]; do
    if "$@" >"$DIR/$name.out" 2>&1; then echo >>"$DIR/$name.ok"
    else { echo "$(date -u +%T) $name:"; cat "$DIR/$name.out"; } >>"$DIR/failures"; fi
    sleep 0.5
  done
}
# A watch learns of a change that is made after it began.
watch_change() {
  local now; now=$(date +%s%N)
  old -n default wait configmap/rotation --for=jsonpath='{.data.now}'="$now" --timeout=15s &
  sleep 0.5
  old -n default patch configmap rotation --type=merge -p "{\"data\":{\"now\":\"$now\"}}" && wait $!
}
# Nothing can keep a command that is under way when the agent ends that carries it: it is begun anew, once and at once. A command for
# which there is no agent has failed.
tunnelled() {
  "$@" 2>"$DIR/$3.err" && return
  cat "$DIR/$3.err"
  ! grep -q 'code 500' "$DIR/$3.err" || return 1
  { date -u +%T; cat "$DIR/$3.err"; } >>"$DIR/cut.log"
  echo >>"$DIR/cut"
  "$@"
}
pod=$(guest -n default get pods -l app=web -o jsonpath='{.items[0].metadata.name}')
guest -n default create configmap rotation --from-literal=now=0 --dry-run=client -o yaml | guest apply -f - >/dev/null
until_ok 120 guest -n kube-system rollout status daemonset/konnectivity-agent --timeout=2s
touch "$DIR/asking"
ask get old get --raw /api/v1/namespaces/default &
ask watch watch_change &
ask exec tunnelled old --namespace=default exec "$pod" -- true &
ask logs tunnelled old --namespace=default logs "$pod" --tail=1 &
annotations=(certificate-renewal rotate-authorities-made-before)
clean() {
  rm -f "$DIR/asking"; wait
  hosted "${annotations[@]/%/-}" || true
  guest -n default delete configmap rotation --ignore-not-found >/dev/null || true
}
annotations=("${annotations[@]/#/hypershift.openshift.io/}")
trap clean EXIT

rolled() {
  local state; state=$(kubectl -n $CPNS get controlplanecomponents -o jsonpath='{.items[*].status.conditions[?(@.type=="RolloutComplete")].status}')
  [ -n "$state" ] && [ -z "$(tr -d ' ' <<<"${state//True/}")" ]
}
carried() { # every agent shows the present certificate
  [ "$(guest -n kube-system get secret konnectivity-agent -o jsonpath='{.data.tls\.crt}' | base64 -d | sha256sum)" = "$(digest konnectivity-agent tls.crt)" ] &&
    guest -n kube-system rollout status daemonset/konnectivity-agent --timeout=2s
}
settled() { rolled && carried; }
# Since when the conditions are True that tell of an outage: a condition that was False in between has another time.
serving() {
  kubectl -n $NAMESPACE get hostedcluster $NAME -o jsonpath='{range .status.conditions[?(@.status=="True")]}{.type} {.lastTransitionTime}{"\n"}{end}' |
    grep -E '^(Available|KubeAPIServerAvailable|EtcdAvailable) '
}
leaves="kas-server-crt konnectivity-cluster konnectivity-agent kube-controller-manager kube-scheduler-client system-admin-client ignition-server"
of() { local name; for name in $1; do digest "$name" "$2"; done; }
changed() { ! grep -qxF "$3" <<<"$(of "$1" "$2")"; }

# A certificate becomes due when less than a part of its life is left: a part of which 15 s are still to pass.
steadies="etcd ignition-server"
before=$(of "$leaves" tls.crt) steady=$(for app in $steadies; do pods $app; done) passed=$(agents) served=$(serving)
left=$(($(date -d "$(field kas-server-crt tls.crt | openssl x509 -noout -enddate | cut -d= -f2)" +%s) - $(date +%s)))
hosted "hypershift.openshift.io/certificate-renewal=$(awk -v left="$left" 'BEGIN{printf "%.9f", (left-15)/(365*86400)}')"
renewed() { changed "$leaves" tls.crt "$before"; }
until_ok 120 renewed
# Agents that have not settled would be replaced all at once by the next change.
until_ok 240 settled
[ "$(for app in $steadies; do pods $app; done)" = "$steady" ] || fail "restarted by the renewal of certificates: $steadies"
passed+=$'\n'$(agents)
echo "[$(elapsed)s] certificates renewed: $(wc -w <<<"$leaves") looked at; not restarted: $steadies"

authorities="root-ca etcd-signer konnectivity-signer kas-aggregator-client-signer kube-control-plane-signer kube-apiserver-to-kubelet-signer
  system-admin-signer hcco-signer cluster-signer-ca"
former=$(of "$authorities" ca.crt) before=$(of "$leaves" tls.crt) steady=$(pods etcd)
field hcco-kubeconfig kubeconfig >"$DIR/former-operator.kubeconfig"
hosted hypershift.openshift.io/certificate-renewal- "hypershift.openshift.io/rotate-authorities-made-before=$(date -u +%FT%TZ)"
replaced() { changed "$authorities" ca.crt "$former" && renewed; }
until_ok 120 replaced
until_ok 240 rolled
[ "$(pods etcd)" = "$steady" ] || fail "etcd was restarted"
echo "[$(elapsed)s] authorities replaced: $(wc -w <<<"$authorities"), and every certificate with them"

# Every kubeconfig that is derived works against servers that show the new certificates, and trusts the new authority alone as well.
field root-ca ca.crt >"$DIR/root-ca.crt"
service=https://$(kubectl -n $CPNS get service kube-apiserver -o jsonpath='{.spec.clusterIP}'):6443
at_service() { env -u HTTPS_PROXY -u https_proxy kubectl --kubeconfig "$1" --server "$service" --tls-server-name kube-apiserver "${@:2}"; }
works() { # NAME: the kubeconfig in $DIR/derived, at its own address if that leads here, else at the Service's
  kubectl config --kubeconfig "$DIR/derived" view --raw -o jsonpath='{.clusters[0].cluster.certificate-authority-data}' | base64 -d >"$DIR/derived.ca"
  grep -qF "$(sed -n 2p "$DIR/root-ca.crt")" "$DIR/derived.ca" || fail "$1 does not trust the new authority"
  if grep -q 'server: https://\(kube-apiserver\|localhost\):' "$DIR/derived"; then
    at_service "$DIR/derived" get --raw /version
  else
    kubectl --kubeconfig "$DIR/derived" get --raw /version
  fi >/dev/null || fail "$1 does not work"
}
derived=(service-network-admin-kubeconfig localhost-kubeconfig hcco-kubeconfig kube-scheduler-kubeconfig kube-controller-manager-kubeconfig
  admin-kubeconfig bootstrap-kubeconfig)
for secret in "${derived[@]}"; do field "$secret" kubeconfig >"$DIR/derived"; works "$secret"; done
field $INFRA_ID-kubeconfig value >"$DIR/derived"; works "Cluster API's kubeconfig"
copied() { [ "$(kubectl -n $NAMESPACE get secret $NAME-admin-kubeconfig -o jsonpath='{.data.kubeconfig}' | base64 -d)" = "$(field admin-kubeconfig kubeconfig)" ]; }
until_ok 60 copied
# What the next machine would get: the user data trust the ignition server's new authority, and lead to a kubeconfig of the new one.
field ignition-server-ca-cert tls.crt >"$DIR/ignition-ca.crt"
user_data=$(kubectl -n $CPNS get secrets -o name | grep "/user-data-$NAME-" | tail -n 1)
machine_config() {
  kubectl -n $CPNS get "$user_data" -o jsonpath='{.data.value}' | base64 -d >"$DIR/user-data"
  { grep -o '"name":"[^"]*","value":"[^"]*"' | sed 's/"name":"\(.*\)","value":"\(.*\)"/header = "\1: \2"/'; } <"$DIR/user-data" >"$DIR/curlrc"
  curl -sf --max-time 10 --cacert "$DIR/ignition-ca.crt" -K "$DIR/curlrc" -o "$DIR/machine-config" "$(grep -o 'https://[^"]*/ignition' "$DIR/user-data")" &&
    grep -qF "$(base64 -w0 <"$DIR/ignition-ca.crt" | head -c 400)" "$DIR/user-data"
}
until_ok 30 machine_config
grep -o '"path":"/etc/kubernetes/kubeconfig"[^}]*}[^}]*' "$DIR/machine-config" | grep -o 'base64,[^"]*' | cut -d, -f2 | base64 -d >"$DIR/derived"
works "the machines' bootstrap kubeconfig"
echo "[$(elapsed)s] every kubeconfig trusts the new authority and works: $((${#derived[@]} + 2))"

# What a former authority has signed is accepted until it ends, or until the former is taken out.
former_operator() { at_service "$DIR/former-operator.kubeconfig" "$@" 2>&1; }
former_operator get --raw /version >/dev/null || fail "a certificate of the former authority is refused already"
kubectl -n $CPNS patch secret hcco-signer --type=json -p '[{"op":"remove","path":"/data/previous.crt"}]' >/dev/null
refused() { case "$(former_operator auth whoami)" in *Unauthorized* | *'logged in'*) ;; *) return 1 ;; esac; }
until_ok 240 refused
field hcco-kubeconfig kubeconfig >"$DIR/derived"; works hcco-kubeconfig
old get --raw /version >/dev/null || fail "another former authority is distrusted"
echo "[$(elapsed)s] what the former authority signed is refused"

until_ok 240 settled
[ "$(serving)" = "$served" ] || { diff <(echo "$served") <(serving) >&2 || true; fail "an outage was reported that was none"; }
echo "[$(elapsed)s] no outage was reported: $(awk '{print $1}' <<<"$served" | paste -sd ' ')"
clean; trap - EXIT
for name in get watch exec logs; do echo "  $name: $(wc -l <"$DIR/$name.ok") requests"; done
ended=$(comm -23 <(sort -u <<<"$passed") <(agents | sort -u) | grep -c .)
cut=$(wc -l <"$DIR/cut")
echo "  begun anew because their agent ended: $cut, with $ended agents"
[ "$cut" -le $((2 * ended)) ] || { cat "$DIR/cut.log" >&2; fail "$cut commands were cut off, and only $ended agents ended"; }
[ ! -s "$DIR/failures" ] || { cat "$DIR/failures" >&2; fail "requests failed"; }
echo "no request failed"
hypershift create kubeconfig --name $NAME --namespace $NAMESPACE >"$WORK/kubeconfig"
guest wait nodes --all --for=condition=Ready --timeout=1m >/dev/null
kubectl -n $NAMESPACE wait hostedcluster/$NAME --for=condition=Available --timeout=2m >/dev/null
