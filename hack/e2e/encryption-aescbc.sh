#!/usr/bin/env bash
# Secrets lie encrypted in the etcd of the demo's hosted cluster, and a new key takes over without a Secret being lost.
. "$(dirname "$0")/lib.sh"
. hack/e2e/encryption-lib.sh

KEY_SECRET=$NAME-etcd-encryption-key WORD=open-sesame KEY=/kubernetes.io/secrets/default/sealed
key_name() { stored $CPNS $KEY | grep -ao 'k8s:enc:aescbc:v1:key-[0-9]*:' | head -n 1; }
rotation() { kubectl -n $NAMESPACE get hostedcluster $NAME -o jsonpath='{.status.secretEncryption.history[0].state}'; }
began() { kubectl -n $NAMESPACE get hostedcluster $NAME -o jsonpath='{.status.secretEncryption.history[0].startedTime}'; }
in_progress() { [ "$(began)" != "$before" ]; }
completed() { [ "$(began)" != "$before" ] && [ "$(rotation)" = Completed ]; }
servers() { kubectl -n $CPNS get pods -l app=kube-apiserver -o jsonpath="$1"; }
alone() { [ "$(servers '{.items[*].metadata.name}' | wc -w)" = 1 ]; }

guest -n default create secret generic sealed --from-literal=word=$WORD --dry-run=client -o yaml | guest apply -f - >/dev/null
sealed $CPNS $KEY k8s:enc:aescbc:v1:key- $WORD || fail "the Secret lies in etcd in clear text"
old=$(key_name)
echo "etcd holds ciphertext: $old..."

# A key that is none is refused by name, and changes nothing.
good=$(kubectl -n $NAMESPACE get secret "$KEY_SECRET" -o jsonpath='{.data.key}')
replace_key() { kubectl -n $NAMESPACE patch secret "$KEY_SECRET" --type=merge -p "{\"data\":{\"key\":\"$1\"}}" >/dev/null; }
names_the_key() {
  kubectl -n $NAMESPACE get hostedcluster $NAME -o jsonpath='{.status.conditions[?(@.type=="ValidConfiguration")]}' | grep -q "False.*$KEY_SECRET\|$KEY_SECRET.*False"
}
before=$(began)
replace_key "$(printf short | base64)"
until_ok 30 names_the_key
replace_key "$good"
until_ok 30 condition_is $NAME ValidConfiguration True
! in_progress || fail "a malformed key began a rotation"
echo "a malformed key is named and changes nothing"

replace_key "$(head -c 32 /dev/urandom | base64 -w0)"
until_ok 60 in_progress
condition_is $NAME EtcdDataEncryptionUpToDate False || fail "the rotation runs, and EtcdDataEncryptionUpToDate is not False"
# The state is in the status: a new operator goes on from there.
kubectl -n $CPNS delete pod -l app=control-plane-operator --wait=false >/dev/null
# An API server takes its leave for more than a minute, and the rotation waits for that twice.
until_ok 600 completed
until_ok 60 condition_is $NAME EtcdDataEncryptionUpToDate True

new=$(key_name)
[ "$new" != "$old" ] || fail "the Secret is still encrypted with $old"
sealed $CPNS $KEY "$new" $WORD || fail "the Secret is not encrypted with the new key"
[ "$(stored $CPNS --prefix /kubernetes.io/secrets/ | grep -ac "$old")" = 0 ] || fail "etcd still holds Secrets that are encrypted with the old key"
kubectl -n $CPNS rollout status deployment/kube-apiserver --timeout=5m >/dev/null
[ "$(kubectl -n $CPNS get secret kas-secret-encryption-config -o jsonpath='{.data.config\.yaml}' | base64 -d | grep -c 'name: key-')" = 1 ] ||
  fail "the API server still has the old key"
[ "$(guest -n default get secret sealed -o jsonpath='{.data.word}' | base64 -d)" = $WORD ] || fail "the Secret cannot be read with the new key"
guest -n default delete secret sealed >/dev/null
until_ok 300 alone
until_ok 120 condition_is $NAME DataPlaneConnectionAvailable True
guest wait nodes --all --for=condition=Ready --timeout=2m
echo "rotated: ${old%:} is gone, everything is encrypted with ${new%:}"
