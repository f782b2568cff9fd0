package nodepool

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/ignition"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

func TestReconcileMakesMachines(t *testing.T) {
	w := newWorld(t, append(surroundings(t), nodePool())...)
	if _, err := w.pass(t); err != nil {
		t.Fatal(err)
	}
	np := w.pool(t)
	if !slices.Contains(np.Finalizers, hyperv1.Finalizer) || len(np.OwnerReferences) != 1 {
		t.Errorf("finalizers %v, owners %v", np.Finalizers, np.OwnerReferences)
	}
	hash := np.Annotations[hyperv1.NodePoolTargetConfigVersionAnnotation]
	token, data := &corev1.Secret{}, &corev1.Secret{}
	for name, into := range map[string]*corev1.Secret{"token-demo-" + hash: token, "user-data-demo-" + hash: data} {
		if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: cpns, Name: name}, into); err != nil {
			t.Fatal(err)
		}
	}
	golden(t, "user-data.yaml", map[string]any{"labels": data.Labels, "value": string(data.Data["value"]), "keys": len(data.Data)})
	delete(token.Data, "config")
	golden(t, "token.yaml", map[string]any{"annotations": token.Annotations, "data": asText(token.Data)})

	deployment := w.object(t, clusterapi.MachineDeployment, "demo")
	golden(t, "machinedeployment.yaml", manifest(deployment))
	template, _, _ := unstructured.NestedString(deployment.Object, "spec", "template", "spec", "infrastructureRef", "name")
	golden(t, "azuremachinetemplate.yaml", manifest(w.object(t, clusterapi.AzureMachineTemplate, template)))

	if _, err := w.pass(t); err != nil {
		t.Fatal(err)
	}
	if _, err := w.pass(t); err != nil {
		t.Fatal(err)
	}
	if len(w.writes) > 0 {
		t.Errorf("a converged pass wrote: %v", w.writes)
	}
}

func asText(data map[string][]byte) map[string]string {
	out := map[string]string{}
	for key, value := range data {
		out[key] = string(value)
	}
	return out
}

// counted makes the MachineDeployment say that all its replicas are of the target and available.
func (w *world) counted(t *testing.T, replicas int64) {
	t.Helper()
	deployment := w.object(t, clusterapi.MachineDeployment, "demo")
	deployment.Object["status"] = map[string]any{
		"observedGeneration": deployment.GetGeneration(), "replicas": replicas, "availableReplicas": replicas, "upToDateReplicas": replicas,
		"conditions": []any{map[string]any{"type": "Available", "status": "True", "reason": "Available", "message": "", "lastTransitionTime": "2026-01-02T03:04:05Z"}},
	}
	w.writeStatus(t, deployment)
}

func (w *world) writeStatus(t *testing.T, obj *unstructured.Unstructured) {
	t.Helper()
	var err error
	if w.real {
		err = w.client.Status().Update(t.Context(), obj)
	} else {
		err = w.client.Update(t.Context(), obj)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// makeMachine makes a Machine of what the MachineDeployment wants now, with its AzureMachine.
func (w *world) makeMachine(t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	template, _, err := unstructured.NestedMap(w.object(t, clusterapi.MachineDeployment, "demo").Object, "spec", "template", "spec")
	if err != nil {
		t.Fatal(err)
	}
	cloned := clusterapi.New(clusterapi.AzureMachine, cpns, name)
	cloned.SetAnnotations(map[string]string{clonedFromAnnotation: template["infrastructureRef"].(map[string]any)["name"].(string)})
	template["infrastructureRef"] = map[string]any{"apiGroup": clusterapi.InfrastructureGroup, "kind": clusterapi.AzureMachine.Kind, "name": name}
	machine := clusterapi.New(clusterapi.Machine, cpns, name)
	machine.SetAnnotations(map[string]string{hyperv1.NodePoolAnnotation: "clusters/demo"})
	machine.SetFinalizers([]string{"machine.cluster.x-k8s.io"})
	machine.Object["spec"] = template
	if w.real {
		cloned.Object["spec"] = map[string]any{"vmSize": "any", "osDisk": map[string]any{"osType": "Linux"}, "sshPublicKey": "any"}
	}
	w.create(t, cloned, machine)
	info := map[string]any{}
	for _, key := range []string{"architecture", "bootID", "containerRuntimeVersion", "kernelVersion", "kubeProxyVersion", "kubeletVersion", "machineID", "operatingSystem", "osImage", "systemUUID"} {
		info[key] = "any"
	}
	machine.Object["status"] = map[string]any{"nodeInfo": info, "conditions": []any{
		conditionOf("Ready", "True", ""), conditionOf("NodeHealthy", "True", ""), conditionOf("NodeReady", "True", ""), conditionOf("InfrastructureReady", "True", "")}}
	w.writeStatus(t, machine)
	return machine
}

func conditionOf(name, status, reason string) map[string]any {
	return map[string]any{"type": name, "status": status, "reason": cmp.Or(reason, "Any"), "message": "", "lastTransitionTime": "2026-01-02T03:04:05Z"}
}

// finish makes what Cluster API makes, until the rollout is complete.
func (w *world) finish(t *testing.T, replicas int64) {
	t.Helper()
	for i := range replicas {
		w.makeMachine(t, fmt.Sprintf("demo-%d", i))
	}
	w.counted(t, replicas)
}

func TestRolloutCompletesAndSweeps(t *testing.T) {
	stale := clusterapi.New(clusterapi.AzureMachineTemplate, cpns, "demo-old")
	stale.SetAnnotations(map[string]string{hyperv1.NodePoolAnnotation: "clusters/demo"})
	oldData := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: cpns, Name: "user-data-demo-00000000", Annotations: map[string]string{hyperv1.NodePoolAnnotation: "clusters/demo"}}}
	oldToken := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: cpns, Name: "token-demo-00000000", Annotations: map[string]string{
		hyperv1.NodePoolAnnotation: "clusters/demo", hyperv1.IgnitionConfigAnnotation: "true"}}}
	w := newWorld(t, append(surroundings(t), nodePool(), stale, oldData, oldToken)...)
	if _, err := w.pass(t); err != nil {
		t.Fatal(err)
	}
	if c := condition(w.pool(t), hyperv1.NodePoolUpdatingVersion); c.Status != corev1.ConditionTrue {
		t.Errorf("UpdatingVersion = %+v", c)
	}
	w.finish(t, 2)
	if _, err := w.pass(t); err != nil {
		t.Fatal(err)
	}
	np := w.pool(t)
	if np.Status.Version != "4.21.0" || np.Status.Replicas != 2 {
		t.Errorf("version %q, replicas %d", np.Status.Version, np.Status.Replicas)
	}
	for _, name := range []string{hyperv1.NodePoolUpdatingConfig, hyperv1.NodePoolUpdatingVersion, hyperv1.NodePoolUpdatingPlatformMachineTemplate} {
		if c := condition(np, name); c.Status != corev1.ConditionFalse || c.Reason != "AsExpected" {
			t.Errorf("%s = %+v", name, c)
		}
	}
	if c := condition(np, hyperv1.NodePoolReady); c.Status != corev1.ConditionTrue || c.Reason != "AsExpected" {
		t.Errorf("Ready = %+v", c)
	}
	if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(stale), stale); !apierrors.IsNotFound(err) {
		t.Errorf("stale template: %v", err)
	}
	if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(oldData), oldData); !apierrors.IsNotFound(err) {
		t.Errorf("stale user data: %v", err)
	}
	if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(oldToken), oldToken); err != nil {
		t.Fatal(err)
	}
	if got := oldToken.Annotations[hyperv1.IgnitionTokenExpirationTimestampAnnotation]; got != "2026-01-02T05:04:05Z" {
		t.Errorf("old token expires %q", got)
	}
	if _, err := w.pass(t); err != nil || len(w.writes) > 0 {
		t.Errorf("a converged pass wrote %v (%v)", w.writes, err)
	}
}

func TestScaleAndDrift(t *testing.T) {
	w := newWorld(t, append(surroundings(t), nodePool())...)
	if _, err := w.pass(t); err != nil {
		t.Fatal(err)
	}
	for _, change := range []func(){
		func() {
			np := w.pool(t)
			np.Spec.Replicas = ptr.To[int32](3)
			if err := w.client.Update(t.Context(), np); err != nil {
				t.Fatal(err)
			}
		},
		func() {
			deployment := w.object(t, clusterapi.MachineDeployment, "demo")
			if err := unstructured.SetNestedField(deployment.Object, int64(9), "spec", "replicas"); err != nil {
				t.Fatal(err)
			}
			if err := w.client.Update(t.Context(), deployment); err != nil {
				t.Fatal(err)
			}
		},
	} {
		change()
		if _, err := w.pass(t); err != nil {
			t.Fatal(err)
		}
		if got, _, _ := unstructured.NestedInt64(w.object(t, clusterapi.MachineDeployment, "demo").Object, "spec", "replicas"); got != 3 {
			t.Errorf("replicas = %d", got)
		}
	}
}

func TestConditionsThatStop(t *testing.T) {
	tests := map[string]struct {
		change                    func(*world, *hyperv1.HostedCluster, *hyperv1.NodePool)
		missing                   string
		condition, status, reason string
		fails, machines           bool
	}{
		"updated nobody knows how": {condition: "UpdateManagementEnabled", status: "False", reason: "ValidationFailed",
			change: func(_ *world, _ *hyperv1.HostedCluster, np *hyperv1.NodePool) {
				np.Spec.Management.UpgradeType = "Sideways"
			}},
		"payload unreadable": {condition: "ValidReleaseImage", status: "False", reason: "ValidationFailed", fails: true,
			change: func(w *world, _ *hyperv1.HostedCluster, _ *hyperv1.NodePool) {
				w.releases = fixedReleases{err: errors.New("no")}
			}},
		"too new": {condition: "ValidReleaseImage", status: "False", reason: "ValidationFailed", fails: true,
			change: func(w *world, _ *hyperv1.HostedCluster, _ *hyperv1.NodePool) { w.releases = versioned("5.2.0") }},
		"too old": {condition: "ValidReleaseImage", status: "False", reason: "ValidationFailed", fails: true,
			change: func(w *world, _ *hyperv1.HostedCluster, _ *hyperv1.NodePool) { w.releases = versioned("4.13.9") }},
		"too new, and not asked": {condition: "ValidReleaseImage", status: "True", reason: "AsExpected", machines: true,
			change: func(w *world, hc *hyperv1.HostedCluster, _ *hyperv1.NodePool) {
				w.releases = versioned("5.2.0")
				hc.Annotations = map[string]string{hyperv1.SkipReleaseImageValidation: ""}
			}},
		"downgrade": {condition: "ValidReleaseImage", status: "False", reason: "ValidationFailed", fails: true,
			change: func(_ *world, _ *hyperv1.HostedCluster, np *hyperv1.NodePool) { np.Status.Version = "4.22.0" }},
		"no endpoint": {condition: "IgnitionEndpointAvailable", status: "False", reason: "IgnitionEndpointMissing",
			change: func(_ *world, hc *hyperv1.HostedCluster, _ *hyperv1.NodePool) { hc.Status.IgnitionEndpoint = "" }},
		"endpoint does not resolve": {condition: "IgnitionEndpointAvailable", status: "False", reason: "ExternalDNSHostNotReachable",
			change: func(w *world, hc *hyperv1.HostedCluster, _ *hyperv1.NodePool) {
				w.resolve = func(context.Context, string) error { return errors.New("no such host") }
				hc.Spec.Services = []hyperv1.ServicePublishingStrategyMapping{{Service: hyperv1.Ignition, ServicePublishingStrategy: hyperv1.ServicePublishingStrategy{
					Type: hyperv1.Route, Route: &hyperv1.RoutePublishingStrategy{Hostname: "ignition.example.com"}}}}
			}},
		"no ignition CA": {missing: ignitionCASecret, condition: "IgnitionEndpointAvailable", status: "False", reason: "IgnitionCACertMissing"},
		"other architecture": {condition: "ValidArchPlatform", status: "False", reason: "InvalidArchPlatform", fails: true,
			change: func(_ *world, _ *hyperv1.HostedCluster, np *hyperv1.NodePool) { np.Spec.Arch = "arm64" }},
		"core configuration not complete": {missing: "ignition-config-fips", condition: "ValidMachineConfig", status: "False", reason: "ValidationFailed", fails: true},
		"configuration missing": {condition: "ValidMachineConfig", status: "False", reason: "ValidationFailed", fails: true,
			change: func(_ *world, _ *hyperv1.HostedCluster, np *hyperv1.NodePool) {
				np.Spec.Config = []corev1.LocalObjectReference{{Name: "nowhere"}}
			}},
		"no kubeconfig yet": {condition: "ValidMachineConfig", status: "", reason: "",
			change: func(_ *world, hc *hyperv1.HostedCluster, _ *hyperv1.NodePool) { hc.Status.KubeConfig = nil }},
		"newer than the cluster": {condition: "SupportedVersionSkew", status: "False", reason: "UnsupportedSkew", machines: true,
			change: func(_ *world, hc *hyperv1.HostedCluster, _ *hyperv1.NodePool) {
				hc.Status.Version.Desired.Version = "4.20.9"
			}},
		"no machine image": {condition: "ValidPlatformImage", status: "False", reason: "ValidationFailed", fails: true,
			change: func(w *world, _ *hyperv1.HostedCluster, np *hyperv1.NodePool) {
				multi := payload()
				multi.Architecture = release.ArchMulti
				w.releases = fixedReleases{release: multi}
				np.Spec.Arch = "arm64"
				np.Spec.Platform.Azure.Image.AzureMarketplace.ImageGeneration = "Gen1"
			}},
		"Azure block missing": {condition: "ValidPlatformConfig", status: "False", reason: "ValidationFailed",
			change: func(_ *world, _ *hyperv1.HostedCluster, np *hyperv1.NodePool) { np.Spec.Platform.Azure = nil }},
		"paused": {condition: "ReconciliationActive", status: "False", reason: "ReconciliationPaused",
			change: func(_ *world, _ *hyperv1.HostedCluster, np *hyperv1.NodePool) { np.Spec.PausedUntil = ptr.To("true") }},
		"pause over": {condition: "ReconciliationActive", status: "True", reason: "ReconciliationActive", machines: true,
			change: func(_ *world, _ *hyperv1.HostedCluster, np *hyperv1.NodePool) {
				np.Spec.PausedUntil = ptr.To("2025-01-01T00:00:00Z")
			}},
		"pause unreadable": {condition: "ReconciliationActive", status: "True", reason: "InvalidPausedUntilValue", machines: true,
			change: func(_ *world, _ *hyperv1.HostedCluster, np *hyperv1.NodePool) { np.Spec.PausedUntil = ptr.To("later") }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			objects, np := surroundings(t), nodePool()
			w := newWorld(t)
			if test.change != nil {
				test.change(w, objects[0].(*hyperv1.HostedCluster), np)
			}
			objects = slices.DeleteFunc(append(objects, np), func(obj client.Object) bool { return obj.GetName() == test.missing })
			full := newWorld(t, objects...)
			w.Reconciler.client = full.client
			if _, err := w.pass(t); (err != nil) != test.fails {
				t.Errorf("error = %v", err)
			}
			got := condition(w.pool(t), test.condition)
			if string(got.Status) != test.status || got.Reason != test.reason {
				t.Errorf("%s = %+v", test.condition, got)
			}
			err := w.client.Get(t.Context(), client.ObjectKey{Namespace: cpns, Name: "demo"}, clusterapi.New(clusterapi.MachineDeployment, cpns, "demo"))
			if (err == nil) != test.machines {
				t.Errorf("MachineDeployment: %v", err)
			}
		})
	}
}

// The pool's annotation replaces the payload's image of the node-local API proxy.
func TestAPIProxyImage(t *testing.T) {
	for annotation, want := range map[string]string{"": "quay.io/art@sha256:3", "registry.example.com/haproxy:1": "registry.example.com/haproxy:1"} {
		np := nodePool()
		if annotation != "" {
			np.Annotations = map[string]string{hyperv1.HAProxyImageAnnotation: annotation}
		}
		w := newWorld(t, append(surroundings(t), np)...)
		if _, err := w.pass(t); err != nil {
			t.Fatal(err)
		}
		token := &corev1.Secret{}
		name := "token-demo-" + w.pool(t).Annotations[hyperv1.NodePoolTargetConfigVersionAnnotation]
		if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: cpns, Name: name}, token); err != nil {
			t.Fatal(err)
		}
		manifests, err := ignition.Decompress(token.Data["config"])
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(podOf(t, manifests), want) {
			t.Errorf("annotation %q: no %s in the configuration", annotation, want)
		}
	}
}

// podOf decodes the static pod among the files of machine configs.
func podOf(t *testing.T, manifests string) string {
	t.Helper()
	var all strings.Builder
	for _, encoded := range regexp.MustCompile(`base64,([A-Za-z0-9+/=]+)`).FindAllStringSubmatch(manifests, -1) {
		decoded, err := base64.StdEncoding.DecodeString(encoded[1])
		if err != nil {
			t.Fatal(err)
		}
		all.Write(decoded)
	}
	return all.String()
}

// versioned is a payload of another version.
func versioned(version string) fixedReleases {
	other := payload()
	other.Version = version
	return fixedReleases{release: other}
}

func TestPauseHoldsTheDeployment(t *testing.T) {
	w := newWorld(t, append(surroundings(t), nodePool())...)
	if _, err := w.pass(t); err != nil {
		t.Fatal(err)
	}
	for _, paused := range []bool{true, false} {
		np := w.pool(t)
		np.Spec.PausedUntil = nil
		if paused {
			np.Spec.PausedUntil = ptr.To("true")
		}
		if err := w.client.Update(t.Context(), np); err != nil {
			t.Fatal(err)
		}
		if _, err := w.pass(t); err != nil {
			t.Fatal(err)
		}
		if got := w.object(t, clusterapi.MachineDeployment, "demo").GetAnnotations()[contract.PausedAnnotation] == "true"; got != paused {
			t.Errorf("paused = %v, want %v", got, paused)
		}
	}
}

func TestDeletionWaitsForMachines(t *testing.T) {
	w := newWorld(t, append(surroundings(t), nodePool())...)
	if _, err := w.pass(t); err != nil {
		t.Fatal(err)
	}
	last := clusterapi.New(clusterapi.Machine, cpns, "demo-1")
	last.SetAnnotations(map[string]string{hyperv1.NodePoolAnnotation: "clusters/demo"})
	if err := w.client.Create(t.Context(), last); err != nil {
		t.Fatal(err)
	}
	if err := w.client.Delete(t.Context(), w.pool(t)); err != nil {
		t.Fatal(err)
	}
	result, err := w.pass(t)
	if err != nil || result.RequeueAfter == 0 {
		t.Fatalf("%v, %v", result, err)
	}
	if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: cpns, Name: "demo"}, clusterapi.New(clusterapi.MachineDeployment, cpns, "demo")); !apierrors.IsNotFound(err) {
		t.Errorf("MachineDeployment: %v", err)
	}
	var secrets corev1.SecretList
	if err := w.client.List(t.Context(), &secrets, client.InNamespace(cpns)); err != nil || len(secrets.Items) != 3 {
		t.Errorf("%d secrets while a machine is there (%v)", len(secrets.Items), err)
	}
	if err := w.client.Delete(t.Context(), last); err != nil {
		t.Fatal(err)
	}
	if _, err := w.pass(t); err != nil {
		t.Fatal(err)
	}
	err = w.client.Get(t.Context(), client.ObjectKey{Namespace: "clusters", Name: "demo"}, &hyperv1.NodePool{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("node pool: %v", err)
	}
	if err := w.client.List(t.Context(), &secrets, client.InNamespace(cpns)); err != nil || len(secrets.Items) != 1 {
		t.Errorf("%d secrets afterwards (%v)", len(secrets.Items), err)
	}
}
