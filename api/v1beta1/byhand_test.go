package v1beta1_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/client/versioned"
	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
)

const (
	byHand  = "testdata/azure.yaml"
	foreign = "testdata/foreign.yaml"
)

func kubectl(t *testing.T, server *kubetest.Server, arguments ...string) string {
	t.Helper()
	arguments = append([]string{"--kubeconfig", kubetest.Kubeconfig(t, server.Config(t), t.TempDir())}, arguments...)
	out, err := exec.Command(kubetest.Program(t, "kubectl"), arguments...).CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %v: %v\n%s", arguments[2:], err, out)
	}
	return string(out)
}

// TestForeign applies by server-side apply what users of other builds have, and looks for losses.
func TestForeign(t *testing.T) {
	cluster := connect(t, &server)
	kubectl(t, &server, "apply", "--server-side", "--validate=strict", "-f", foreign)
	written := documents(t, foreign)
	first := make([]*unstructured.Unstructured, len(written))
	for i, obj := range written {
		stored, err := cluster.resource(obj.GetKind()).Get(context.Background(), obj.GetName(), metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		first[i] = stored
		for _, loss := range lost("", obj.Object, stored.Object) {
			t.Errorf("%s %s: the server loses %s", obj.GetKind(), obj.GetName(), loss)
		}
		for _, loss := range lost("", stored.Object, throughTypes(t, stored)) {
			t.Errorf("%s %s: the Go types lose %s", obj.GetKind(), obj.GetName(), loss)
		}
	}
	kubectl(t, &server, "apply", "--server-side", "--validate=strict", "-f", foreign)
	for i, obj := range written {
		stored, err := cluster.resource(obj.GetKind()).Get(context.Background(), obj.GetName(), metav1.GetOptions{})
		if err != nil || stored.GetResourceVersion() != first[i].GetResourceVersion() {
			t.Errorf("%s %s: the second apply changes it (%v)", obj.GetKind(), obj.GetName(), err)
		}
	}
}

// TestByHand applies what a person wrote, and looks for losses: on the way through the Go types, and of the server.
func TestByHand(t *testing.T) {
	cluster := connect(t, &server)
	kubectl(t, &server, "apply", "--validate=strict", "-f", byHand)
	if out := kubectl(t, &server, "apply", "-f", byHand); strings.Count(out, "unchanged") != 2 {
		t.Errorf("the second kubectl apply says %q, want unchanged twice", out)
	}
	if out := kubectl(t, &server, "-n", "clusters", "scale", "np/byhand", "--replicas=3"); !strings.Contains(out, "scaled") {
		t.Errorf("kubectl scale says %q", out)
	}
	for _, written := range documents(t, byHand) {
		t.Run(written.GetKind(), func(t *testing.T) {
			stored, err := cluster.resource(written.GetKind()).Get(context.Background(), written.GetName(), metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if written.GetKind() == "NodePool" {
				if err := unstructured.SetNestedField(written.Object, int64(3), "spec", "replicas"); err != nil {
					t.Fatal(err)
				}
			}
			for _, loss := range lost("", written.Object, stored.Object) {
				t.Errorf("the server loses %s", loss)
			}
			for _, loss := range lost("", stored.Object, throughTypes(t, stored)) {
				t.Errorf("the Go types lose %s", loss)
			}
		})
	}
}

// throughTypes decodes into the Go type, refusing members it does not know, and encodes again.
func throughTypes(t *testing.T, obj *unstructured.Unstructured) map[string]any {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := hyperv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	typed, err := scheme.New(obj.GroupVersionKind())
	if err != nil {
		t.Fatal(err)
	}
	const strict = true
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(obj.Object, typed, strict); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(typed)
	if err != nil {
		t.Fatal(err)
	}
	back := &unstructured.Unstructured{}
	if err := back.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	return back.Object
}

// lost lists the members of before that after lacks or has changed.
func lost(path string, before, after any) []string {
	switch before := before.(type) {
	case map[string]any:
		object, ok := after.(map[string]any)
		if !ok {
			return []string{path}
		}
		var all []string
		for key, value := range before {
			all = append(all, lost(path+"."+key, value, object[key])...)
		}
		return all
	case []any:
		list, ok := after.([]any)
		if !ok || len(list) != len(before) {
			return []string{path}
		}
		var all []string
		for i := range before {
			all = append(all, lost(fmt.Sprintf("%s[%d]", path, i), before[i], list[i])...)
		}
		return all
	default:
		if !reflect.DeepEqual(before, after) {
			return []string{fmt.Sprintf("%s: %v becomes %v", path, before, after)}
		}
		return nil
	}
}

// TestDefaults reads by the generated client what the server adds to the least that a person can write.
func TestDefaults(t *testing.T) {
	connect(t, &server)
	clients, err := versioned.NewForConfig(server.Config(t))
	if err != nil {
		t.Fatal(err)
	}
	var bases map[string]json.RawMessage
	load(t, "testdata/bases.yaml", yamlToJSON, &bases)
	ctx, hypershift := context.Background(), clients.HypershiftV1beta1()

	hc := &hyperv1.HostedCluster{}
	unmarshal(t, bases["HostedCluster"], hc)
	hc.Name = "defaults"
	hc, err = hypershift.HostedClusters("clusters").Create(ctx, hc, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	spec := hc.Spec
	expect(t, map[string][2]any{
		"controllerAvailabilityPolicy":     {spec.ControllerAvailabilityPolicy, hyperv1.HighlyAvailable},
		"infrastructureAvailabilityPolicy": {spec.InfrastructureAvailabilityPolicy, hyperv1.SingleReplica},
		"issuerURL":                        {spec.IssuerURL, "https://kubernetes.default.svc"},
		"olmCatalogPlacement":              {spec.OLMCatalogPlacement, hyperv1.ManagementOLMCatalogPlacement},
		"networking.networkType":           {spec.Networking.NetworkType, hyperv1.OVNKubernetes},
		"networking.clusterNetwork":        {spec.Networking.ClusterNetwork, []hyperv1.ClusterNetworkEntry{{CIDR: "10.132.0.0/14"}}},
		"networking.serviceNetwork":        {spec.Networking.ServiceNetwork, []hyperv1.NetworkEntry{{CIDR: "172.31.0.0/16"}}},
		"autoscaling.scaling":              {spec.Autoscaling.Scaling, "ScaleUpAndScaleDown"},
		"capabilities":                     {spec.Capabilities, &hyperv1.Capabilities{}},
		"platform.azure.cloud":             {spec.Platform.Azure.Cloud, "AzurePublicCloud"},
	})

	np := &hyperv1.NodePool{}
	unmarshal(t, bases["NodePool"], np)
	np.Name = "defaults"
	np, err = hypershift.NodePools("clusters").Create(ctx, np, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	azure, replace := np.Spec.Platform.Azure, np.Spec.Management.Replace
	expect(t, map[string][2]any{
		"arch":                  {np.Spec.Arch, "amd64"},
		"replace.strategy":      {replace.Strategy, hyperv1.UpgradeStrategyRollingUpdate},
		"replace.rollingUpdate": {replace.RollingUpdate.MaxSurge.String() + " " + replace.RollingUpdate.MaxUnavailable.String(), "1 0"},
		"autoRepair":            {np.Spec.Management.AutoRepair, false},
		"imageGeneration":       {azure.Image.AzureMarketplace.ImageGeneration, "Gen2"},
		"encryptionAtHost":      {azure.EncryptionAtHost, "Enabled"},
	})
	scale := &autoscalingv1.Scale{}
	err = hypershift.RESTClient().Get().Namespace("clusters").Resource("nodepools").Name("defaults").SubResource("scale").Do(ctx).Into(scale)
	if err != nil || scale.Spec.Replicas != 2 {
		t.Errorf("scale %+v (%v), want 2 replicas", scale.Spec, err)
	}
}

// TestStoredDefaults checks the defaults that a Go value cannot tell from what was written.
func TestStoredDefaults(t *testing.T) {
	cluster := connect(t, &server)
	var bases map[string]map[string]any
	load(t, "testdata/bases.yaml", yamlToJSON, &bases)
	for kind, defaults := range map[string]map[string]any{
		"HostedCluster": {"spec.etcd.managementType": "Managed", "spec.etcd.managed.storage.type": "PersistentVolume", "spec.etcd.managed.storage.persistentVolume.size": "8Gi"},
		"HostedControlPlane": {
			"spec.networking": nil, "status.ready": nil, "spec.controllerAvailabilityPolicy": "HighlyAvailable", "spec.olmCatalogPlacement": "management",
		},
	} {
		obj := &unstructured.Unstructured{Object: bases[kind]}
		obj.SetName("stored-defaults")
		obj, err := cluster.resource(kind).Create(context.Background(), obj, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for path, want := range defaults {
			got, _, err := unstructured.NestedFieldNoCopy(obj.Object, strings.Split(path, ".")...)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s of a %s is %v (%v), want %v", path, kind, got, err, want)
			}
		}
	}
}

func expect(t *testing.T, checks map[string][2]any) {
	t.Helper()
	for name, check := range checks {
		if !reflect.DeepEqual(check[0], check[1]) {
			t.Errorf("%s is %v, want %v", name, check[0], check[1])
		}
	}
}

func unmarshal(t *testing.T, raw []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatal(err)
	}
}
