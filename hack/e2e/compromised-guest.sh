#!/usr/bin/env bash
# An administrator of the demo's hosted cluster turns against the management cluster and against another hosted cluster: its API server,
# its etcd, its identities and what it has in Azure. He can create any object in his own; each of his attempts must be refused, and what
# refused it is shown. A control before them shows that the way itself is open.
. "$(dirname "$0")/lib.sh"
. hack/e2e/compromised-guest-lib.sh

VICTIM=victim VICTIM_INFRA=victim-k3v9d VICTIM_NS=$NAMESPACE-victim DIR=$WORK/victim
mkdir -p "$DIR"
trap clean EXIT
# The other cluster has a control plane and no machines.
{ cluster_infra $VICTIM $VICTIM_INFRA "$DIR" && cluster_create $VICTIM $VICTIM_INFRA "$DIR" --node-pool-replicas -1; } >"$DIR/log" 2>&1 &
VICTIM_COMES=$!

management=$(kubectl -n default get service kubernetes -o jsonpath='{.spec.clusterIP}'):443
behind=$(kubectl -n default get endpointslices kubernetes -o jsonpath='{.endpoints[0].addresses[0]}:{.ports[0].port}')
node=$(kubectl get nodes -o jsonpath='{.items[0].status.addresses[?(@.type=="InternalIP")].address}'):10250
kubelet=$(guest get nodes -o jsonpath='{.items[0].status.addresses[?(@.type=="InternalIP")].address}')
prober attack-bystander
prober attack-stranger
# Control planes let namespaces with this label in: to them, what the attempts aim at is open.
kubectl label namespace attack-stranger network.openshift.io/policy-group=monitoring --overwrite >/dev/null
bystander=$(kubectl -n attack-bystander get pod prober -o jsonpath='{.status.podIP}'):18080
guest create namespace attack --dry-run=client -o yaml | guest apply -f - >/dev/null

echo "He asks for certificates:"
signer=kubernetes.io/kube-apiserver-client
guest delete csr attack-node attack-user --ignore-not-found >/dev/null
openssl ecparam -name prime256v1 -genkey -noout -out "$DIR/attack.key"
# The name of a program that administers the other cluster too.
control "a client certificate for a name of his choice" request attack-user /CN=system:hosted-cluster-config $signer "client auth"
answers "a client certificate of system:masters" "use of [a-z./-]* signer with system:masters group is not allowed" \
  request attack-masters /CN=mallory/O=system:masters $signer "client auth"
guest certificate approve attack-user >/dev/null
request attack-node "/O=system:nodes/CN=system:node:$VICTIM-machine" $signer-kubelet "client auth" \
  --as=system:serviceaccount:openshift-machine-config-operator:node-bootstrapper --as-group=system:serviceaccounts >/dev/null
answers "a kubelet's certificate for a machine of another cluster" "no Machine has a node[^,]*" not_approved attack-node
issued() { guest get csr attack-user -o jsonpath='{.status.certificate}' | base64 -d | grep CERTIFICATE; }
until_ok 30 issued
guest get csr attack-user -o jsonpath='{.status.certificate}' | base64 -d >"$DIR/attack.crt"
guest delete csr attack-node attack-user >/dev/null

wait $VICTIM_COMES || fail "no other cluster: $(tail -n 3 "$DIR/log")"
kubectl -n $NAMESPACE wait hostedcluster/$VICTIM --for=condition=KubeAPIServerAvailable --timeout=3m >/dev/null
hypershift create kubeconfig --name $VICTIM --namespace $NAMESPACE >"$DIR/kubeconfig"
theirs=$(server "$DIR/kubeconfig")
control "the other cluster's own administrator at $theirs" kubectl --kubeconfig "$DIR/kubeconfig" auth whoami

echo "Credentials of his cluster are shown to the other cluster, and to the management cluster:"
# Of the account that stands for the other cluster's machine provider too, for the other cluster's API server and his own.
( umask 077; printf 'users: [{name: attacker, user: {token: "%s"}}]\n' "$(guest -n kube-system create token capi-provider \
  --audience="$ISSUER_URL" --audience="$(cat "$DIR/issuer-url")" --audience=openshift)" >"$DIR/token" )
for credential in kubeconfig certificate token; do
  control "his $credential at his own cluster" "by_$credential" "$(server "$WORK/kubeconfig")"
  answers "his $credential at the other cluster" "must be logged in|Unauthorized" "by_$credential" "$theirs"
  answers "his $credential at the management cluster" "must be logged in|Unauthorized" "by_$credential" "https://$behind"
done

etcd=$(kubectl -n $VICTIM_NS get pod etcd-0 -o jsonpath='{.status.podIP}'):2379
etcd_service=$(kubectl -n $VICTIM_NS get service etcd-client -o jsonpath='{.spec.clusterIP}'):2379
api=$(kubectl -n $VICTIM_NS get pods -l app=kube-apiserver -o jsonpath='{.items[0].status.podIP}'):6443
metadata_service

echo "The API server calls a URL of his choice:"
# The kernel refuses a connection to where something listens: that it does is what a pod of no hosted cluster sees.
answers "control: his own published API is called" "x509: [a-z ]*" webhook url "$(server "$WORK/kubeconfig")/attack"
for target in "the management API, by its Service:$management" "the management API, by its address:$behind" "a pod of somebody else:$bystander" \
  "the other cluster's etcd:$etcd" "the other cluster's etcd, by its Service:$etcd_service" "the other cluster's API server, its pod:$api" \
  "the management cluster's kubelet:$node" "the metadata service of its node:169.254.169.254:80"; do
  until_ok 20 open_to_others "${target#*:}"
  control "a stranger connects to ${target#*:}" open_to_others "${target#*:}"
  answers "${target%%:*}" 'connect: connection refused' webhook url "https://${target#*:}/attack"
done

echo "The API server is sent through the tunnel: it ends in his own network, where machines and nothing else are:"
unreachable="proxy error from [^\"]* while dialing [^\"]*"
aim "$kubelet" 10250
control "a kubelet of his, as the kubelet of a forged Node" by_node
for target in "the management API's Service:$management" "the management API:$behind" "the management cluster's kubelet:$node" \
  "a pod of somebody else:$bystander" "the other cluster's etcd:$etcd" "the other cluster's API server:$api"; do
  IFS=: read -r name address port <<<"$target"
  aim "$address" "$port"
  answers "$name, as a forged Node" "$unreachable" by_node
done
forge "$kubelet" 10250
answers "control: a kubelet of his, as a forged Pod" "could not find the requested resource" by_pod 10250
answers "control: the same, behind a Service" "could not find the requested resource" by_service
answers "control: the same, for a webhook by Service" "x509: [a-z ]*" webhook service
answers "control: the same, for an aggregated API" "bad status from https://$kubelet:10250[^ ]*" aggregated "$kubelet:10250"
for target in "the other cluster's etcd:$etcd" "the management API:$behind"; do
  IFS=: read -r name address port <<<"$target"
  forge "$address" "$port"
  answers "$name, as a forged Pod" "$unreachable" by_pod "$port"
  answers "$name, behind a Service" "$unreachable" by_service
  answers "$name, for a webhook by Service" "$unreachable" webhook service
done
answers "the same, for an aggregated API" "(proxy error|no response|deadline exceeded|Client.Timeout)[^:]*" aggregated "$behind"
dialled() { guest -n kube-system logs -l k8s-app=konnectivity-agent --tail=500 | grep -F 'error dialing backend' | grep -F "dialAddress=\"$1\""; }
for target in "$etcd" "$behind"; do
  dialled "$target" >/dev/null || fail "no agent of his cluster dialled $target: who did?"
  echo "  an agent on a machine of his dialled $target, in vain"
done
guest -n attack delete service relay >/dev/null
guest -n attack create service externalname relay --external-name="etcd-client.$VICTIM_NS.svc.cluster.local" --tcp=443:2379 >/dev/null
answers "a name of the management cluster" 'unsupported service type[^:,]*' webhook service
for address in 127.0.0.1 169.254.169.254; do
  answers "$address, as an endpoint" "may not be in the [a-z-]* range" endpoints "$address" 80
  aim "$address" 80
  answers "$address, as a forged Node" "address not allowed" by_node
done

echo "Identities of his cluster are used on what is another cluster's:"
for of in ingress:openshift-ingress-operator/ingress-operator cloudProvider:kube-system/azure-cloud-provider nodePoolManagement:kube-system/capi-provider; do
  account=${of#*:}
  ( umask 077; guest -n "${account%/*}" create token "${account#*/}" --audience=openshift >"$DIR/assertion" )
  control "his $account signs in" sign_in "$(identity "${of%%:*}" "$WORK")"
  ( umask 077; sed -n 's/.*"access_token" *: *"\([^"]*\)".*/header = "Authorization: Bearer \1"/p' "$DIR/control" >"$DIR/arm" )
  answers "as the other cluster's $account" "AADSTS[0-9]+" sign_in "$(identity "${of%%:*}" "$DIR")"
  [ "${of%%:*}" = ingress ] || control "his $account on his machines" machines $NAME-$INFRA_ID
  answers "his $account on the other's machines" "AuthorizationFailed" machines $VICTIM-$VICTIM_INFRA
done

echo "Metadata of his machines:"
pod=$(guest -n default get pods -l app=web -o jsonpath='{.items[0].metadata.name}')
control "a pod of his asks for its machine" metadata "instance/compute/name?api-version=2021-02-01&format=text"
answers "and for an identity of it" "Identity not found" \
  metadata "identity/oauth2/token?api-version=2018-02-01&resource=https://management.azure.com/"

control "no machine of his has an identity in Azure" without_identity
echo "refused, every time"
