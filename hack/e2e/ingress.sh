#!/usr/bin/env bash
# An application of the hosted cluster answers by its name: the record leads to the router's load balancer, the certificate is the
# cluster's. Other names get nothing, and with its Ingress the application is gone.
. "$(dirname "$0")/lib.sh"
DOMAIN=apps.$NAME.$BASE_DOMAIN HOST=web.apps.$NAME.$BASE_DOMAIN
CA=$(mktemp)
trap 'guest -n default delete ingress web --ignore-not-found >/dev/null 2>&1; kubectl -n default delete pod prober --grace-period=1 >/dev/null 2>&1; rm -f "$CA"' EXIT
prober default

ready() { [ "$(kubectl -n $NAMESPACE get hostedcluster $NAME -o jsonpath='{.status.conditions[?(@.type=="IngressDNSReady")].status}')" = True ]; }
until_ok 120 ready
address=$(guest -n openshift-ingress get service router-default -o jsonpath='{.status.loadBalancer.ingress[0].ip}')
kubectl -n $CPNS get configmap root-ca -o jsonpath='{.data.ca\.crt}' >"$CA"

# The record, asked of Azure's own DNS; inside the virtual network the private zone answers.
resolves() { kubectl -n default exec prober -- nslookup "$HOST" 198.18.0.1 | grep -q "^Address.*$address$"; }
until_ok 30 resolves
inside=$(guest -n default exec deployment/web -- nslookup "$HOST" 2>&1 || true)
grep -qF "$address" <<<"$inside" || fail "the name does not resolve inside the cluster: $inside"
echo "$HOST is $address, outside and inside"

# By the name alone; the proxy on the way asks the same DNS.
get() { curl -s --max-time 5 --cacert "$CA" -o /dev/null -w '%{http_code}' "https://$1/"; }
gone() { [ "$(get "$HOST")" = 404 ]; }
until_ok 30 gone

guest -n default create ingress web --rule="$HOST/*=web:80"
[ "$(guest -n default get ingress web -o jsonpath='{.spec.ingressClassName}')" = openshift-default ] || fail "the Ingress has no default class"
served() { [ "$(get "$HOST")" = 200 ]; }
until_ok 60 served
content=$(curl -s --cacert "$CA" "https://$HOST/")
grep -qxF "pod/$content" <<<"$(guest -n default get pods -l app=web -o name)" || fail "answered by something else: $content"
echo "https://$HOST/ is served by $content, with a certificate of the cluster's authority"
[ "$(get "other.$DOMAIN")" = 404 ] || fail "a name that nobody serves answers"

guest -n default delete ingress web
until_ok 60 gone
echo "a foreign name is not served, and without its Ingress the application is gone"
