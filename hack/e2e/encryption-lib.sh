# Shared by the scripts about Secrets in etcd. Needs lib.sh.

# stored CPNS KEY: the bytes that etcd of a hosted cluster holds under a key.
stored() {
  kubectl -n "$1" exec etcd-0 -c etcd -- /bin/etcdctl --endpoints=https://localhost:2379 --cacert=/etc/etcd/tls/ca/ca.crt \
    --cert=/etc/etcd/tls/server/server.crt --key=/etc/etcd/tls/server/server.key get "${@:2}" --print-value-only
}

# sealed CPNS KEY PREFIX WORD: what is stored under the key begins with the prefix and does not show the word.
sealed() {
  stored "$1" "$2" >"$WORK/stored"
  grep -aq "^$3" "$WORK/stored" || { echo "etcd holds under $2: $(head -c 40 "$WORK/stored" | tr -cd '[:print:]')" >&2; return 1; }
  ! grep -aq "$4" "$WORK/stored"
}

# condition_is CLUSTER TYPE STATUS: the condition of a HostedCluster has the status.
condition_is() { [ "$(kubectl -n $NAMESPACE get hostedcluster "$1" -o jsonpath="{.status.conditions[?(@.type==\"$2\")].status}")" = "$3" ]; }
