package ingressdns

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

const (
	zones     = "/subscriptions/s/resourceGroups/dns/providers/Microsoft.Network/"
	publicID  = zones + "dnsZones/example.com/A/*.apps.demo"
	privateID = zones + "privateDnsZones/demo.example.com/A/*.apps"
)

// fakeZones keep record sets as Azure does: with etags, and without a way to read.
type fakeZones struct {
	sets    map[string]azure.Resource
	calls   int
	version int
	// lose makes the next write take effect and its answer get lost; refuse is the answer to every call.
	lose   bool
	refuse error
}

func refusal(op, id string, status int) error {
	return failure.Wrap(op, id, &azcore.ResponseError{StatusCode: status, RawResponse: &http.Response{
		StatusCode: status, Request: &http.Request{Method: http.MethodPut}}})
}

func (f *fakeZones) holds(id, etag string) bool {
	set, there := f.sets[id]
	switch etag {
	case "":
		return !there
	case anyETag:
		return there
	}
	return there && set.ETag == etag
}

func (f *fakeZones) PutIf(_ context.Context, id, _, etag string, body azure.Resource) (*azure.Resource, error) {
	f.calls++
	if f.refuse != nil {
		return nil, f.refuse
	}
	if !f.holds(id, etag) {
		return nil, refusal("create", id, http.StatusPreconditionFailed)
	}
	f.version++
	body.ETag = strconv.Itoa(f.version)
	f.sets[id] = body
	if f.lose {
		f.lose = false
		return nil, failure.Wrap("create", id, errors.New("connection reset"))
	}
	return &body, nil
}

func (f *fakeZones) DeleteIf(_ context.Context, id, _, etag string) error {
	f.calls++
	if f.refuse != nil {
		return f.refuse
	}
	if _, there := f.sets[id]; there && !f.holds(id, etag) {
		return refusal("delete", id, http.StatusPreconditionFailed)
	}
	delete(f.sets, id)
	return nil
}

func (f *fakeZones) address(id string) string {
	for _, key := range []string{"ARecords", "aRecords"} {
		if list, ok := f.sets[id].Properties[key].([]any); ok {
			text, _ := list[0].(map[string]any)["ipv4Address"].(string)
			return text
		}
	}
	return ""
}

// world is a control plane whose router has an address.
type world struct {
	t          *testing.T
	zones      *fakeZones
	management client.Client
	guest      client.Client
	r          *reconciler
	now        time.Time
}

func newWorld(t *testing.T) *world {
	t.Helper()
	s := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(s), hyperv1.AddToScheme(s)); err != nil {
		t.Fatal(err)
	}
	hcp := &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-demo", Name: "demo", Finalizers: []string{"other/one"}}}
	hcp.Spec.InfraID = "demo-x1"
	hcp.Spec.DNS = hyperv1.DNSSpec{BaseDomain: "example.com", PublicZoneID: zones + "dnsZones/example.com", PrivateZoneID: zones + "privateDnsZones/demo.example.com"}
	hcp.Spec.Platform.Azure = &hyperv1.AzurePlatformSpec{}
	hcp.Spec.Platform.Azure.AzureAuthenticationConfig.WorkloadIdentities = &hyperv1.AzureWorkloadIdentitySet{Ingress: hyperv1.WorkloadIdentity{ClientID: "the-ingress-client"}}
	w := &world{t: t, zones: &fakeZones{sets: map[string]azure.Resource{}}, now: time.Unix(1000, 0)}
	w.management = fake.NewClientBuilder().WithScheme(s).WithStatusSubresource(hcp).WithObjects(hcp,
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: hcp.Namespace, Name: StateConfigMap}}).Build()
	w.guest = fake.NewClientBuilder().WithScheme(s).WithStatusSubresource(&corev1.Service{}).Build()
	w.restart()
	w.serve("20.0.0.1")
	return w
}

func (w *world) restart() {
	w.r = &reconciler{
		guest: w.guest, management: w.management, live: w.management, namespace: "clusters-demo", asserted: map[string]time.Time{},
		now: func() time.Time { return w.now }, sets: func(*hyperv1.HostedControlPlane) (recordSets, error) { return w.zones, nil },
	}
}

func (w *world) serve(address string) {
	w.t.Helper()
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: contract.RouterNamespace, Name: component.RouterName}}
	if err := client.IgnoreAlreadyExists(w.guest.Create(w.t.Context(), service)); err != nil {
		w.t.Fatal(err)
	}
	if err := w.guest.Get(w.t.Context(), client.ObjectKeyFromObject(service), service); err != nil {
		w.t.Fatal(err)
	}
	service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: address}}
	if err := w.guest.Status().Update(w.t.Context(), service); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) hcp() *hyperv1.HostedControlPlane {
	w.t.Helper()
	hcp, err := w.r.controlPlane(w.t.Context())
	if err != nil || hcp == nil {
		w.t.Fatalf("the control plane: %v, %v", hcp, err)
	}
	return hcp
}

// pass reconciles once and returns the condition.
func (w *world) pass() metav1.Condition {
	w.t.Helper()
	if _, err := w.r.Reconcile(w.t.Context(), ctrl.Request{}); err != nil {
		w.t.Fatal(err)
	}
	if c := kube.Find(w.hcp().Status.Conditions, hyperv1.IngressDNSReady); c != nil {
		return *c
	}
	return metav1.Condition{}
}

func (w *world) want(status metav1.ConditionStatus, address string) metav1.Condition {
	w.t.Helper()
	c := w.pass()
	if c.Status != status || w.zones.address(publicID) != address || w.zones.address(privateID) != address {
		w.t.Fatalf("%s %s %q; records lead to %q and %q, want %s and %q", c.Status, c.Reason, c.Message, w.zones.address(publicID), w.zones.address(privateID), status, address)
	}
	return c
}

func TestRecordsFollowTheRouter(t *testing.T) {
	w := newWorld(t)
	w.want(metav1.ConditionTrue, "20.0.0.1")
	if set := w.zones.sets[publicID]; set.Properties["TTL"] != ttl || set.Properties["metadata"].(map[string]any)[hyperv1.IngressRecordMetadata] != "demo-x1" {
		t.Errorf("record %v", set)
	}
	calls := w.zones.calls
	w.want(metav1.ConditionTrue, "20.0.0.1")
	if w.zones.calls != calls {
		t.Error("nothing changed, and Azure was asked")
	}
	w.serve("20.0.0.2")
	w.want(metav1.ConditionTrue, "20.0.0.2")
	// Somebody deletes it; within the hour, or when the operator starts again, it is back.
	delete(w.zones.sets, publicID)
	w.now = w.now.Add(assertPeriod)
	w.want(metav1.ConditionTrue, "20.0.0.2")
	delete(w.zones.sets, publicID)
	w.restart()
	w.want(metav1.ConditionTrue, "20.0.0.2")
}

func TestForeignRecordsStay(t *testing.T) {
	w := newWorld(t)
	theirs := azure.Resource{ETag: "theirs", Properties: map[string]any{"ARecords": []any{map[string]any{"ipv4Address": "9.9.9.9"}}}}
	w.zones.sets[publicID] = theirs
	c := w.pass()
	if c.Status != metav1.ConditionFalse || !strings.Contains(c.Message, "somebody else") || w.zones.address(publicID) != "9.9.9.9" || w.zones.address(privateID) != "20.0.0.1" {
		t.Fatalf("%s %q; %v", c.Status, c.Message, w.zones.sets)
	}
	delete(w.zones.sets, publicID)
	w.want(metav1.ConditionTrue, "20.0.0.1")
	// Changed by somebody: neither an update nor the deletion takes it.
	w.zones.sets[publicID] = theirs
	w.serve("20.0.0.2")
	if c := w.pass(); c.Status != metav1.ConditionFalse || w.zones.address(publicID) != "9.9.9.9" {
		t.Fatalf("%s %q; %v", c.Status, c.Message, w.zones.sets)
	}
	w.destroy()
	if w.zones.address(publicID) != "9.9.9.9" || len(w.zones.sets) != 1 {
		t.Errorf("after the deletion: %v", w.zones.sets)
	}
}

func TestLostAnswersAreNotForeign(t *testing.T) {
	for name, restart := range map[string]bool{"same process": false, "another process": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.zones.lose = true
			if c := w.pass(); c.Status != metav1.ConditionFalse {
				t.Fatalf("the answer was lost, and the condition is %s", c.Status)
			}
			if restart {
				w.restart()
			}
			w.want(metav1.ConditionTrue, "20.0.0.1")
			w.zones.lose = true
			w.serve("20.0.0.2")
			w.pass()
			if restart {
				w.restart()
			}
			w.want(metav1.ConditionTrue, "20.0.0.2")
			w.zones.lose = true
			w.serve("20.0.0.3")
			w.pass()
			w.destroy()
			if len(w.zones.sets) > 0 {
				t.Errorf("left behind: %v", w.zones.sets)
			}
		})
	}
}

func TestRefusalsSayWhoLacksWhat(t *testing.T) {
	w := newWorld(t)
	w.zones.refuse = refusal("create", publicID, http.StatusForbidden)
	c := w.pass()
	for _, part := range []string{"the-ingress-client", "Cluster Ingress Operator", "403"} {
		if c.Status != metav1.ConditionFalse || !strings.Contains(c.Message, part) {
			t.Errorf("%s %q lacks %q", c.Status, c.Message, part)
		}
	}
	w.zones.refuse = nil
	w.want(metav1.ConditionTrue, "20.0.0.1")
}

// destroy deletes the control plane, which must then carry the others' finalizers only.
func (w *world) destroy() {
	w.t.Helper()
	if err := w.management.Delete(w.t.Context(), w.hcp()); err != nil {
		w.t.Fatal(err)
	}
	w.pass()
	if finalizers := w.hcp().Finalizers; !slices.Equal(finalizers, []string{"other/one"}) {
		w.t.Errorf("finalizers %v", finalizers)
	}
}

func TestDeletionTakesTheRecords(t *testing.T) {
	w := newWorld(t)
	w.want(metav1.ConditionTrue, "20.0.0.1")
	if !slices.Contains(w.hcp().Finalizers, Finalizer) {
		t.Fatal("nobody would delete the records")
	}
	w.restart()
	w.destroy()
	if len(w.zones.sets) > 0 {
		t.Errorf("left behind: %v", w.zones.sets)
	}
}

func TestARecordThatNoZoneHolds(t *testing.T) {
	hcp := newWorld(t).hcp()
	hcp.Spec.DNS.BaseDomainPrefix = ptr.To("shop")
	if _, err := recordsOf(hcp); err == nil || !strings.Contains(err.Error(), "demo.example.com") {
		t.Errorf("zone demo.example.com takes records of apps.shop.example.com: %v", err)
	}
}
