package configuration

import (
	"encoding/json"
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/guest/guesttest"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
)

// openShiftFacts are those of a guest on Azure with a payload of OpenShift's.
func openShiftFacts() *inside.Facts {
	facts := guesttest.PlainFacts()
	facts.Images = guesttest.OpenShiftImages()
	return facts
}

func find(t *testing.T, facts *inside.Facts, kind string) Shared {
	t.Helper()
	for _, s := range SharedObjects(facts) {
		if s.GetKind() == kind {
			return s
		}
	}
	t.Fatalf("no %s", kind)
	return Shared{}
}

// same compares what two values are in JSON.
func same(t *testing.T, what string, got any, want string) {
	t.Helper()
	var a, b any
	encoded, err := json.Marshal(got)
	if err != nil || json.Unmarshal(encoded, &a) != nil || json.Unmarshal([]byte(want), &b) != nil {
		t.Fatal(what, err, want)
	}
	if !reflect.DeepEqual(a, b) {
		t.Errorf("%s: %s, want %s", what, encoded, want)
	}
}

// TestShared: a default gives way to what somebody set, a beginning to whatever is there, and all else does not.
func TestShared(t *testing.T) {
	shared := Shared{
		Unstructured: &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"forced": "ours", "default": "ours", "begins": int64(2)}}},
		Defaults:     [][]string{{"spec", "default"}}, Beginning: [][]string{{"spec", "begins"}},
	}
	for live, want := range map[string]string{
		`{}`: `{"forced":"ours","default":"ours"}`,
		`{"forced":"theirs","default":"","begins":0}`:       `{"forced":"ours","default":"ours","begins":0}`,
		`{"forced":"theirs","default":"theirs","begins":3}`: `{"forced":"ours","default":"theirs","begins":3}`,
	} {
		there := &unstructured.Unstructured{Object: map[string]any{}}
		if err := json.Unmarshal([]byte(`{"spec":`+live+`}`), &there.Object); err != nil {
			t.Fatal(err)
		}
		same(t, live, shared.From(there).Object["spec"], want)
	}
	shared.Once = true
	if got := shared.From(&unstructured.Unstructured{Object: map[string]any{}}); got != nil {
		t.Errorf("an object that is only begun is written again: %v", got)
	}
}

// TestNetworkOperator has what the user says of OVN, and nothing where he says nothing.
func TestNetworkOperator(t *testing.T) {
	facts := openShiftFacts()
	same(t, "by default", find(t, facts, "Network").Object["spec"], `{"managementState":"Managed"}`)
	facts.HCP.Spec.OperatorConfiguration = &hyperv1.OperatorConfiguration{ClusterNetworkOperator: &hyperv1.ClusterNetworkOperatorSpec{
		DisableMultiNetwork: ptr.To(true),
		OVNKubernetesConfig: &hyperv1.OVNKubernetesConfig{MTU: 1300, IPv4: &hyperv1.OVNIPv4Config{InternalJoinSubnet: "100.99.0.0/16"}, V6InternalSubnet: "fd99::/64"}}}
	same(t, "all of it", find(t, facts, "Network").Object["spec"],
		`{"managementState":"Managed","disableMultiNetwork":true,"defaultNetwork":{"ovnKubernetesConfig":{"mtu":1300,"ipv4":{"internalJoinSubnet":"100.99.0.0/16"},"v6InternalSubnet":"fd99::/64"}}}`)
}

// TestPublishing: the default router is reached as the user says, else as the annotations and the topology do, else by the platform.
func TestPublishing(t *testing.T) {
	azure := guesttest.AzurePlane().Spec.Platform
	internal := guesttest.AzurePlane().Spec.Platform
	internal.Azure.Topology = hyperv1.AzureTopologyPrivate
	none := hyperv1.PlatformSpec{Type: hyperv1.NonePlatform}
	private := map[string]string{hyperv1.PrivateIngressControllerAnnotation: "true"}
	for _, test := range []struct {
		platform    hyperv1.PlatformSpec
		annotations map[string]string
		user, want  string
	}{
		{azure, nil, "", `{"type":"LoadBalancerService","loadBalancer":{"scope":"External","dnsManagementPolicy":"Managed"}}`},
		{internal, nil, "", `{"type":"LoadBalancerService","loadBalancer":{"scope":"Internal","dnsManagementPolicy":"Managed"}}`},
		{azure, private, "", `{"type":"Private"}`},
		{none, nil, "", `{"type":"HostNetwork"}`},
		{none, private, "", `{"type":"Private"}`},
		{azure, private, `{"type":"NodePortService"}`, `{"type":"NodePortService"}`},
	} {
		hcp := guesttest.AzurePlane()
		hcp.Spec.Platform, hcp.Annotations = test.platform, test.annotations
		if test.user != "" {
			hcp.Spec.OperatorConfiguration = &hyperv1.OperatorConfiguration{IngressOperator: &hyperv1.IngressOperatorSpec{
				EndpointPublishingStrategy: &runtime.RawExtension{Raw: []byte(test.user)}}}
		}
		same(t, test.user+string(test.platform.Type), publishing(hcp), test.want)
	}
}

// TestOperatorsByFacts: capabilities, platform and placement of catalogs decide which objects there are; a plain payload has none of them.
func TestOperatorsByFacts(t *testing.T) {
	if got := SharedObjects(guesttest.PlainFacts()); len(got) > 0 {
		t.Errorf("a plain payload has %d", len(got))
	}
	for _, obj := range Objects(guesttest.PlainFacts()) {
		if obj.GroupVersionKind().Group == "operator.openshift.io" || obj.GetKind() == HubKind.Kind {
			t.Errorf("a plain payload has %s %s", obj.GetKind(), obj.GetName())
		}
	}
	kinds := func(facts *inside.Facts) (out []string) {
		for _, s := range SharedObjects(facts) {
			out = append(out, s.GetKind())
		}
		for _, obj := range append(storage(facts), operatorHub(facts)...) {
			out = append(out, obj.GetKind())
		}
		return out
	}
	facts := openShiftFacts()
	if facts.LoginURL = "https://oauth.example.com:443"; len(oauthClients(facts)) != 3 {
		t.Error("who logs users in has no clients")
	}
	facts.LoginURL = "" // with users of a provider outside
	same(t, "Azure", kinds(facts), `["CloudCredential","Network","Config","IngressController","CSISnapshotController","Storage","ClusterCSIDriver","ClusterCSIDriver","OperatorHub"]`)
	facts.HCP.Spec.OLMCatalogPlacement = hyperv1.GuestOLMCatalogPlacement
	facts.HCP.Spec.Capabilities = &hyperv1.Capabilities{Disabled: []hyperv1.OptionalCapability{"ImageRegistry", "Ingress"}}
	facts.HCP.Spec.Platform = hyperv1.PlatformSpec{Type: hyperv1.NonePlatform}
	same(t, "None, less capable, catalogs in the guest", kinds(facts), `["CloudCredential","Network","OperatorHub","CSISnapshotController","Storage"]`)
	if !find(t, facts, HubKind.Kind).Once {
		t.Error("an OperatorHub of the guest's own is written again")
	}
	facts.HCP.Spec.Capabilities = nil
	registry := find(t, facts, RegistryKind.Kind)
	same(t, "a registry without a cloud", registry.Object["spec"].(map[string]any)["storage"], `{"emptyDir":{}}`)
}

// TestCatalogs: they are beside the control plane, or pods of the guest with an image that is known, or not wanted.
func TestCatalogs(t *testing.T) {
	facts := openShiftFacts()
	if got := catalogs(facts); len(got) != 3 {
		t.Fatalf("%d catalogs", len(got))
	}
	facts.HCP.Spec.OLMCatalogPlacement = hyperv1.GuestOLMCatalogPlacement
	facts.CatalogImages = map[string]string{"redhat-operators": "mine"}
	got := catalogs(facts)
	if len(got) != 1 {
		t.Fatalf("%d catalogs", len(got))
	}
	spec, _ := got[0].Object["spec"].(map[string]any)
	if spec["image"] != "mine" || spec["address"] != nil {
		t.Errorf("a catalog in the guest: %v", spec)
	}
	facts.NoDefaultCatalogs = true
	if got := catalogs(facts); len(got) > 0 {
		t.Errorf("not wanted: %d", len(got))
	}
}
