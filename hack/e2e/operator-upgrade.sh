#!/usr/bin/env bash
# Another version of the operator takes over live hosted clusters, and hands them back: no pod of theirs notices.
. "$(dirname "$0")/lib.sh"

NEXT=v9.9.9-next DIR=$WORK/upgrade MODULE=github.com/hypershift-on-azure/hypershift
OPERATOR=$(kubectl -n hypershift get deployment operator -o jsonpath='{.spec.template.spec.containers[0].image}')
mkdir -p "$DIR"
go build -o "$WORK/images" ./test/e2e/images
CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X $MODULE/internal/version.Version=$NEXT" -o "$DIR/" ./cmd/hypershift ./cmd/hypershift-operator
"$WORK/images" program --from "$OPERATOR" --to "${OPERATOR%:*}:$NEXT" --file usr/bin/hypershift-operator="$DIR/hypershift-operator"

# The pods of the hosted cluster, and how often their containers were started; not those that are ending already.
STARTS='{{range .items}}{{if not .metadata.deletionTimestamp}}{{.metadata.name}} {{.metadata.uid}}{{range .status.containerStatuses}} {{.name}}={{.restartCount}}{{end}}{{"\n"}}{{end}}{{end}}'
pods() {
  kubectl -n $CPNS get pods -o go-template="$STARTS" | sort
  guest get pods -A -o go-template="$STARTS" | sort
}
history() { kubectl -n $NAMESPACE get hostedcluster $NAME -o jsonpath='{.status.version.history}'; }
# undisturbed WHAT: the new operator has seen the cluster, and nothing of it is another.
undisturbed() {
  kubectl -n $NAMESPACE annotate hostedcluster $NAME "e2e/seen-by=$1" --overwrite >/dev/null
  kubectl -n $NAMESPACE wait hostedcluster/$NAME --for=condition=Available --timeout=2m >/dev/null
  sleep 10
  [ "$(pods)" = "$BEFORE" ] || { diff <(echo "$BEFORE") <(pods) >&2 || true; fail "pods of the hosted cluster changed with the operator: $1"; }
  [ "$(history)" = "$HISTORY" ] || fail "the version history changed with the operator: $(history)"
  guest get --raw /readyz >/dev/null
}
# runs IMAGE: all pods of the operator have it.
runs() { [ "$(kubectl -n hypershift get pods -l name=operator -o jsonpath='{range .items[*]}{.spec.containers[0].image}{"\n"}{end}' | sort -u)" = "$1" ]; }

steady pods
BEFORE=$(pods) HISTORY=$(history)

"$DIR/hypershift" install --pull-secret "$PULL_SECRET" --limit-crd-install Azure --wait-until-available >/dev/null
until_ok 120 runs "${OPERATOR%:*}:$NEXT"
undisturbed upgrade
echo "upgraded to $NEXT: $(echo "$BEFORE" | wc -l) pods undisturbed"

# The new operator does work: a scale goes through it.
kubectl -n $NAMESPACE scale nodepool/$NAME --replicas=3
three() { [ "$(guest get nodes --no-headers | awk '$2=="Ready"' | wc -l)" -eq 3 ]; }
until_ok 240 three
kubectl -n $NAMESPACE scale nodepool/$NAME --replicas=2
two() { [ "$(guest get nodes --no-headers | wc -l)" -eq 2 ] && [ "$(kubectl -n $CPNS get machines.cluster.x-k8s.io --no-headers | wc -l)" -eq 2 ]; }
until_ok 240 two
steady pods
BEFORE=$(pods)

hypershift install --pull-secret "$PULL_SECRET" --limit-crd-install Azure --hypershift-image "$OPERATOR" --wait-until-available >/dev/null
until_ok 120 runs "$OPERATOR"
undisturbed rollback

# Nobody takes the operator away from a live cluster by mistake.
if hypershift uninstall 2>"$DIR/refused"; then fail "uninstall did not refuse while a hosted cluster exists"; fi
grep -F "HostedCluster $NAMESPACE/$NAME" "$DIR/refused"
echo "rolled back: undisturbed"
