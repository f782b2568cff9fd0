package nodepool

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/ignition"
	"github.com/hypershift-on-azure/hypershift/internal/nodepool/asking"
	"github.com/hypershift-on-azure/hypershift/internal/nodepool/observed"
	"github.com/hypershift-on-azure/hypershift/internal/steps"
)

// What the autoscaler's provider for Cluster API reads of a MachineDeployment:
// https://github.com/kubernetes/autoscaler/tree/master/cluster-autoscaler/cloudprovider/clusterapi
const (
	minSizeAnnotation = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size"
	maxSizeAnnotation = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"

	capacityPrefix = "capacity.cluster-autoscaler.kubernetes.io/"
	// formerPrefix is that of OpenShift's autoscaler.
	formerPrefix = "machine.openshift.io/"
	// capacityOfAnnotation remembers which size the capacity is of.
	capacityOfAnnotation = "hypershift.openshift.io/autoscaler-capacity-of"
)

// leftAnnotation says that spec.replicas of a MachineDeployment is no longer written with the rest of it.
const leftAnnotation = "hypershift.openshift.io/replicas-left-to-autoscaler"

// sizeManager owns spec.replicas of an autoscaled MachineDeployment until the autoscaler writes it.
const sizeManager = FieldManager + "-size"

// autoscaling tells whether somebody sizes the pool within its bounds.
func (r *Reconciler) autoscaling(ctx context.Context, p *pass) error {
	const condition = hyperv1.NodePoolAutoscalingEnabled
	scaling := p.np.Spec.AutoScaling
	if scaling == nil {
		p.set(condition, corev1.ConditionFalse, hyperv1.AsExpectedReason, "")
		return nil
	}
	if platform := p.np.Spec.Platform.Type; scaling.Min == 0 && platform != hyperv1.AzurePlatform && platform != hyperv1.AWSPlatform {
		p.set(condition, corev1.ConditionFalse, hyperv1.ValidationFailedReason,
			"scaling from zero is not supported on platform "+string(platform)+"; set autoScaling.min to at least 1")
		return nil
	}
	reason, message, err := r.autoscalerProblem(ctx, p)
	if err != nil {
		return err
	}
	if reason != "" {
		p.set(condition, corev1.ConditionFalse, reason, message)
		return nil
	}
	p.set(condition, corev1.ConditionTrue, hyperv1.AsExpectedReason, fmt.Sprintf("Maximum nodes: %d, Minimum nodes: %d", scaling.Max, scaling.Min))
	return nil
}

// autoscalerProblem is why nobody sizes the pool; empty when the autoscaler runs.
func (r *Reconciler) autoscalerProblem(ctx context.Context, p *pass) (reason, message string, err error) {
	autoscaler := &appsv1.Deployment{}
	err = r.client.Get(ctx, client.ObjectKey{Namespace: p.namespace, Name: contract.ClusterAutoscaler}, autoscaler)
	switch {
	case apierrors.IsNotFound(err):
		return hyperv1.AutoscalerMissingReason, fmt.Sprintf("the control plane of HostedCluster %s has no %s, so the node pool keeps its size within autoScaling.min and max; "+
			"use a release image that has one (hypershift payload build --image %s=IMAGE), or name its image in annotation %s of the HostedCluster",
			p.hc.Name, contract.ClusterAutoscaler, contract.ClusterAutoscaler, hyperv1.ClusterAutoscalerImageAnnotation), nil
	case err != nil:
		return "", "", fmt.Errorf("read Deployment %s: %w", contract.ClusterAutoscaler, err)
	case autoscaler.Status.AvailableReplicas == 0:
		return hyperv1.AutoscalerNotReadyReason, fmt.Sprintf("Deployment %s in namespace %s has no available pod, so nobody sizes the node pool; see its pods and their logs",
			contract.ClusterAutoscaler, p.namespace), nil
	}
	return "", "", nil
}

// capacity finds out what a machine of an autoscaled pool has. The autoscaler sees it of the nodes; without any it has to be told, so a
// pool of whose machines nobody knows it keeps one.
func (r *Reconciler) capacity(ctx context.Context, p *pass) error {
	scaling := p.np.Spec.AutoScaling
	if scaling == nil || p.template == "" {
		return nil
	}
	p.floor = scaling.Min
	machine, problem, err := r.machineSize(ctx, p)
	if err != nil {
		return err
	}
	if machine == nil {
		machine = rememberedSize(p)
	}
	p.machine = machine
	if machine != nil || scaling.Min > 0 {
		return nil
	}
	p.floor = 1
	p.set(hyperv1.NodePoolAutoscalingEnabled, corev1.ConditionFalse, hyperv1.CapacityUnknownReason, "the autoscaler cannot begin with no machine, and one is kept: "+problem)
	return nil
}

// ownsReplicas: a MachineDeployment is made with its number of machines; afterwards an autoscaled one has it of the autoscaler.
func (p *pass) ownsReplicas() bool { return p.np.Spec.AutoScaling == nil || p.maker == nil }

// resize brings the number of machines of an autoscaled pool within its bounds, and hands the field over before this controller stops writing
// it: a field that its only owner drops would be removed. The write is of what was read, so it never undoes a newer one of the autoscaler's.
func (r *Reconciler) resize(ctx context.Context, p *pass) error {
	if p.ownsReplicas() {
		return nil
	}
	wanted := desiredReplicas(p.np, p.maker, p.floor)
	live := p.maker.Spec.Replicas
	if live != nil && *live == wanted && p.maker.Annotations[leftAnnotation] == "true" {
		return nil
	}
	sized := clusterapi.NewWithSpec(observed.MakerKind(p.np), p.namespace, p.np.Name, map[string]any{"replicas": int64(wanted)})
	sized.SetResourceVersion(p.maker.ResourceVersion)
	err := r.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(sized), client.FieldOwner(sizeManager), client.ForceOwnership)
	if apierrors.IsConflict(err) {
		return &steps.Waiting{For: "the present state of the " + sized.GetKind(), After: waitForMachines}
	}
	if err != nil {
		return fmt.Errorf("resize the %s to %d machines: %w", sized.GetKind(), wanted, err)
	}
	p.maker.Spec.Replicas = ptr.To(wanted)
	return nil
}

// autoscalerAnnotations are what the autoscaler finds the node group by, and what it is to expect of a machine that is not there yet.
func autoscalerAnnotations(p *pass) map[string]string {
	scaling := p.np.Spec.AutoScaling
	if scaling == nil {
		return nil
	}
	out := map[string]string{minSizeAnnotation: fmt.Sprint(p.floor), maxSizeAnnotation: fmt.Sprint(scaling.Max)}
	if !p.ownsReplicas() {
		out[leftAnnotation] = "true"
	}
	if p.machine != nil {
		maps.Copy(out, capacityAnnotations(p))
	}
	return out
}

func capacityAnnotations(p *pass) map[string]string {
	machine := p.machine
	out := map[string]string{
		capacityOfAnnotation:      machine.Name,
		capacityPrefix + "cpu":    fmt.Sprint(machine.VCPUs),
		capacityPrefix + "memory": fmt.Sprintf("%dMi", machine.MemoryMiB),
		capacityPrefix + "labels": joined(nodeLabels(p), "="),
		formerPrefix + "vCPU":     fmt.Sprint(machine.VCPUs),
		formerPrefix + "memoryMb": fmt.Sprint(machine.MemoryMiB),
	}
	if pods, err := ignition.MaxPods(p.config.raw); err == nil { // what cannot be read does not come as far as this
		out[capacityPrefix+"maxPods"] = strconv.FormatInt(pods, 10)
	}
	if disk := p.np.Spec.Platform.Azure.OSDisk.SizeGiB; disk > 0 {
		out[capacityPrefix+"ephemeral-disk"] = fmt.Sprintf("%dGi", disk)
	}
	if machine.GPUs > 0 {
		out[capacityPrefix+"gpu-count"], out[capacityPrefix+"gpu-type"] = fmt.Sprint(machine.GPUs), gpuType(machine.Name)
		out[formerPrefix+"GPU"] = fmt.Sprint(machine.GPUs)
	}
	if taints := taintTexts(p.np.Spec.Taints); len(taints) > 0 {
		out[capacityPrefix+"taints"] = strings.Join(taints, ",")
	}
	return out
}

// gpuType is the resource that a device plugin makes of the GPUs: Azure's sizes with AMD's are NG and NVv4, all others have NVIDIA's.
func gpuType(size string) string {
	name := strings.ToLower(size)
	if strings.HasPrefix(name, "standard_ng") || strings.HasPrefix(name, "standard_nv") && strings.HasSuffix(name, "as_v4") {
		return "amd.com/gpu"
	}
	return "nvidia.com/gpu"
}

// nodeLabels are those of the pool's nodes on which scheduling depends.
func nodeLabels(p *pass) map[string]string {
	out := maps.Clone(p.np.Spec.NodeLabels)
	if out == nil {
		out = map[string]string{}
	}
	out[hyperv1.NodePoolLabel] = p.np.Name
	out[corev1.LabelOSStable], out[corev1.LabelArchStable], out[corev1.LabelInstanceTypeStable] = "linux", p.machine.Arch, p.machine.Name
	if platform := p.hc.Spec.Platform.Azure; platform != nil {
		out[corev1.LabelTopologyRegion] = strings.ToLower(platform.Location)
		if zone := p.np.Spec.Platform.Azure.AvailabilityZone; zone != "" {
			out[corev1.LabelTopologyZone] = strings.ToLower(platform.Location) + "-" + zone
		}
	}
	return out
}

func joined(pairs map[string]string, sign string) string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(pairs)) {
		out = append(out, key+sign+pairs[key])
	}
	return strings.Join(out, ",")
}

// taintTexts are key=value:effect, or key:effect, in order.
func taintTexts(taints []hyperv1.Taint) []string {
	var out []string
	for _, taint := range taints {
		text := taint.Key
		if taint.Value != "" {
			text += "=" + taint.Value
		}
		out = append(out, text+":"+string(taint.Effect))
	}
	slices.Sort(out)
	return out
}

// machineSize is what a machine of the pool has; nil where that cannot be said, with the reason.
func (r *Reconciler) machineSize(ctx context.Context, p *pass) (size *azure.MachineSize, problem string, err error) {
	who, err := r.identityOf(ctx, p)
	if err != nil {
		return nil, "", err
	}
	if who == nil {
		return nil, "nobody can ask Azure for the size's capacity: the HostedCluster names no identity nodePoolManagement, or no signing key for it; set autoScaling.min to at least 1", nil
	}
	known, err := r.sizes.Of(ctx, *who, r.now(), r.readSizes)
	if err != nil {
		p.again(asking.Period)
		return nil, fmt.Sprintf("Azure does not tell the capacity of size %s: %v", p.np.Spec.Platform.Azure.VMSize, err), nil
	}
	found, ok := known[strings.ToLower(p.np.Spec.Platform.Azure.VMSize)]
	if !ok {
		return nil, fmt.Sprintf("location %s has no size %s; set spec.platform.azure.vmSize to one that it has", who.Platform.Location, p.np.Spec.Platform.Azure.VMSize), nil
	}
	return &found, "", nil
}

// rememberedSize is what the MachineDeployment says of the same size; nil when it says nothing. While Azure does not answer, the autoscaler
// is to know what it knew.
func rememberedSize(p *pass) *azure.MachineSize {
	if p.maker == nil || !strings.EqualFold(p.maker.Annotations[capacityOfAnnotation], p.np.Spec.Platform.Azure.VMSize) {
		return nil
	}
	told := p.maker.Annotations
	number := func(key string) int64 {
		value, err := strconv.ParseInt(cmp.Or(told[formerPrefix+key], "0"), 10, 64)
		if err != nil {
			return 0
		}
		return value
	}
	size := &azure.MachineSize{Name: told[capacityOfAnnotation], VCPUs: number("vCPU"), MemoryMiB: number("memoryMb"), GPUs: number("GPU"), Arch: p.arch()}
	if size.VCPUs == 0 || size.MemoryMiB == 0 {
		return nil
	}
	return size
}
