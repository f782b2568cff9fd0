package nodepool

import (
	"errors"
	"maps"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	capiv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/ignition"
	"github.com/hypershift-on-azure/hypershift/internal/nodepool/observed"
	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/steps"
)

func TestConfigHashes(t *testing.T) {
	base := newConfig([]string{"b", "a"}, "4.21.0", "pull", "trust", "global")
	if base.raw != "a\n---\nb" {
		t.Errorf("raw = %q", base.raw)
	}
	if base.version != ignition.Hash("a\n---\nb4.21.0pulltrustglobal") || base.hash != ignition.Hash("a\n---\nbpulltrust") {
		t.Errorf("hashes = %s, %s", base.version, base.hash)
	}
	other := newConfig([]string{"a", "b"}, "4.21.1", "pull", "trust", "other")
	if other.hash != base.hash || other.version == base.version {
		t.Error("version and global configuration must change the full hash only")
	}
}

func TestSkew(t *testing.T) {
	for _, test := range []struct {
		cluster, pool, reason string
		status                corev1.ConditionStatus
	}{
		{"4.21.0", "4.21.0", "AsExpected", "True"},
		{"4.21.1", "4.21.0", "AsExpected", "True"},
		{"4.21.0", "4.21.1", "UnsupportedSkew", "False"},
		{"4.21.0", "4.18.5", "AsExpected", "True"},
		{"4.21.0", "4.17.5", "UnsupportedSkew", "False"},
		{"5.0.0", "4.20.0", "AsExpected", "True"},
		{"5.0.0", "4.19.0", "UnsupportedSkew", "False"},
		{"5.1.0", "4.21.0", "AsExpected", "True"},
		{"4.23.0", "5.0.0", "AsExpected", "True"},
		{"5.0.0", "4.23.0", "AsExpected", "True"},
		{"4.23.0", "5.0.1", "UnsupportedSkew", "False"},
		{"4.22.0", "4.22.0-rc.1", "AsExpected", "True"},
		{"4.22.0-rc.1", "4.22.0", "UnsupportedSkew", "False"},
		{"", "4.21.0", "ValidationFailed", "Unknown"},
		{"x", "4.21.0", "ValidationFailed", "Unknown"},
	} {
		status, reason, message := skew(test.cluster, test.pool)
		if status != test.status || reason != test.reason {
			t.Errorf("%s/%s: %s %s %s", test.cluster, test.pool, status, reason, message)
		}
	}
}

func testMachine(name string, conditions ...metav1.Condition) capiv1.Machine {
	m := capiv1.Machine{}
	m.Name = name
	m.Status.Conditions = conditions
	return m
}

func failedMachine(name, reason, message string, conditions ...metav1.Condition) capiv1.Machine {
	m := testMachine(name, append(conditions, metav1.Condition{Type: "Ready", Status: "False", Reason: "NotReady"})...)
	told := map[string]any{"failureReason": reason, "failureMessage": message}
	decoded, err := observed.Decode[capiv1.Machine](&unstructured.Unstructured{Object: map[string]any{
		"status": map[string]any{"deprecated": map[string]any{"v1beta1": told}}}})
	if err != nil {
		panic(err)
	}
	m.Status.Deprecated = decoded.Status.Deprecated
	return m
}

func leavingMachine(name string, conditions ...metav1.Condition) capiv1.Machine {
	m := testMachine(name, append(conditions, metav1.Condition{Type: "Ready", Status: "False", Reason: "NotReady", Message: "summary"})...)
	m.DeletionTimestamp = &metav1.Time{Time: now}
	return m
}

func TestMachineProblemsReachTheCondition(t *testing.T) {
	denied := "RESPONSE 403: 403 Forbidden ERROR CODE: AuthorizationFailed does not have authorization to perform action 'Microsoft.Network/networkInterfaces/read'"
	healthy := metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue}
	tests := map[string]struct {
		machines        []capiv1.Machine
		replicas        *int32
		status          corev1.ConditionStatus
		reason, message string
	}{
		"no replicas":  {nil, ptr.To[int32](0), "False", "AsExpected", "NodePool set to no replicas"},
		"none yet":     {nil, ptr.To[int32](2), "False", "NotFound", "No Machines are created"},
		"all ready":    {[]capiv1.Machine{testMachine("a", healthy)}, ptr.To[int32](1), "True", "AsExpected", ""},
		"just created": {[]capiv1.Machine{testMachine("a")}, ptr.To[int32](1), "False", "WaitingForInfrastructure", "1 of 1 machines are not ready\nMachine a: WaitingForInfrastructure\n"},
		"role missing": {[]capiv1.Machine{
			testMachine("b", metav1.Condition{Type: "Ready", Status: "False", Reason: "NotReady", Message: "summary"},
				metav1.Condition{Type: "InfrastructureReady", Status: "False", Reason: "Failed", Message: denied}),
			testMachine("a", healthy),
		}, ptr.To[int32](2), "False", "Failed", "1 of 2 machines are not ready\nMachine b: Failed: " + denied + "\n"},
		"fewer than wanted": {[]capiv1.Machine{testMachine("a", healthy)}, ptr.To[int32](3), "False", "NotFound", "1 of 3 Machines are created"},
		"size unknown": {[]capiv1.Machine{failedMachine("a", "InvalidConfiguration", "resource sku with name 'Standard_Nope' not found")}, ptr.To[int32](1), "False", "InvalidConfiguration",
			"1 of 1 machines are not ready\nMachine a: InvalidConfiguration: set spec.platform.azure.vmSize to a size that the location has: resource sku with name 'Standard_Nope' not found\n"},
		"failure with a condition of its own": {[]capiv1.Machine{failedMachine("a", "UpdateError", "gone",
			metav1.Condition{Type: "InfrastructureReady", Status: "False", Reason: "VMDeleted", Message: denied})}, ptr.To[int32](1), "False", "VMDeleted",
			"1 of 1 machines are not ready\nMachine a: VMDeleted: " + denied + "\n"},
		"drains": {[]capiv1.Machine{leavingMachine("a", metav1.Condition{Type: "InfrastructureReady", Status: "True"},
			metav1.Condition{Type: "Deleting", Status: "True", Reason: "DrainingNode", Message: "Pod a/b: cannot evict pod as it would violate the pod's disruption budget."})},
			ptr.To[int32](1), "False", "DrainingNode",
			"1 of 1 machines are not ready\nMachine a: DrainingNode: Pod a/b: cannot evict pod as it would violate the pod's disruption budget.\n"},
		"goes": {[]capiv1.Machine{leavingMachine("a", metav1.Condition{Type: "InfrastructureReady", Status: "False", Reason: "Deleting"},
			metav1.Condition{Type: "Deleting", Status: "True", Reason: "WaitingForInfrastructureDeletion", Message: "since 20s"})},
			ptr.To[int32](1), "False", "WaitingForInfrastructureDeletion", "1 of 1 machines are not ready\nMachine a: WaitingForInfrastructureDeletion: since 20s\n"},
		"may not go": {[]capiv1.Machine{leavingMachine("a", metav1.Condition{Type: "InfrastructureReady", Status: "False", Reason: "DeletionFailed", Message: denied},
			metav1.Condition{Type: "Deleting", Status: "True", Reason: "WaitingForInfrastructureDeletion", Message: "since 20s"})},
			ptr.To[int32](1), "False", "DeletionFailed", "1 of 1 machines are not ready\nMachine a: DeletionFailed: " + denied + "\n"},
		"two reasons": {[]capiv1.Machine{
			testMachine("b", metav1.Condition{Type: "Ready", Status: "False", Reason: "Zeta"}),
			testMachine("a", metav1.Condition{Type: "Ready", Status: "Unknown", Reason: "Alpha"}),
		}, ptr.To[int32](2), "False", "Alpha,Zeta", "2 of 2 machines are not ready\nMachine a: Alpha\nMachine b: Zeta\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := &pass{np: &hyperv1.NodePool{}, machines: test.machines}
			p.np.Spec.Replicas = test.replicas
			p.maker = &observed.Maker{}
			p.maker.Spec.Replicas = test.replicas
			p.aggregate("AllMachinesReady", "ready", readinessProblem)
			got := p.np.Status.Conditions[0]
			if got.Status != test.status || got.Reason != test.reason || got.Message != test.message {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestLongMessagesAreCut(t *testing.T) {
	var machines []capiv1.Machine
	for range 50 {
		machines = append(machines, testMachine(strings.Repeat("m", 50), metav1.Condition{Type: "Ready", Status: "False", Reason: "R" + strings.Repeat("x", 60), Message: strings.Repeat("y", 200)}))
	}
	p := &pass{np: &hyperv1.NodePool{}, machines: machines}
	p.aggregate("AllMachinesReady", "ready", readinessProblem)
	if got := p.np.Status.Conditions[0]; len(got.Message) > maxMessage || !strings.Contains(got.Message, "too many similar errors") {
		t.Errorf("%d characters: %s", len(got.Message), got.Message)
	}
}

func TestNodesInfo(t *testing.T) {
	ready := metav1.Condition{Type: "NodeReady", Status: metav1.ConditionTrue}
	with := func(version string, conditions ...metav1.Condition) capiv1.Machine {
		m := testMachine("x", conditions...)
		m.Spec.Version = version
		// Cluster API writes the pool's annotations onto former machines as well.
		m.Annotations = map[string]string{hyperv1.NodePoolReleaseVersionAnnotation: "4.22.0"}
		m.Status.NodeInfo = &corev1.NodeSystemInfo{KubeletVersion: "v1.34.2"}
		return m
	}
	if nodesInfo(nodePool(), []capiv1.Machine{testMachine("a")}) != nil {
		t.Error("a machine without a node counts")
	}
	info := nodesInfo(nodePool(), []capiv1.Machine{with("4.21.0", ready), with("4.21.0"), with("4.20.0", ready)})
	if len(info.NodeVersions) != 2 || info.NodeVersions[0].OCPVersion != "4.20.0" || *info.NodeVersions[1].ReadyNodeCount != 1 || *info.NodeVersions[1].UnreadyNodeCount != 1 {
		t.Errorf("%+v", info.NodeVersions)
	}
}

func TestDesiredReplicas(t *testing.T) {
	live := func(n int32) *observed.Maker {
		d := &observed.Maker{}
		d.Spec.Replicas = &n
		return d
	}
	for _, test := range []struct {
		replicas *int32
		scaling  *hyperv1.NodePoolAutoScaling
		floor    int32
		live     *observed.Maker
		want     int32
	}{
		{nil, nil, 0, nil, 0},
		{nil, nil, 0, live(4), 4},
		{ptr.To[int32](3), nil, 0, live(7), 3},
		{nil, &hyperv1.NodePoolAutoScaling{Min: 2, Max: 5}, 2, nil, 2},
		{nil, &hyperv1.NodePoolAutoScaling{Min: 2, Max: 5}, 2, live(4), 4},
		{nil, &hyperv1.NodePoolAutoScaling{Min: 2, Max: 5}, 2, live(9), 5},
		{nil, &hyperv1.NodePoolAutoScaling{Min: 0, Max: 5}, 1, live(0), 1},
		{nil, &hyperv1.NodePoolAutoScaling{Min: 0, Max: 5}, 0, live(0), 0},
		{nil, &hyperv1.NodePoolAutoScaling{Min: 0, Max: 5}, 0, nil, 0},
	} {
		np := &hyperv1.NodePool{}
		np.Spec.Replicas, np.Spec.AutoScaling = test.replicas, test.scaling
		if got := desiredReplicas(np, test.live, test.floor); got != test.want {
			t.Errorf("%+v: %d", test, got)
		}
	}
}

func TestMachineImage(t *testing.T) {
	tests := map[string]struct {
		image   hyperv1.AzureVMImage
		version string
		want    string
	}{
		"by id":                 {hyperv1.AzureVMImage{Type: "ImageID", ImageID: ptr.To("/id")}, "4.21.0", "id"},
		"id missing":            {hyperv1.AzureVMImage{Type: "ImageID"}, "4.21.0", ""},
		"spelled out":           {hyperv1.AzureVMImage{Type: "AzureMarketplace", AzureMarketplace: &hyperv1.AzureMarketplaceSpec{Publisher: "p", Offer: "o", SKU: "s", Version: "1.2.3"}}, "4.19.0", "p"},
		"from the payload":      {hyperv1.AzureVMImage{Type: "AzureMarketplace"}, "4.21.0", "azureopenshift"},
		"generation missing":    {hyperv1.AzureVMImage{Type: "AzureMarketplace", AzureMarketplace: &hyperv1.AzureMarketplaceSpec{ImageGeneration: "Gen1"}}, "4.21.0", "kinvolk"},
		"release without image": {hyperv1.AzureVMImage{Type: "AzureMarketplace"}, "4.19.0", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			np := nodePool()
			np.Spec.Platform.Azure.Image = test.image
			source := payload()
			source.Version = test.version
			if name == "release without image" {
				source = openShift(payload())
				source.Version, source.StreamMetadata = test.version, nil
			}
			got, err := machineImage(np, source)
			if (err == nil) != (test.want != "") {
				t.Fatalf("%v, %v", got, err)
			}
			if market, ok := got["marketplace"].(map[string]any); ok && market["publisher"] != test.want {
				t.Errorf("%v", got)
			}
			if test.want == "id" && got["id"] != "/id" {
				t.Errorf("%v", got)
			}
		})
	}
	broken := openShift(payload())
	broken.StreamMetadata = nil
	if _, err := machineImage(nodePool(), broken); err == nil || !strings.Contains(err.Error(), "the payload is broken") {
		t.Errorf("an OpenShift payload without stream metadata has an image: %v", err)
	}
	np := nodePool()
	np.Spec.Arch = "arm64"
	if _, err := machineImage(np, openShift(payload())); err == nil || !strings.Contains(err.Error(), "architecture arm64, generation Gen2") {
		t.Errorf("an OpenShift payload has no image for arm64: %v", err)
	}
}

func TestImageWithAPurchasePlan(t *testing.T) {
	np := nodePool()
	np.Spec.Platform.Azure.Image = hyperv1.AzureVMImage{Type: "AzureMarketplace", AzureMarketplace: &hyperv1.AzureMarketplaceSpec{
		Publisher: "kinvolk", Offer: "flatcar-container-linux-free", SKU: "stable-gen2", Version: "latest"}}
	for annotation, want := range map[string]any{"": nil, "false": nil, "true": true} {
		np.Annotations = nil
		if annotation != "" {
			np.Annotations = map[string]string{hyperv1.AzureImagePlanAnnotation: annotation}
		}
		image, err := machineImage(np, payload())
		if err != nil || image["marketplace"].(map[string]any)["thirdPartyImage"] != want {
			t.Errorf("%q: %v, %v", annotation, image, err)
		}
	}
	np.Annotations = map[string]string{hyperv1.AzureImagePlanAnnotation: "stable-gen2"}
	if _, err := machineImage(np, payload()); err == nil || !strings.Contains(err.Error(), hyperv1.AzureImagePlanAnnotation) {
		t.Errorf("nonsense: %v", err)
	}
	// The payload's image has none, whatever is said of another.
	np.Annotations[hyperv1.AzureImagePlanAnnotation] = "true"
	np.Spec.Platform.Azure.Image.AzureMarketplace = nil
	if image, err := machineImage(np, payload()); err != nil || image["marketplace"].(map[string]any)["thirdPartyImage"] != nil {
		t.Errorf("%v, %v", image, err)
	}
}

// openShift is a payload that describes the operating system of its nodes itself.
func openShift(payload *release.Release) *release.Release {
	payload.Images = maps.Clone(payload.Images)
	payload.Images["machine-config-operator"] = "quay.io/mco"
	return payload
}

func TestNetworkConflict(t *testing.T) {
	at := func(name string, addresses ...string) capiv1.Machine {
		m := testMachine(name)
		m.Status.Addresses = append(m.Status.Addresses, capiv1.MachineAddress{Type: "InternalDNS", Address: name})
		for _, address := range addresses {
			m.Status.Addresses = append(m.Status.Addresses, capiv1.MachineAddress{Type: "InternalIP", Address: address})
		}
		return m
	}
	conflict := "machine [a] with ip [10.132.0.4] collides with cluster-network cidr [10.132.0.0/14]"
	for name, test := range map[string]struct {
		machines []capiv1.Machine
		message  string
	}{
		"apart":              {[]capiv1.Machine{at("a", "10.0.0.4")}, ""},
		"inside":             {[]capiv1.Machine{at("a", "10.132.0.4"), at("b", "10.0.0.4")}, conflict},
		"inside and outside": {[]capiv1.Machine{at("a", "10.132.0.4", "10.0.0.4")}, ""},
		"inside, link-local": {[]capiv1.Machine{at("a", "169.254.1.1", "10.132.0.4")}, conflict},
		"no address":         {[]capiv1.Machine{at("a")}, ""},
		"other family":       {[]capiv1.Machine{at("a", "fd00::4")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := &pass{np: nodePool(), hc: hostedCluster(), machines: test.machines}
			p.hc.Spec.Networking.ClusterNetwork = []hyperv1.ClusterNetworkEntry{{CIDR: "10.132.0.0/14"}}
			for range 2 {
				if err := (&Reconciler{}).networkConflict(t.Context(), p); err != nil {
					t.Fatal(err)
				}
			}
			got := p.condition(hyperv1.NodePoolClusterNetworkCIDRConflict)
			if got.Message != test.message || (got.Status == "True") != (test.message != "") {
				t.Errorf("%+v", got)
			}
			p.machines = nil
			if err := (&Reconciler{}).networkConflict(t.Context(), p); err != nil || len(p.np.Status.Conditions) > 0 {
				t.Errorf("without machines: %v (%v)", p.np.Status.Conditions, err)
			}
		})
	}
	p := &pass{np: nodePool(), hc: hostedCluster()}
	p.hc.Spec.Networking.ClusterNetwork = []hyperv1.ClusterNetworkEntry{{CIDR: "10.132.0.0/14"}}
	for i := range 20 {
		p.machines = append(p.machines, at(strings.Repeat("m", i+1), "10.132.0.4"))
	}
	if err := (&Reconciler{}).networkConflict(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if got := p.condition(hyperv1.NodePoolClusterNetworkCIDRConflict).Message; len(got) > 256 {
		t.Errorf("%d characters", len(got))
	}
}

func TestNamesThatCannotBecomeNodes(t *testing.T) {
	for name, want := range map[string]bool{
		"workers": true, strings.Repeat("w", 63): true, strings.Repeat("w", 64): false, "a.b": false,
	} {
		np := nodePool()
		np.Name = name
		p := &pass{np: np, hc: &hyperv1.HostedCluster{}}
		err := (&Reconciler{}).platformConfig(t.Context(), p)
		condition := p.condition(hyperv1.NodePoolValidPlatformConfig)
		var stopped *steps.Stopped
		if want != (err == nil) || !want && !errors.As(err, &stopped) || (condition.Status == "True") != want {
			t.Errorf("%s: %v, %+v", name, err, condition)
		}
	}
}

// TestConditionKeepsItsTime: of a condition that one step of a pass sets and a later one takes back nothing has changed.
func TestConditionKeepsItsTime(t *testing.T) {
	const name = hyperv1.NodePoolAutoscalingEnabled
	since := metav1.Unix(1000, 0)
	np := nodePool()
	np.Status.Conditions = []hyperv1.NodePoolCondition{{Type: name, Status: corev1.ConditionFalse, LastTransitionTime: since}}
	p := &pass{np: np, began: np.DeepCopy().Status.Conditions}
	p.set(name, corev1.ConditionTrue, "Any", "")
	if got := p.condition(name).LastTransitionTime; got == since {
		t.Error("a condition that changed keeps its time")
	}
	p.set(name, corev1.ConditionFalse, "Any", "")
	if got := p.condition(name).LastTransitionTime; got != since {
		t.Errorf("since %v, and nothing changed since %v", got, since)
	}
}

// TestMachinesHaveTheRegistrysIdentity: what the kubelet pulls as, it finds on its machine.
func TestMachinesHaveTheRegistrysIdentity(t *testing.T) {
	hc := hostedCluster()
	if machine := templateSpec(nodePool(), hc, nil); machine["identity"] != "None" || machine["userAssignedIdentities"] != nil {
		t.Errorf("without a registry: %v, %v", machine["identity"], machine["userAssignedIdentities"])
	}
	if hc.Spec.Platform.Azure == nil {
		hc.Spec.Platform.Azure = &hyperv1.AzurePlatformSpec{}
	}
	hc.Spec.Platform.Azure.ContainerRegistry = &hyperv1.AzureContainerRegistry{Credentials: &hyperv1.AzureRegistryCredentials{
		Type: "ManagedIdentity", ManagedIdentity: &hyperv1.AzureRegistryIdentity{ResourceID: "/subscriptions/s/pulls"}}}
	machine := templateSpec(nodePool(), hc, nil)
	want := []any{map[string]any{"providerID": "azure:///subscriptions/s/pulls"}}
	if machine["identity"] != "UserAssigned" || !reflect.DeepEqual(machine["userAssignedIdentities"], want) {
		t.Errorf("%v, %v", machine["identity"], machine["userAssignedIdentities"])
	}
}
