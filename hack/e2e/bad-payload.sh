#!/usr/bin/env bash
# A release that cannot be used is named in a condition and changes nothing.
. "$(dirname "$0")/lib.sh"

REPO=quay.io/openshift-release-dev/ocp-release BASE=$RELEASE_IMAGE
go build -o "$WORK/images" ./test/e2e/images
bad() { "$WORK/images" release --from "$BASE" --to "$REPO:bad-$1" "${@:2}" >/dev/null; }
bad new --version 4.99.0
bad old --version 4.7.0
bad back --version 4.20.9
bad lacking --version 4.21.1 --without etcd
bad machine --version 4.21.1 --architecture sparc64
bad text --text release-manifests/image-references=nonsense
bad arm --version 4.21.1 --architecture arm64

# Everything that a release would change.
state() {
  kubectl -n $CPNS get deployments,statefulsets,pods,machines.cluster.x-k8s.io \
    -o jsonpath='{range .items[*]}{.kind}/{.metadata.name} {.metadata.uid} {.metadata.generation}{"\n"}{end}' | sort
  guest get nodes -o jsonpath='{range .items[*]}{.metadata.name} {.metadata.uid} {.status.nodeInfo.kubeletVersion}{"\n"}{end}'
}
condition() { kubectl -n $NAMESPACE get "$1" $NAME -o jsonpath="{.status.conditions[?(@.type==\"$2\")]}"; }
says() { local text; text=$(condition "$1" "$2"); case "$text" in *"\"reason\":\"$3\""*"\"status\":\"False\""*) echo "$text" | grep -qF -- "$4" ;; *) return 1 ;; esac; }
release() { kubectl -n $NAMESPACE patch "$1" $NAME --type=merge -p "{\"spec\":{\"release\":{\"image\":\"$2\"}}}" >/dev/null; }

kubectl -n $NAMESPACE wait hostedcluster/$NAME --for=condition=Available --timeout=1m >/dev/null
steady state
BEFORE=$(state)
# refused KIND IMAGE CONDITION REASON TEXT
refused() {
  release "$1" "$2"
  until_ok 60 says "$1" "$3" "$4" "$5"
  [ "$(state)" = "$BEFORE" ] || { diff <(echo "$BEFORE") <(state) >&2 || true; fail "$2 was refused and something changed"; }
  printf '  %-12s %-60s %s %s\n' "$1" "${2##*/}" "$3" "$4"
}
refused hostedcluster $REPO:bad-new ValidReleaseImage InvalidImage "4.99.0 is not supported"
refused hostedcluster $REPO:bad-old ValidReleaseImage InvalidImage "4.7.0"
refused hostedcluster $REPO:bad-back ValidReleaseImage InvalidImage "cannot be taken back"
refused hostedcluster $REPO:bad-lacking ValidReleaseInfo MissingReleaseImages etcd
refused hostedcluster $REPO:bad-machine ValidReleaseImage PayloadArchNotFound sparc64
refused hostedcluster $REPO:bad-text ValidReleaseImage InvalidImage NotAPayload
refused hostedcluster $REPO:not-there ValidReleaseImage InvalidImage NotFound
refused hostedcluster cdn.$REPO:4.21.0-x86_64 ValidReleaseImage InvalidImage Unauthorized
release hostedcluster "$BASE"
kubectl -n $NAMESPACE wait hostedcluster/$NAME --for=condition=ValidReleaseImage --timeout=1m
kubectl -n $NAMESPACE wait hostedcluster/$NAME --for=condition=ValidReleaseInfo --timeout=1m

refused nodepool $REPO:bad-text ValidReleaseImage ValidationFailed NotAPayload
refused nodepool $REPO:bad-arm ValidArchPlatform InvalidArchPlatform "the node pool wants amd64"
release nodepool "$BASE"
kubectl -n $NAMESPACE wait nodepool/$NAME --for=condition=ValidReleaseImage --timeout=1m
[ "$(state)" = "$BEFORE" ] || fail "something changed after all"
kubectl -n $NAMESPACE wait hostedcluster/$NAME --for=condition=Available --timeout=30s
echo "refused, and nothing changed"
