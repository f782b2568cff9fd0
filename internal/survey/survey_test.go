package survey_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/survey"
	"github.com/hypershift-on-azure/hypershift/internal/survey/surveytest"
)

func same(t *testing.T, got, want any, about ...any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s\ngot  %+v\nwant %+v", fmt.Sprint(about...), got, want)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, scope survey.Scope, objects ...client.Object) *survey.Fleet {
	t.Helper()
	fleet, err := survey.Read(t.Context(), surveytest.Client(objects...).Build(), scope, surveytest.Now)
	must(t, err)
	return fleet
}

// A machine is shown in the furthest stage that it has come to, with what it waits for there.
func TestStages(t *testing.T) {
	const denied = "AADSTS70021: No matching federated identity record found"
	failed := surveytest.Machine("demo", "failed", "InfrastructureReady False NotReady")
	failed.Object["status"].(map[string]any)["deprecated"] = map[string]any{"v1beta1": map[string]any{"failureReason": "InvalidConfiguration", "failureMessage": "no such size"}}
	deleting := surveytest.Machine("demo", "leaving", "InfrastructureReady False DeletionFailed ScopeLocked", "Deleting True DrainingNode draining")
	deleting.SetDeletionTimestamp(ptr.To(metav1.NewTime(surveytest.Now.Add(-time.Minute))))
	deleting.SetFinalizers([]string{"test/keep"})
	for name, tc := range map[string]struct {
		machine                *unstructured.Unstructured
		stage, reason, message string
		since                  time.Duration
	}{
		"nobody has said anything":  {surveytest.Machine("demo", "m"), survey.Asked, "", "", 10 * time.Minute},
		"the provider is silent":    {surveytest.Machine("demo", "m", "InfrastructureReady False NotReady"), survey.Asked, "NotReady", "", 10 * time.Minute},
		"Cluster API says so":       {surveytest.Machine("demo", "m", "InfrastructureReady False NotReady AzureMachine status.initialization.provisioned is false"), survey.Asked, "NotReady", "AzureMachine status.initialization.provisioned is false", 10 * time.Minute},
		"Azure's word for a pool":   {surveytest.Machine("demo", "silent", "InfrastructureReady False NotReady"), survey.Asked, "InvalidAzureCredentials", denied, 10 * time.Minute},
		"Azure makes it":            {surveytest.Machine("demo", "m", "InfrastructureReady False Creating in Azure"), survey.Creating, "Creating", "in Azure", 10 * time.Minute},
		"Azure could not make it":   {surveytest.Machine("demo", "m", "InfrastructureReady False VMProvisionFailed quota"), survey.Failed, "VMProvisionFailed", "quota", time.Minute},
		"nobody tries again":        {failed, survey.Failed, "InvalidConfiguration", "no such size", time.Minute},
		"it runs":                   {surveytest.Machine("demo", "m", "InfrastructureReady True Ready"), survey.Booting, "WaitingForNodeRef", "", time.Minute},
		"it runs and says why":      {surveytest.Machine("demo", "booting", "InfrastructureReady True Ready"), survey.Booting, "WaitingForNodeRef", "the machine says: no route to ignition", time.Minute},
		"it is a node":              {surveytest.NodeOf(surveytest.Machine("demo", "m", "InfrastructureReady True Ready", "NodeReady False KubeletNotReady no network"), "n"), survey.Joined, "KubeletNotReady", "no network", time.Minute},
		"it is a node that is well": {surveytest.NodeOf(surveytest.Machine("demo", "m", "InfrastructureReady True Ready", "NodeReady True NodeReady"), "n"), survey.Ready, "", "", time.Minute},
		"it shall go and cannot":    {deleting, survey.Deleting, "DeletionFailed", "ScopeLocked", time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			pool := surveytest.Pool("demo", "demo", 1, func(np *hyperv1.NodePool) {
				surveytest.PoolSays(np, hyperv1.NodePoolAllMachinesReady, corev1.ConditionFalse, "X",
					"2 of 2 machines are not ready\nMachine other: X: of another\nMachine silent: InvalidAzureCredentials: "+denied+"\nMachine then: X: and on\n")
				surveytest.PoolSays(np, hyperv1.NodePoolAllNodesHealthy, corev1.ConditionFalse, "X", "1 of 1 machines are not healthy\nMachine booting: WaitingForNodeRef: the machine says: no route to ignition\n")
			})
			fleet := read(t, survey.Scope{Namespace: "clusters"}, surveytest.Cluster("demo"), pool, tc.machine)
			got := fleet.Clusters[0].NodePools[0].Machines[0]
			same(t, []string{got.Stage, got.Reason, got.Message}, []string{tc.stage, tc.reason, tc.message})
			same(t, surveytest.Now.Sub(got.Since), tc.since)
		})
	}
}

// The size is that of the machine, which in a rollout is not yet that of its pool.
func TestMachineShowsItself(t *testing.T) {
	fleet := read(t, survey.Scope{Namespace: "clusters", Cluster: "demo"}, surveytest.Cluster("demo"), surveytest.Pool("demo", "big", 1),
		surveytest.NodeOf(surveytest.Machine("big", "m", "NodeReady True NodeReady"), "node-1"), surveytest.AzureMachine("m", "Standard_D8s_v5", "2"))
	got := fleet.Clusters[0].NodePools[0].Machines[0]
	same(t, got, survey.Machine{Name: "m", VM: "m-vm", Stage: survey.Ready, Since: surveytest.Now.Add(-time.Minute), Node: "node-1", Version: "4.21.0", Size: "Standard_D8s_v5", Zone: "2", Address: "10.0.0.5"})
}

// Two clusters whose names lead to the same namespace do not share machines: the annotation says whose a machine is.
func TestMachinesOfAmbiguousNames(t *testing.T) {
	other := surveytest.Cluster("demo")
	other.Namespace, other.Name = "clusters-a", "b"
	mine := surveytest.Cluster("a-b")
	pool, theirs := surveytest.Pool("a-b", "p", 1), surveytest.Pool("b", "p", 1)
	theirs.Namespace = "clusters-a"
	m := surveytest.Machine("p", "m")
	m.SetNamespace("clusters-a-b")
	fleet := read(t, survey.Scope{}, mine, other, pool, theirs, m)
	same(t, len(fleet.Clusters), 2)
	same(t, len(fleet.Clusters[1].NodePools[0].Machines), 1, fleet.Clusters[1].Name)
	same(t, len(fleet.Clusters[0].NodePools[0].Machines), 0, "of somebody else's pool")
}

func TestProgress(t *testing.T) {
	rolling := surveytest.Cluster("rolling", func(hc *hyperv1.HostedCluster) {
		hc.Status.Version.Desired.Version = "4.22.0"
		hc.Status.Version.History = append([]hyperv1.UpdateHistory{{State: hyperv1.PartialUpdate, Version: "4.22.0"}}, hc.Status.Version.History...)
	})
	fresh := surveytest.Cluster("fresh", func(hc *hyperv1.HostedCluster) {
		hc.Status.Version = &hyperv1.ClusterVersionStatus{Desired: hyperv1.VersionRelease{Version: "4.21.0"}, History: []hyperv1.UpdateHistory{{State: hyperv1.PartialUpdate, Version: "4.21.0"}}}
	})
	empty := surveytest.Cluster("empty", func(hc *hyperv1.HostedCluster) { hc.Status = hyperv1.HostedClusterStatus{} })
	paused := surveytest.Cluster("paused", func(hc *hyperv1.HostedCluster) { hc.Spec.PausedUntil = ptr.To("true") })
	over := surveytest.Cluster("over", func(hc *hyperv1.HostedCluster) { hc.Spec.PausedUntil = ptr.To("2025-01-01T00:00:00Z") })
	var got []string
	for _, c := range read(t, survey.Scope{}, rolling, fresh, empty, paused, over).Clusters {
		got = append(got, strings.Join([]string{c.Name, c.Progress, c.Version, c.Target, c.Available}, " "))
	}
	same(t, got, []string{"empty Pending   Unknown", "fresh Partial  4.21.0 True", "over Completed 4.21.0  True", "paused Paused 4.21.0  True", "rolling Partial 4.21.0 4.22.0 True"})

	pools := []client.Object{surveytest.Cluster("demo"),
		surveytest.Pool("demo", "a-ready", 2),
		surveytest.Pool("demo", "b-updating", 2, func(np *hyperv1.NodePool) {
			surveytest.PoolSays(np, hyperv1.NodePoolUpdatingVersion, corev1.ConditionTrue, "Updating", "to 4.22.0")
		}),
		surveytest.Pool("demo", "c-waiting", 2, func(np *hyperv1.NodePool) {
			surveytest.PoolSays(np, hyperv1.NodePoolReady, corev1.ConditionFalse, "X", "no machines")
		}),
		surveytest.Pool("demo", "d-scaling", 2, func(np *hyperv1.NodePool) {
			np.Spec.AutoScaling = &hyperv1.NodePoolAutoScaling{Min: 1, Max: 5}
			np.Spec.PausedUntil = ptr.To("true")
		}),
	}
	got = nil
	for _, p := range read(t, survey.Scope{}, pools...).Clusters[0].NodePools {
		got = append(got, fmt.Sprint(p.Name, " ", p.Progress, " ", p.Message, " ", p.Wanted, p.Minimum, p.Maximum))
	}
	same(t, got, []string{"a-ready Ready  2 0 0", "b-updating Updating to 4.22.0 2 0 0", "c-waiting Waiting no machines 2 0 0", "d-scaling Paused  -1 1 5"})
}

// A hundred clusters take as many calls as one.
func TestCallsDoNotGrow(t *testing.T) {
	calls := make(chan string, 1000)
	objects := []client.Object{}
	for i := range 100 {
		name := fmt.Sprintf("c%03d", i)
		objects = append(objects, surveytest.Cluster(name), surveytest.Pool(name, name, 1))
	}
	c := surveytest.Client(objects...).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			calls <- fmt.Sprintf("%T", list)
			return c.List(ctx, list, opts...)
		},
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			calls <- "get " + key.String()
			return c.Get(ctx, key, obj, opts...)
		},
	}).Build()
	fleet, err := survey.Read(t.Context(), c, survey.Scope{}, surveytest.Now)
	must(t, err)
	same(t, len(fleet.Clusters), 100)
	same(t, len(fleet.Clusters[99].NodePools), 1)
	same(t, len(calls), 4)
}

// What a person may not read, or what is not installed, hides nothing else.
func TestUnseen(t *testing.T) {
	refuse := func(err error) *survey.Fleet {
		c := surveytest.Client(surveytest.Cluster("demo"), surveytest.Pool("demo", "demo", 1)).WithInterceptorFuncs(interceptor.Funcs{
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
				if u, ok := list.(*unstructured.UnstructuredList); ok && u.GetKind() == "MachineList" {
					return err
				}
				return c.List(ctx, list, opts...)
			}}).Build()
		fleet, err := survey.Read(t.Context(), c, survey.Scope{}, surveytest.Now)
		must(t, err)
		return fleet
	}
	fleet := refuse(apierrors.NewForbidden(schema.GroupResource{Resource: "machines"}, "", errors.New("no")))
	if fleet.Clusters[0].NodePools[0].Machines != nil || len(fleet.Unseen) != 1 || !strings.Contains(fleet.Unseen[0], "Machines are not shown") {
		t.Errorf("%+v", fleet)
	}
	fleet = refuse(&meta.NoKindMatchError{})
	same(t, len(fleet.Clusters[0].NodePools[0].Machines)+len(fleet.Unseen), 0)
}

func TestWhatIsNotThere(t *testing.T) {
	_, err := survey.Read(t.Context(), surveytest.Client().Build(), survey.Scope{Namespace: "clusters", Cluster: "typo"}, surveytest.Now)
	same(t, apierrors.IsNotFound(err), true, err)
	c := surveytest.Client().WithInterceptorFuncs(interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
		return &meta.NoKindMatchError{}
	}}).Build()
	_, err = survey.Read(t.Context(), c, survey.Scope{}, surveytest.Now)
	same(t, errors.Is(err, survey.ErrNotInstalled), true, err)
}

// TestMachineThatAzureHasGivenUp: Cluster API takes a virtual machine for made that never told Azure so; its state tells.
func TestMachineThatAzureHasGivenUp(t *testing.T) {
	azure := surveytest.AzureMachine("m", "Standard_D8s_v5", "2")
	azure.Object["status"] = map[string]any{"vmState": "Failed"}
	for stage, machine := range map[string]*unstructured.Unstructured{
		survey.Booting: surveytest.Machine("big", "m", "InfrastructureReady True Ready"),
		survey.Ready:   surveytest.NodeOf(surveytest.Machine("big", "m", "NodeReady True NodeReady"), "node-1"),
	} {
		fleet := read(t, survey.Scope{Namespace: "clusters", Cluster: "demo"}, surveytest.Cluster("demo"), surveytest.Pool("demo", "big", 1), machine, azure.DeepCopy())
		m := fleet.Clusters[0].NodePools[0].Machines[0]
		if m.Stage != stage || strings.Contains(m.Message, "has given the virtual machine up") != (stage == survey.Booting) {
			t.Errorf("%s: %+v", stage, m)
		}
	}
}
