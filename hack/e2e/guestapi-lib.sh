# Shared by the scripts in which the API server calls something that runs in the hosted cluster.
GUESTAPI=guestapi
GUESTAPI_IMAGE=quay.io/hypershift/guestapi:e2e

# guestapi_up: namespace, Deployment and Service "guestapi" in the demo's hosted cluster; CA_BUNDLE is what its certificate is trusted by.
guestapi_up() {
  local dir=$WORK/guestapi
  mkdir -p "$dir"
  go build -o "$WORK/images" ./test/e2e/images
  CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o "$dir/guestapi" ./test/e2e/guestapi
  "$WORK/images" program --from "$TOOLS_IMAGE" --to $GUESTAPI_IMAGE --file usr/bin/guestapi="$dir/guestapi" >/dev/null
  [ -s "$dir/tls.crt" ] || "$dir/guestapi" certificate --host $GUESTAPI.$GUESTAPI.svc --dir "$dir"
  CA_BUNDLE=$(base64 -w0 <"$dir/tls.crt")
  guest create namespace $GUESTAPI --dry-run=client -o yaml | guest apply -f - >/dev/null
  guest -n $GUESTAPI create secret tls serving --cert "$dir/tls.crt" --key "$dir/tls.key" --dry-run=client -o yaml | guest apply -f - >/dev/null
  guest apply -f - >/dev/null <<YAML
apiVersion: v1
kind: ServiceAccount
metadata: {name: $GUESTAPI, namespace: $GUESTAPI}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: $GUESTAPI, namespace: kube-system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: extension-apiserver-authentication-reader}
subjects: [{kind: ServiceAccount, name: $GUESTAPI, namespace: $GUESTAPI}]
---
apiVersion: v1
kind: Service
metadata: {name: $GUESTAPI, namespace: $GUESTAPI}
spec:
  selector: {app: $GUESTAPI}
  ports: [{port: 443, targetPort: 8443}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: $GUESTAPI, namespace: $GUESTAPI}
spec:
  selector: {matchLabels: {app: $GUESTAPI}}
  template:
    metadata: {labels: {app: $GUESTAPI}}
    spec:
      serviceAccountName: $GUESTAPI
      terminationGracePeriodSeconds: 1
      containers:
        - name: $GUESTAPI
          image: $GUESTAPI_IMAGE
          imagePullPolicy: Always
          command: [/usr/bin/guestapi, serve, --dir=/etc/serving]
          ports: [{containerPort: 8443}]
          readinessProbe: {httpGet: {path: /healthz, port: 8443, scheme: HTTPS}, periodSeconds: 1}
          volumeMounts: [{name: serving, mountPath: /etc/serving, readOnly: true}]
      volumes: [{name: serving, secret: {secretName: serving}}]
YAML
  guest -n $GUESTAPI rollout status deployment/$GUESTAPI --timeout=2m >/dev/null
}

guestapi_down() {
  guest -n kube-system delete rolebinding $GUESTAPI --ignore-not-found >/dev/null
  guest delete namespace $GUESTAPI --ignore-not-found --timeout=2m >/dev/null
}

# guestapi_gone_and_back COMMAND...: the command must fail while nothing of the program runs, and succeed once it does again.
guestapi_gone_and_back() {
  guest -n $GUESTAPI scale deployment/$GUESTAPI --replicas=0 >/dev/null
  until_ok 60 not "$@"
  guest -n $GUESTAPI scale deployment/$GUESTAPI --replicas=1 >/dev/null
  until_ok 60 "$@"
}
not() { ! "$@"; }

# tunnel_gone_and_back COMMAND...: every agent of the tunnel is replaced; the command succeeds again by itself.
tunnel_gone_and_back() {
  guest -n kube-system delete pods -l k8s-app=konnectivity-agent --grace-period=1 >/dev/null
  until_ok 60 agents_ready
  until_ok 60 "$@"
}
# agents_ready: every node has an agent that is connected.
agents_ready() {
  local ready; ready=$(guest -n kube-system get pods -l k8s-app=konnectivity-agent -o jsonpath='{.items[*].status.conditions[?(@.type=="Ready")].status}')
  [ "$(tr ' ' '\n' <<<"$ready" | grep -c '^True$')" = "$(guest get nodes -o name | wc -l)" ]
}

# through_the_tunnel ADDRESS:PORT: the peer that the program saw is a node of the hosted cluster or a pod of it, where the agents are.
through_the_tunnel() {
  local seen=${1%:*} known
  known=$(guest get nodes -o jsonpath='{range .items[*]}{.status.addresses[?(@.type=="InternalIP")].address}{"\n"}{.spec.podCIDR}{"\n"}{end}')
  case "$seen" in
    10.200.*) fail "the API server called from the management cluster's pod network, $seen, and not through the tunnel" ;;
  esac
  # An agent on another node than the program's comes from that node's end of the pod network.
  local prefix
  for prefix in $known; do
    case "$prefix" in
      */24) prefix=${prefix%.*}. ;;
    esac
    case "$seen" in "$prefix"*) return 0 ;; esac
  done
  fail "the API server called from $seen, which is no address of the hosted cluster: $known"
}
