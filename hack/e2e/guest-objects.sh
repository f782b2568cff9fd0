#!/usr/bin/env bash
# What a hosted cluster says of itself: its version and its operators as they are, also when something breaks; its configuration as the
# HostedCluster has it, whatever somebody inside does to it.
. "$(dirname "$0")/lib.sh"

# co NAME COLUMN: a column of `kubectl get co`.
co() { guest get co "$1" --no-headers | awk -v n="$2" '{print $n}'; }
is() { [ "$(co "$1" 3)" = "$2" ]; }
VERSION=$(kubectl -n $NAMESPACE get hostedcluster $NAME -o jsonpath='{.status.version.history[0].version}')
healthy() {
  local all; all=$(guest get co --no-headers)
  [ "$(echo "$all" | wc -l)" -ge 7 ] && ! echo "$all" | awk -v v="$VERSION" '$2!=v || $3!="True" || $4!="False" || $5!="False" {bad=1} END {exit !bad}'
}
condition() { kubectl -n $NAMESPACE get hostedcluster $NAME -o jsonpath="{.status.conditions[?(@.type==\"$1\")].status}"; }
condition_is() { [ "$(condition "$1")" = "$2" ]; }

until_ok 60 healthy
show_guest get clusterversion
show_guest get co
[ "$(guest get clusterversion version --no-headers | awk '{print $2, $3, $4}')" = "$VERSION True False" ] || fail "the ClusterVersion is not $VERSION, available and at rest"
[ "$(guest get clusterversion version -o jsonpath='{.spec.clusterID}')" = "$(kubectl -n $NAMESPACE get hostedcluster $NAME -o jsonpath='{.spec.clusterID}')" ] || fail "another cluster id"
echo "versions and operators answer"

# Name service that has nowhere to run: its operator says so, and the version after it.
guest get nodes -o name | xargs -n 1 kubectl --kubeconfig "$WORK/kubeconfig" cordon >/dev/null
guest -n kube-system delete pods -l k8s-app=kube-dns --wait=false >/dev/null
until_ok 30 is dns False
# A controller manager that was taken away.
kubectl -n $NAMESPACE annotate hostedcluster $NAME hypershift.openshift.io/debug-deployments=kube-controller-manager >/dev/null
until_ok 30 is kube-controller-manager False
until_ok 90 condition_is ClusterVersionSucceeding False
guest get clusterversion version -o jsonpath='{.status.conditions[?(@.type=="Failing")].message}' | grep 'is not available'
kubectl -n $NAMESPACE annotate hostedcluster $NAME hypershift.openshift.io/debug-deployments- >/dev/null
guest get nodes -o name | xargs -n 1 kubectl --kubeconfig "$WORK/kubeconfig" uncordon >/dev/null
until_ok 90 healthy
until_ok 60 condition_is ClusterVersionSucceeding True
echo "what breaks is shown, and heals"

# Somebody inside changes and deletes: it comes back. What comes back at once is another object, and a kubectl that waits may miss that it was gone.
uid() { guest get "$1" -o jsonpath='{.metadata.uid}'; }
another() { local now; now=$(uid "$1") && [ "$now" != "$2" ]; }
for victim in clusteroperator/dns crd/dnses.config.openshift.io; do
  was=$(uid $victim)
  guest delete $victim --wait=false >/dev/null
  until_ok 60 another $victim "$was"
done
corefile() { guest -n kube-system get configmap coredns -o jsonpath='{.data.Corefile}'; }
was=$(corefile)
guest -n kube-system patch configmap coredns --type=merge -p '{"data":{"Corefile":"broken"}}' >/dev/null
domain() { [ "$(guest get dns.config.openshift.io cluster -o jsonpath='{.spec.baseDomain}')" = "$NAME.$BASE_DOMAIN" ]; }
until_ok 60 domain
until_ok 30 is dns True
as_before() { [ -n "$was" ] && [ "$(corefile)" = "$was" ]; }
until_ok 30 as_before
echo "drift is repaired"

field() { guest get "$1.config.openshift.io" cluster -o jsonpath="{$2}"; }
[ "$(field infrastructure .status.controlPlaneTopology)/$(field infrastructure .status.infrastructureName)" = "External/$INFRA_ID" ] || fail "Infrastructure: $(field infrastructure .status)"
[ "$(field infrastructure .status.apiServerURL)" = "$(guest config view --minify -o jsonpath='{.clusters[0].cluster.server}')" ] || fail "Infrastructure: $(field infrastructure .status.apiServerURL)"
[ "$(field ingress .spec.domain)" = "apps.$NAME.$BASE_DOMAIN" ] || fail "Ingress: $(field ingress .spec)"
[ "$(field authentication .spec.serviceAccountIssuer)" = "$ISSUER_URL" ] || fail "Authentication: $(field authentication .spec)"
[ "$(field network '.spec.serviceNetwork[0]')" = "$(kubectl -n $NAMESPACE get hostedcluster $NAME -o jsonpath='{.spec.networking.serviceNetwork[0].cidr}')" ] || fail "Network: $(field network .spec)"
echo "the configuration is the HostedCluster's"

# Nodes say that they reach the control plane; the condition is theirs.
until_ok 90 condition_is ControlPlaneConnectionAvailable True
said=$(guest -n kube-system get configmap control-plane-connectivity-check -o jsonpath='{.data.lastSucceeded}')
[ $(($(date +%s) - $(date -d "$said" +%s))) -lt 300 ] || fail "a node reached the control plane at $said last"
echo "nodes reach the control plane"

# The API server must not be made to call what is beside it.
cat >"$WORK/webhook.yaml" <<YAML
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: inward}
webhooks:
- name: inward.example.com
  clientConfig: {url: "https://etcd-client.$CPNS.svc:2379/x"}
  rules: [{operations: [CREATE], apiGroups: [example.com], apiVersions: [v1], resources: [nothing]}]
  sideEffects: None
  admissionReviewVersions: [v1]
YAML
guest create -f "$WORK/webhook.yaml" >/dev/null
no_webhook() { local found; found=$(guest get validatingwebhookconfiguration inward --ignore-not-found -o name) && [ -z "$found" ]; }
until_ok 30 no_webhook
echo "no webhook calls the control plane"

# A kube-proxy that begins anew finds its own rules in the kernel, and takes none of them for somebody else's.
guest -n kube-system delete pods -l k8s-app=kube-proxy --grace-period=1 >/dev/null
guest -n kube-system rollout status daemonset/kube-proxy --timeout=1m >/dev/null
in_step() {
  local pod log pods; pods=$(guest -n kube-system get pods -l k8s-app=kube-proxy -o name)
  for pod in $pods; do
    log=$(guest -n kube-system logs "$pod")
    grep -q 'SyncProxyRules complete.*IPv4' <<<"$log" || return 1
  done
}
until_ok 60 in_step
for pod in $(guest -n default get pods -l app=web -o name); do
  guest -n default exec "$pod" -- timeout 10 wget -qO- http://web/ >/dev/null || fail "Services are gone since kube-proxy began anew: $pod"
done
echo "Services outlive kube-proxy"
