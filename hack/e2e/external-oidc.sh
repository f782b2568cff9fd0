#!/usr/bin/env bash
# The users of a hosted cluster are those of Entra: a token of the tenant is who the mapping says, one for another audience is nobody,
# and switched off the cluster is as before.
. "$(dirname "$0")/lib.sh"

ISSUER=https://sts.windows.net/$AZURE_TENANT_ID/
AUDIENCE=api://hosted-demo

# entra_token AUDIENCE: of the service principal that everything here runs as.
entra_token() {
  curl -sf -d "grant_type=client_credentials&client_id=$AZURE_CLIENT_ID&scope=$1/.default" \
    --data-urlencode "client_secret@-" "https://login.microsoftonline.com/$AZURE_TENANT_ID/oauth2/v2.0/token" < <(printf %s "$AZURE_CLIENT_SECRET") |
    sed -n 's/.*"access_token" *: *"\([^"]*\)".*/\1/p'
}
# The kubeconfig without its client certificate, so that the token alone counts; the token stays out of the process list.
with_token() {
  local file=$WORK/oidc-kubeconfig
  ( umask 077
    kubectl --kubeconfig "$WORK/kubeconfig" config view --raw --flatten --minify >"$file"
    kubectl --kubeconfig "$file" config unset users >/dev/null
    kubectl --kubeconfig "$file" config set-context --current --user=entra >/dev/null
    printf 'users:\n- name: entra\n  user:\n    token: %s\n' "$1" >"$file.user" )
  shift
  KUBECONFIG=$file:$file.user kubectl "$@"
}
refused() { ! with_token "$1" auth whoami 2>"$WORK/oidc-refused" && grep -qi 'unauthorized\|logged in' "$WORK/oidc-refused"; }
authentication() { kubectl -n $NAMESPACE patch hostedcluster $NAME --type=merge -p "{\"spec\":{\"configuration\":$1}}" >/dev/null; }
# rolled FLAG_COUNT: every API server that serves runs with (1) or without (0) the configuration, and none is still coming.
configured() { [ "$(kubectl -n $CPNS get deployment kube-apiserver -o jsonpath='{.spec.template.spec.containers[0].command}' | grep -c -- --authentication-config)" = "$1" ]; }
rolled() {
  configured "$1" &&
    kubectl -n $CPNS rollout status deployment/kube-apiserver --timeout=1s
}
valid() { kubectl -n $NAMESPACE get hostedcluster $NAME -o jsonpath='{.status.conditions[?(@.type=="ValidConfiguration")].status}'; }

TOKEN=$(entra_token "$AUDIENCE") OTHER=$(entra_token api://another)
[ -n "$TOKEN" ] && [ -n "$OTHER" ] || fail "Entra gave no token"
refused "$TOKEN" || fail "the hosted cluster knows a token of Entra before it was told to"

# What cannot work is refused by name and changes nothing.
authentication '{"authentication":{"type":"OIDC","oidcProviders":[{"name":"entra","issuer":{"issuerURL":"'"$ISSUER_URL"'","audiences":["'$AUDIENCE'"]},"claimMappings":{"username":{"claim":"appid"}}}]}}'
invalid() { [ "$(valid)" = False ] && kubectl -n $NAMESPACE get hostedcluster $NAME -o jsonpath='{.status.conditions[?(@.type=="ValidConfiguration")].message}' | grep -q 'own service accounts'; }
until_ok 30 invalid
configured 0 || fail "a configuration that is refused reached the API server"
echo "the cluster's own issuer is refused: ValidConfiguration says why"

authentication '{"authentication":{"type":"OIDC","oidcProviders":[{"name":"entra","issuer":{"issuerURL":"'"$ISSUER"'","audiences":["'$AUDIENCE'"]},
  "claimMappings":{"username":{"claim":"appid","prefixPolicy":"Prefix","prefix":{"prefixString":"entra:"}},"groups":{"claim":"idtyp","prefix":"entra:"},
  "extra":[{"key":"example.com/tenant","valueExpression":"claims.tid"}]},
  "claimValidationRules":[{"type":"RequiredClaim","requiredClaim":{"claim":"tid","requiredValue":"'"$AZURE_TENANT_ID"'"}}]}]}}'
until_ok 120 rolled 1
kubectl -n $CPNS get configmap auth-config -o name >/dev/null || fail "the API server's configuration is not where it is looked for below"
until_ok 30 with_token "$TOKEN" auth whoami
with_token "$TOKEN" auth whoami -o yaml >"$WORK/whoami"
grep -q "username: entra:$AZURE_CLIENT_ID" "$WORK/whoami" && grep -q -- '- entra:app' "$WORK/whoami" && grep -q -- "- $AZURE_TENANT_ID" "$WORK/whoami" ||
  fail "the subject is not who the mapping says: $(cat "$WORK/whoami")"
echo "a token of Entra is entra:$AZURE_CLIENT_ID"
refused "$OTHER" || fail "a token for another audience is let in"
echo "a token for another audience is refused"

if with_token "$TOKEN" get nodes >/dev/null 2>"$WORK/oidc-refused"; then fail "a subject without rights reads nodes"; fi
grep -q 'Forbidden' "$WORK/oidc-refused" || fail "$(cat "$WORK/oidc-refused")"
guest create clusterrole e2e-entra --verb=get,list --resource=nodes >/dev/null
guest create clusterrolebinding e2e-entra --clusterrole=e2e-entra --group=entra:app >/dev/null
until_ok 20 with_token "$TOKEN" get nodes
guest delete clusterrolebinding/e2e-entra clusterrole/e2e-entra >/dev/null
echo "RBAC knows its group"

# What is inside the cluster goes on without the proxy: logs through the tunnel, service accounts by their own issuer.
guest -n kube-system logs "$(guest -n kube-system get pods -l k8s-app=kube-dns -o name | head -n 1)" --tail=1 >/dev/null
with_token "$(guest -n default create token default)" auth whoami >"$WORK/whoami"
grep -q 'system:serviceaccount:default:default' "$WORK/whoami" || fail "a service account is $(cat "$WORK/whoami")"
[ "$(guest get authentication cluster -o jsonpath='{.spec.type}')" = OIDC ] || fail "the guest does not show its authentication"

authentication '{"authentication":null}'
until_ok 120 rolled 0
until_ok 30 refused "$TOKEN"
guest get --raw /readyz >/dev/null
gone() { local found; found=$(kubectl -n $CPNS get configmap auth-config --ignore-not-found -o name) && [ -z "$found" ]; }
until_ok 30 gone
rm -f "$WORK"/oidc-kubeconfig*
echo "switched off: nobody of Entra is known any more"
