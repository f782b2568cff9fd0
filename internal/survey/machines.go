package survey

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	capiv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

// Stages of a machine, from the first word of Cluster API to a node that is ready.
const (
	// Asked: Cluster API has the machine, and Azure's provider has said nothing of it yet.
	Asked = "Asked"
	// Creating: Azure makes the virtual machine.
	Creating = "Creating"
	// Booting: the virtual machine runs, and has not registered as a node.
	Booting = "Booting"
	// Joined: the node is registered and not ready.
	Joined = "Joined"
	// Failed: nobody tries again.
	Failed = "Failed"
)

// Machine is a virtual machine of a node pool on its way.
type Machine struct {
	Name string `json:"name"`
	// VM is the name of the virtual machine in Azure.
	VM    string `json:"vm,omitempty"`
	Stage string `json:"stage"`
	// Since is when the stage began; zero where nobody says so.
	Since time.Time `json:"since"`
	// Reason and Message are what keeps it in its stage; empty for one that is ready.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	Node    string `json:"node,omitempty"`
	Version string `json:"version,omitempty"`
	Size    string `json:"size,omitempty"`
	Zone    string `json:"zone,omitempty"`
	Address string `json:"address,omitempty"`
}

// Conditions of a Machine.
const (
	machineInfrastructure = "InfrastructureReady"
	machineNodeReady      = "NodeReady"
	machineDeleting       = "Deleting"
	// noWord is the reason of a condition of which the provider has told nothing.
	noWord = "NotReady"
	// azureFailed is the state of a virtual machine that never told Azure that it is provisioned. Its provider takes it for made.
	azureFailed = "Failed"
)

// world has the objects of Cluster API.
type world struct {
	mu       sync.Mutex
	machines map[owner][]unstructured.Unstructured
	// azure has the AzureMachines by namespace and name.
	azure  map[[2]string]unstructured.Unstructured
	unseen []string
	blind  bool
}

// miss remembers what may not be read.
func (w *world) miss(kind string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.blind = w.blind || kind == clusterapi.Machine.Kind
	w.unseen = append(w.unseen, fmt.Sprintf("%ss are not shown: %v", kind, err))
}

func (w *world) take(kind schema.GroupVersionKind, items []unstructured.Unstructured) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if kind == clusterapi.AzureMachine {
		w.azure = map[[2]string]unstructured.Unstructured{}
		for _, item := range items {
			w.azure[[2]string{item.GetNamespace(), item.GetName()}] = item
		}
		return nil
	}
	w.machines = map[owner][]unstructured.Unstructured{}
	for i := range items {
		of := ownerOf(&items[i])
		w.machines[of] = append(w.machines[of], items[i])
	}
	return nil
}

// of are the machines of a pool.
func (w *world) of(np *hyperv1.NodePool) ([]Machine, error) {
	if w.blind {
		return nil, nil
	}
	namespace := contract.ControlPlaneNamespace(np.Namespace, np.Spec.ClusterName)
	machines := []Machine{}
	for _, item := range w.machines[owner{namespace, np.Namespace + "/" + np.Name}] {
		decoded := &capiv1.Machine{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, decoded); err != nil {
			return nil, fmt.Errorf("decode Machine %s/%s: %w", item.GetNamespace(), item.GetName(), err)
		}
		azure := w.azure[[2]string{namespace, decoded.Spec.InfrastructureRef.Name}]
		machines = append(machines, machineOf(decoded, azure.Object, np))
	}
	slices.SortFunc(machines, func(a, b Machine) int { return strings.Compare(a.Name, b.Name) })
	return machines, nil
}

// MachinesOf are the machines of a pool, sorted by name; nil where they may not be read.
func MachinesOf(ctx context.Context, c client.Reader, np *hyperv1.NodePool) ([]Machine, error) {
	w := &world{}
	if err := w.read(ctx, c, clusterapi.Machine, Scope{Namespace: np.Namespace, Cluster: np.Spec.ClusterName}); err != nil {
		return nil, err
	}
	return w.of(np)
}

func machineOf(m *capiv1.Machine, azure map[string]any, np *hyperv1.NodePool) Machine {
	out := Machine{Name: m.Name, VM: m.Spec.InfrastructureRef.Name, Version: strings.TrimPrefix(m.Spec.Version, "v"), Node: m.Status.NodeRef.Name, Zone: m.Spec.FailureDomain}
	out.Size, _, _ = unstructured.NestedString(azure, "spec", "vmSize")
	if zone, _, _ := unstructured.NestedString(azure, "spec", "failureDomain"); zone != "" {
		out.Zone = zone
	}
	for _, address := range m.Status.Addresses {
		if address.Type == capiv1.MachineInternalIP && out.Address == "" {
			out.Address = address.Address
		}
	}
	out.stage(m, np)
	if state, _, _ := unstructured.NestedString(azure, "status", "vmState"); state == azureFailed && out.Stage == Booting {
		out.Message = strings.TrimSuffix("Azure has given the virtual machine up: its state is "+azureFailed+"; "+out.Message, "; ")
	}
	return out
}

// stage takes the furthest that the machine has come, and what it waits for there.
func (out *Machine) stage(m *capiv1.Machine, np *hyperv1.NodePool) {
	infrastructure, node := meta.FindStatusCondition(m.Status.Conditions, machineInfrastructure), meta.FindStatusCondition(m.Status.Conditions, machineNodeReady)
	switch {
	case m.DeletionTimestamp != nil:
		out.at(Deleting, m.DeletionTimestamp.Time, meta.FindStatusCondition(m.Status.Conditions, machineDeleting))
		if infrastructure != nil && infrastructure.Status != metav1.ConditionTrue && infrastructure.Message != "" {
			out.Reason, out.Message = infrastructure.Reason, infrastructure.Message
		}
	case node != nil && node.Status == metav1.ConditionTrue:
		out.at(Ready, node.LastTransitionTime.Time, nil)
	default:
		out.coming(m, infrastructure, node)
		out.listen(np)
	}
}

// coming is the stage of a machine that is to become a node; its conditions may be nil.
func (out *Machine) coming(m *capiv1.Machine, infrastructure, node *metav1.Condition) {
	failure, failed := failureOf(m)
	switch {
	case failed:
		out.at(Failed, m.CreationTimestamp.Time, &failure)
		if infrastructure != nil {
			out.Since = infrastructure.LastTransitionTime.UTC()
		}
	case out.Node != "" && node != nil:
		out.at(Joined, node.LastTransitionTime.Time, node)
	case out.Node != "":
		out.at(Joined, m.CreationTimestamp.Time, nil)
	case infrastructure == nil || silent(infrastructure):
		out.at(Asked, m.CreationTimestamp.Time, infrastructure)
	case infrastructure.Status == metav1.ConditionTrue:
		out.at(Booting, infrastructure.LastTransitionTime.Time, nil)
		out.Reason = hyperv1.WaitingForNodeRefReason
	case strings.HasSuffix(infrastructure.Reason, Failed):
		out.at(Failed, infrastructure.LastTransitionTime.Time, infrastructure)
	default:
		out.at(Creating, m.CreationTimestamp.Time, infrastructure)
	}
}

// silent tells of a condition whether the provider has told nothing: Cluster API says then which field it looks at.
func silent(c *metav1.Condition) bool {
	return c.Status != metav1.ConditionTrue && c.Reason == noWord && (c.Message == "" || strings.HasSuffix(c.Message, " status.initialization.provisioned is false"))
}

// listen takes the pool's own words about the machine: they have what the machine itself says, and what Azure answers where its provider is
// silent.
func (out *Machine) listen(np *hyperv1.NodePool) {
	for _, condition := range []string{hyperv1.NodePoolAllMachinesReady, hyperv1.NodePoolAllNodesHealthy} {
		if reason, message, ok := told(PoolCondition(np, condition), out.Name); ok && len(message) > len(out.Message) {
			out.Reason, out.Message = reason, message
		}
	}
}

func (out *Machine) at(stage string, since time.Time, why *metav1.Condition) {
	out.Stage, out.Since = stage, since.UTC()
	if why != nil {
		out.Reason, out.Message = why.Reason, why.Message
	}
}

// failureOf is what no retry mends, as Azure's provider tells it.
//
//nolint:staticcheck // deprecated, and told nowhere else
func failureOf(m *capiv1.Machine) (metav1.Condition, bool) {
	if m.Status.Deprecated == nil || m.Status.Deprecated.V1Beta1 == nil {
		return metav1.Condition{}, false
	}
	said := m.Status.Deprecated.V1Beta1
	message := ptr.Deref(said.FailureMessage, "")
	return metav1.Condition{Reason: cmp.Or(string(ptr.Deref(said.FailureReason, "")), Failed), Message: message}, message != ""
}

// told is what a pool's condition says of one machine: "Machine NAME: REASON: MESSAGE", until the next machine's line.
func told(condition *hyperv1.NodePoolCondition, machine string) (reason, message string, found bool) {
	if condition == nil || condition.Status != corev1.ConditionFalse {
		return "", "", false
	}
	_, after, found := strings.Cut("\n"+condition.Message, "\nMachine "+machine+": ")
	if !found {
		return "", "", false
	}
	after, _, _ = strings.Cut(after, "\nMachine ")
	reason, message, _ = strings.Cut(strings.TrimSpace(after), ": ")
	return reason, strings.TrimSpace(message), true
}
