package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// forged are what an administrator of the demo's hosted cluster makes in its namespace "attack" to have his API server call somebody.
const (
	forgedWebhook = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: attack}
webhooks:
  - name: attack.e2e.hypershift.test
    clientConfig: {%s}
    rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: attack}}
    failurePolicy: Fail
    sideEffects: None
    timeoutSeconds: 10
    admissionReviewVersions: [v1]
`
	forgedNode = `apiVersion: v1
kind: Node
metadata: {name: forged}
`
	forgedPod = `apiVersion: v1
kind: Pod
metadata: {name: forged, namespace: attack}
spec: {nodeName: forged, terminationGracePeriodSeconds: 0, containers: [{name: forged, image: forged}]}
---
apiVersion: v1
kind: Service
metadata: {name: relay, namespace: attack}
spec: {ports: [{port: 443, targetPort: %[2]s}]}
---
apiVersion: v1
kind: Endpoints
metadata: {name: relay, namespace: attack, labels: {endpointslice.kubernetes.io/skip-mirror: "true"}}
subsets: [{addresses: [{ip: %[1]s, targetRef: {kind: Pod, name: forged, namespace: attack}}], ports: [{port: %[2]s}]}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: relay, namespace: attack, labels: {kubernetes.io/service-name: relay}}
addressType: IPv4
endpoints: [{addresses: ["%[1]s"], conditions: {ready: true}}]
ports: [{port: %[2]s, protocol: TCP}]
`
	callLimit = 30 * time.Second
)

// calls is the script command: the API server of the demo's hosted cluster asks a webhook at URL, or behind the Service "relay", and what it
// says of that goes to stdout. It fails where the webhook lets the request in, or is never asked.
//
//	calls URL | calls service
func calls(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: calls URL | calls service")
	}
	mark := fmt.Sprintf("/attack%d", rand.Uint32())
	client := fmt.Sprintf("url: %q", args[0]+mark)
	if args[0] == "service" {
		client = "service: {namespace: attack, name: relay, path: " + mark + "}"
	}
	guestApply(ts, fmt.Sprintf(forgedWebhook, client))
	for began := time.Now(); ; {
		// Until the API server knows of it, it lets the object in or asks the one before.
		out, err := run(ts, "kubectl", "--kubeconfig", ts.Getenv("GUEST"), "-n", "attack", "create", "configmap", "probe", "--dry-run=server")
		if err != nil && strings.Contains(out, mark) {
			_, err = fmt.Fprint(ts.Stdout(), out)
			ts.Check(err)
			return
		}
		if time.Since(began) > callLimit {
			ts.Fatalf("the webhook at %s was never asked in %s: %s", args[0], callLimit, out)
		}
	}
}

// forge is the script command: it makes a Node, or a Pod with the Service "relay" before it, that claims to be at the address.
//
//	forge node|pod ADDRESS PORT
func forge(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 || args[0] != "node" && args[0] != "pod" {
		ts.Fatalf("usage: forge node|pod ADDRESS PORT")
	}
	address, port := args[1], args[2]
	resource, status := []string{"node", "forged"}, fmt.Sprintf(
		`{"status":{"addresses":[{"type":"InternalIP","address":%q}],"daemonEndpoints":{"kubeletEndpoint":{"Port":%s}}}}`, address, port)
	manifest := forgedNode
	if args[0] == "pod" {
		resource, status = []string{"-n", "attack", "pod", "forged"}, fmt.Sprintf(`{"status":{"phase":"Running","podIP":%q,"podIPs":[{"ip":%[1]q}]}}`, address)
		manifest = fmt.Sprintf(forgedPod, address, port)
	}
	guestApply(ts, manifest)
	mustRun(ts, "kubectl", append([]string{"--kubeconfig", ts.Getenv("GUEST"), "patch", "--subresource=status", "--type=merge", "-p", status}, resource...)...)
}

func guestApply(ts *testscript.TestScript, manifest string) {
	file := ts.MkAbs("forged.yaml")
	ts.Check(os.WriteFile(file, []byte(manifest), 0o600))
	mustRun(ts, "kubectl", "--kubeconfig", ts.Getenv("GUEST"), "apply", "-f", file)
}
