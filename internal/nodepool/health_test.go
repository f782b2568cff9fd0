package nodepool

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
	"github.com/hypershift-on-azure/hypershift/internal/nodepool/asking"
)

// says sets conditions of a Machine; its former ones are gone.
func (w *world) says(t *testing.T, name string, conditions ...any) {
	t.Helper()
	machine := w.object(t, clusterapi.Machine, name)
	if err := unstructured.SetNestedSlice(machine.Object, conditions, "status", "conditions"); err != nil {
		t.Fatal(err)
	}
	w.writeStatus(t, machine)
}

// shows compares a condition of the pool.
func (w *world) shows(t *testing.T, name string, status corev1.ConditionStatus, reason, message string) {
	t.Helper()
	c := condition(w.pool(t), name)
	if c.Status != status || c.Reason != reason || !strings.Contains(c.Message, message) {
		t.Errorf("%s is %s %s: %q; want %s %s: %q", name, c.Status, c.Reason, c.Message, status, reason, message)
	}
}

// running is a pool whose two machines are there.
func running(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, append(surroundings(t), nodePool())...)
	if _, err := w.pass(t); err != nil {
		t.Fatal(err)
	}
	w.finish(t, 2)
	if _, err := w.pass(t); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{hyperv1.NodePoolReady, hyperv1.NodePoolAllMachinesReady, hyperv1.NodePoolAllNodesHealthy} {
		w.shows(t, name, corev1.ConditionTrue, hyperv1.AsExpectedReason, "")
	}
	return w
}

// What stops a pass says nothing about machines and nodes: they are told as they are, not as they were.
func TestHealthIsToldInEveryPass(t *testing.T) {
	w := running(t)
	w.releases = fixedReleases{err: errors.New("the registry is away")}
	w.says(t, "demo-0", conditionOf("Ready", "False", "NotReady"), conditionOf("InfrastructureReady", "False", "VMDeleted"), conditionOf("NodeHealthy", "Unknown", "NodeInternalError"))
	deployment := w.object(t, clusterapi.MachineDeployment, "demo")
	if err := unstructured.SetNestedSlice(deployment.Object, []any{conditionOf("Available", "False", "NotAvailable")}, "status", "conditions"); err != nil {
		t.Fatal(err)
	}
	w.writeStatus(t, deployment)
	if _, err := w.pass(t); err == nil {
		t.Fatal("the payload was read")
	}
	w.shows(t, hyperv1.NodePoolValidReleaseImage, corev1.ConditionFalse, hyperv1.ValidationFailedReason, "the registry is away")
	w.shows(t, hyperv1.NodePoolAllMachinesReady, corev1.ConditionFalse, "VMDeleted", "demo-0")
	w.shows(t, hyperv1.NodePoolAllNodesHealthy, corev1.ConditionFalse, "NodeInternalError", "demo-0")
	w.shows(t, hyperv1.NodePoolReady, corev1.ConditionFalse, "NotAvailable", "")

	// A MachineDeployment that tells nothing, or is gone, is not ready either, and has no replicas.
	unstructured.RemoveNestedField(deployment.Object, "status", "conditions")
	w.writeStatus(t, deployment)
	if _, err := w.pass(t); err == nil {
		t.Fatal("the payload was read")
	}
	w.shows(t, hyperv1.NodePoolReady, corev1.ConditionFalse, hyperv1.WaitingForInfrastructureReason, "does not tell")
	w.remove(t, deployment)
	if _, err := w.pass(t); err == nil {
		t.Fatal("the payload was read")
	}
	w.shows(t, hyperv1.NodePoolReady, corev1.ConditionFalse, hyperv1.WaitingForInfrastructureReason, "no MachineDeployment")
	if replicas := w.pool(t).Status.Replicas; replicas != 0 {
		t.Errorf("%d replicas without a MachineDeployment", replicas)
	}
}

// A pool that is being deleted says what it waits for, with the words of who refuses.
func TestDeletionTellsWhoRefuses(t *testing.T) {
	w := running(t)
	const locked = "virtualmachine failed to delete. err: RESPONSE 409: 409 Conflict ERROR CODE: ScopeLocked"
	refused := conditionOf("InfrastructureReady", "False", "DeletionFailed")
	refused["message"] = locked
	for _, name := range []string{"demo-0", "demo-1"} {
		w.remove(t, w.object(t, clusterapi.Machine, name))
	}
	w.says(t, "demo-0", conditionOf("Ready", "False", "NotReady"), refused)
	w.says(t, "demo-1", conditionOf("Ready", "False", "NotReady"), conditionOf("Deleting", "True", "DrainingNode"))
	if err := w.client.Delete(t.Context(), w.pool(t)); err != nil {
		t.Fatal(err)
	}
	if result, err := w.pass(t); err != nil || result.RequeueAfter == 0 {
		t.Fatalf("%v, %v", result, err)
	}
	w.shows(t, hyperv1.NodePoolAllMachinesReady, corev1.ConditionFalse, "DeletionFailed,DrainingNode", locked)
	w.shows(t, hyperv1.NodePoolReady, corev1.ConditionFalse, hyperv1.DeletingMachinesReason, "waits for 2 machines")
	if _, err := w.pass(t); err != nil || len(w.writes) > 0 {
		t.Errorf("a pass that waits wrote %v (%v)", w.writes, err)
	}
}

// answering is Azure, as far as a signed-in identity and one virtual machine see it.
type answering struct {
	signIn, machine string // error codes; "" is success
	asked           *int
}

func (a answering) RoundTrip(request *http.Request) (*http.Response, error) {
	status, body := http.StatusOK, "{}"
	switch path := request.URL.Path; {
	case strings.HasSuffix(path, "/token"):
		*a.asked++
		body = `{"access_token":"a","expires_in":3600,"token_type":"Bearer"}`
		if a.signIn != "" {
			status, body = http.StatusUnauthorized, `{"error":"invalid_client","error_description":"`+a.signIn+`: No matching federated identity record found. Trace ID: x"}`
		}
	case strings.HasSuffix(path, "/openid-configuration"):
		authority := "https://login.microsoftonline.com/tenant"
		body = `{"token_endpoint":"` + authority + `/token","authorization_endpoint":"` + authority + `/authorize","issuer":"` + authority + `"}`
	case strings.Contains(path, "/discovery/"):
		body = `{"tenant_discovery_endpoint":"https://login.microsoftonline.com/tenant/v2.0/.well-known/openid-configuration","metadata":[]}`
	case a.machine != "":
		status, body = http.StatusNotFound, `{"error":{"code":"`+a.machine+`","message":"Resource group 'group' could not be found."}}`
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Header: http.Header{"Content-Type": []string{"application/json"}},
		Body: io.NopCloser(strings.NewReader(body)), Request: request}, nil
}

// TestSilentMachinesAskAzure: of a machine that nobody says anything about, Azure is asked, seldom; of others it is not.
func TestSilentMachinesAskAzure(t *testing.T) {
	w, asked := withIdentity(t)
	if _, err := w.pass(t); err != nil {
		t.Fatal(err)
	}
	w.finish(t, 2)
	silence := []any{conditionOf("Ready", "False", "NotReady"), conditionOf("InfrastructureReady", "False", noWordReason)}
	w.says(t, "demo-0", silence...)
	machine := w.object(t, clusterapi.Machine, "demo-0")
	machine.SetCreationTimestamp(metav1.Time{Time: now.Add(-5 * time.Second)})
	w.writeStatus(t, machine)
	refuses := answering{signIn: "AADSTS70021", asked: asked}
	w.ask = func(ctx context.Context, q asking.Question) error {
		return q.Ask(ctx, &http.Client{Transport: refuses})
	}
	clock := now
	w.now = func() time.Time { return clock }
	check := func(moment string, after time.Duration, calls int, reason, message string) {
		t.Helper()
		clock = clock.Add(after)
		result, err := w.pass(t)
		if err != nil {
			t.Fatalf("%s: %v", moment, err)
		}
		if *asked != calls {
			t.Errorf("%s: asked %d times, want %d", moment, *asked, calls)
		}
		if refused := refuses.signIn+refuses.machine != ""; refused && result.RequeueAfter == 0 {
			t.Errorf("%s: nobody looks again", moment)
		}
		w.shows(t, hyperv1.NodePoolAllMachinesReady, corev1.ConditionFalse, reason, message)
	}
	check("just made", 0, 0, noWordReason, "demo-0")
	check("the provider had its time", 10*time.Second, 1, hyperv1.InvalidAzureCredentialsReason, "AADSTS70021")
	check("soon again", time.Second, 1, hyperv1.InvalidAzureCredentialsReason, "AADSTS70021")
	refuses.signIn, refuses.machine = "", "ResourceGroupNotFound"
	check("later", asking.Period, 2, hyperv1.AzureErrorReason, "ResourceGroupNotFound")
	refuses.machine = asking.CodeNoSuchResource
	check("Azure refuses nothing", asking.Period, 3, noWordReason, "demo-0")
	w.says(t, "demo-0", conditionOf("Ready", "False", "NotReady"), conditionOf("InfrastructureReady", "False", "Creating"))
	refuses.machine = ""
	check("the provider says something", asking.Period, 3, "Creating", "demo-0")
	w.says(t, "demo-0", conditionOf("Ready", "True", ""))
	clock = clock.Add(asking.Period)
	if result, err := w.pass(t); err != nil || result.RequeueAfter != 0 || *asked != 3 {
		t.Errorf("at rest: %v, %v, asked %d times", result, err, *asked)
	}
	w.shows(t, hyperv1.NodePoolAllMachinesReady, corev1.ConditionTrue, hyperv1.AsExpectedReason, "")
}

// seen is a world with two machines that were made, of which Azure answers as it is told to.
func seen(t *testing.T, answers *answering) (*world, *time.Time) {
	t.Helper()
	w, asked := withIdentity(t)
	if _, err := w.pass(t); err != nil {
		t.Fatal(err)
	}
	w.finish(t, 2)
	for _, name := range []string{"demo-0", "demo-1"} {
		machine := w.object(t, clusterapi.Machine, name)
		if err := unstructured.SetNestedField(machine.Object, name, "status", "nodeRef", "name"); err != nil {
			t.Fatal(err)
		}
		w.writeStatus(t, machine)
		w.says(t, name, conditionOf("Ready", "True", ""), conditionOf("InfrastructureReady", "True", ""), conditionOf("NodeHealthy", "True", ""))
	}
	answers.asked = asked
	w.ask = func(ctx context.Context, q asking.Question) error {
		return q.Ask(ctx, &http.Client{Transport: *answers})
	}
	clock := now
	w.now = func() time.Time { return clock }
	return w, &clock
}

// TestLostMachinesAskAzure: the provider looks at machines that are there every ten minutes. Where their nodes are lost before that, Azure says
// what became of them: of one machine, or of all of them.
func TestLostMachinesAskAzure(t *testing.T) {
	answers := &answering{}
	w, clock := seen(t, answers)
	lostNode := []any{conditionOf("Ready", "False", "NotReady"), conditionOf("InfrastructureReady", "True", ""), conditionOf("NodeHealthy", "Unknown", "NodeConnectionDown")}
	for _, tc := range []struct {
		moment, code   string
		calls          int
		reason, poolIs string
	}{
		{"Azure has the machine", "", 1, "NotReady", ""},
		{"the machine is gone", asking.CodeNoSuchResource, 2, hyperv1.AzureErrorReason, ""},
		{"the group is gone", "ResourceGroupNotFound", 3, hyperv1.AzureErrorReason, hyperv1.AzureErrorReason},
	} {
		w.says(t, "demo-0", lostNode...)
		answers.machine = tc.code
		*clock = clock.Add(asking.Period)
		result, err := w.pass(t)
		if err != nil || result.RequeueAfter == 0 || *answers.asked != tc.calls {
			t.Errorf("%s: %v, %v, asked %d times", tc.moment, result, err, *answers.asked)
		}
		w.shows(t, hyperv1.NodePoolAllMachinesReady, corev1.ConditionFalse, tc.reason, "Machine demo-0: ")
		w.shows(t, hyperv1.NodePoolAllNodesHealthy, corev1.ConditionFalse, "NodeConnectionDown", "1 of 2 machines are not healthy")
		if tc.code != "" {
			w.shows(t, hyperv1.NodePoolAllMachinesReady, corev1.ConditionFalse, tc.reason, tc.code)
		}
		if tc.poolIs == "" {
			w.shows(t, hyperv1.NodePoolReady, corev1.ConditionTrue, hyperv1.AsExpectedReason, "")
		} else {
			w.shows(t, hyperv1.NodePoolReady, corev1.ConditionFalse, tc.poolIs, "neither made nor repaired nor deleted: Azure refuses identity nodePoolManagement")
		}
	}
}

// TestRefusedIdentityIsTold: machines run on without the identity that made them; that nobody can make, repair or delete one is told all the same,
// where it is that identity which is refused.
func TestRefusedIdentityIsTold(t *testing.T) {
	answers := &answering{signIn: "AADSTS70021"}
	w, clock := seen(t, answers)
	refused := metav1.Condition{Type: string(hyperv1.PlatformCredentialsFound), Status: metav1.ConditionFalse, Reason: hyperv1.InvalidAzureCredentialsReason,
		Message: "an identity cannot sign in", LastTransitionTime: metav1.Time{Time: now.Add(-time.Minute)}}
	step := func(moment string, conditions []metav1.Condition, calls int) {
		t.Helper()
		*clock = clock.Add(asking.Period)
		hc := &hyperv1.HostedCluster{}
		if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: "clusters", Name: "demo"}, hc); err != nil {
			t.Fatal(err)
		}
		hc.Status.Conditions = conditions
		if err := w.client.Update(t.Context(), hc); err != nil {
			t.Fatal(err)
		}
		if _, err := w.pass(t); err != nil || *answers.asked != calls {
			t.Errorf("%s: %v, asked %d times", moment, err, *answers.asked)
		}
		w.shows(t, hyperv1.NodePoolAllMachinesReady, corev1.ConditionTrue, hyperv1.AsExpectedReason, "")
	}
	step("nobody is refused", nil, 0)
	w.shows(t, hyperv1.NodePoolReady, corev1.ConditionTrue, hyperv1.AsExpectedReason, "")
	step("the machines' identity is refused", []metav1.Condition{refused}, 1)
	w.shows(t, hyperv1.NodePoolReady, corev1.ConditionFalse, hyperv1.InvalidAzureCredentialsReason, "identity nodePoolManagement cannot sign in")
	answers.signIn = ""
	step("another identity is refused", []metav1.Condition{refused}, 2)
	w.shows(t, hyperv1.NodePoolReady, corev1.ConditionTrue, hyperv1.AsExpectedReason, "")
	step("nobody is refused any more", nil, 2)
	w.shows(t, hyperv1.NodePoolReady, corev1.ConditionTrue, hyperv1.AsExpectedReason, "")
}

// withIdentity is a world whose hosted cluster has an issuer and a machines' identity.
func withIdentity(t *testing.T) (*world, *int) {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	objects := surroundings(t)
	hc := objects[0].(*hyperv1.HostedCluster)
	azure := hc.Spec.Platform.Azure
	azure.ResourceGroupName, azure.SubscriptionID, azure.TenantID = "group", "subscription", "tenant"
	azure.AzureAuthenticationConfig.WorkloadIdentities = &hyperv1.AzureWorkloadIdentitySet{NodePoolManagement: hyperv1.WorkloadIdentity{ClientID: "machines"}}
	hc.Spec.IssuerURL = "https://issuer.example.com"
	hc.Spec.ServiceAccountSigningKey = &corev1.LocalObjectReference{Name: "demo-key"}
	key := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "demo-key"}, Data: map[string][]byte{
		hyperv1.ServiceAccountSigningKey: pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(private)})}}
	return newWorld(t, append(objects, []client.Object{key, nodePool()}...)...), new(int)
}
