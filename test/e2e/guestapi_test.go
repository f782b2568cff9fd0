package e2e

import (
	"encoding/base64"
	"net/netip"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// guestAPI is the program that the API server of the demo's hosted cluster calls inside it.
const guestAPI = "guestapi"

const guestAPIManifest = `apiVersion: v1
kind: ServiceAccount
metadata: {name: guestapi, namespace: guestapi}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: guestapi, namespace: kube-system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: extension-apiserver-authentication-reader}
subjects: [{kind: ServiceAccount, name: guestapi, namespace: guestapi}]
---
apiVersion: v1
kind: Service
metadata: {name: guestapi, namespace: guestapi}
spec:
  selector: {app: guestapi}
  ports: [{port: 443, targetPort: 8443}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: guestapi, namespace: guestapi}
spec:
  selector: {matchLabels: {app: guestapi}}
  template:
    metadata: {labels: {app: guestapi}}
    spec:
      serviceAccountName: guestapi
      terminationGracePeriodSeconds: 1
      containers:
        - name: guestapi
          image: quay.io/hypershift/guestapi:e2e
          imagePullPolicy: Always
          command: [/usr/bin/guestapi, serve, --dir=/etc/serving]
          ports: [{containerPort: 8443}]
          readinessProbe: {httpGet: {path: /healthz, port: 8443, scheme: HTTPS}, periodSeconds: 1}
          volumeMounts: [{name: serving, mountPath: /etc/serving, readOnly: true}]
      volumes: [{name: serving, secret: {secretName: serving}}]
`

// guestapi is the script command: it runs ./guestapi in the demo's hosted cluster as Deployment and Service "guestapi", and takes it away when
// the script is over. $CA_BUNDLE is what its certificate is trusted by.
func guestapi(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: guestapi")
	}
	guest := func(arguments ...string) {
		mustRun(ts, "kubectl", append([]string{"--kubeconfig", ts.Getenv("GUEST")}, arguments...)...)
	}
	program, manifest, image := ts.MkAbs("guestapi"), ts.MkAbs("guestapi.yaml"), "quay.io/hypershift/guestapi:e2e"
	mustRun(ts, "env", "CGO_ENABLED=0", "go", "build", "-C", ts.Getenv("REPO"), "-trimpath", "-ldflags", "-s -w", "-o", program, "./test/e2e/guestapi")
	mustRun(ts, "go", "run", "-C", ts.Getenv("REPO"), "./test/e2e/images", "program", "--from", ts.Getenv("TOOLS_IMAGE"), "--to", image, "--file", "usr/bin/guestapi="+program)
	mustRun(ts, program, "certificate", "--host", guestAPI+"."+guestAPI+".svc", "--dir", ts.MkAbs("."))
	certificate, err := os.ReadFile(ts.MkAbs("tls.crt"))
	ts.Check(err)
	set(ts, "CA_BUNDLE", base64.StdEncoding.EncodeToString(certificate))

	for _, removal := range [][]string{
		{"-n", "kube-system", "delete", "rolebinding", guestAPI, "--ignore-not-found"},
		{"delete", "namespace", guestAPI, "--ignore-not-found", "--timeout=2m"},
	} {
		guest(removal...) // a run before may have been stopped
		finally(ts, false, append([]string{"kubectl", "--kubeconfig", ts.Getenv("GUEST")}, removal...))
	}
	guest("create", "namespace", guestAPI)
	guest("-n", guestAPI, "create", "secret", "tls", "serving", "--cert", ts.MkAbs("tls.crt"), "--key", ts.MkAbs("tls.key"))
	ts.Check(os.WriteFile(manifest, []byte(guestAPIManifest), 0o600))
	guest("apply", "-f", manifest)
	guest("-n", guestAPI, "rollout", "status", "deployment/"+guestAPI, "--timeout=2m")
}

// tunnelled is the script command: tunnelled ADDRESS:PORT fails unless a node of the demo's hosted cluster or a pod of it, where the
// agents of the tunnel are, has the address: who came from there came through the tunnel.
func tunnelled(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: tunnelled ADDRESS:PORT")
	}
	seen, err := netip.ParseAddrPort(args[0])
	ts.Check(err)
	// An agent on another node than the program's comes from that node's end of the pod network.
	known, err := output(ts, "kubectl", "--kubeconfig", ts.Getenv("GUEST"), "get", "nodes", "-o",
		`jsonpath={range .items[*]}{.status.addresses[?(@.type=="InternalIP")].address}/32 {.spec.podCIDR} {end}`)
	ts.Check(err)
	for _, text := range strings.Fields(known) {
		prefix, err := netip.ParsePrefix(text)
		ts.Check(err)
		if prefix.Contains(seen.Addr()) {
			return
		}
	}
	ts.Fatalf("the API server called from %s, which is no address of the hosted cluster: %s", seen, known)
}
