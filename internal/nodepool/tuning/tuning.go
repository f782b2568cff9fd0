// Package tuning is what a node pool and OpenShift's node tuning operator say to each other, in ConfigMaps of the control-plane namespace.
package tuning

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/ignition"
)

// Labels of the ConfigMaps. The pool writes the first five, the operator the others.
const (
	TunedLabel         = "hypershift.openshift.io/tuned-config"
	ProfileLabel       = "hypershift.openshift.io/performanceprofile-config"
	RuntimeLabel       = "hypershift.openshift.io/containerruntimeconfig-config"
	GeneratedLabel     = "hypershift.openshift.io/nto-generated-machine-config"             //nolint:misspell // the operator calls itself so
	ProfileStatusLabel = "hypershift.openshift.io/nto-generated-performance-profile-status" //nolint:misspell // the operator calls itself so
)

const (
	// SourceKey is that of the user's ConfigMaps, and of their copies.
	SourceKey = "tuning"
	statusKey = "status"
	// maxName is what a label takes: the operator labels by names.
	maxName = 63
)

// kinds that spec.tuningConfig takes, by group and version.
var kinds = map[string]string{"Tuned": "tuned.openshift.io/v1", "PerformanceProfile": "performance.openshift.io/v2"}

// Configuration is what spec.tuningConfig of a pool asks for.
type Configuration struct {
	// Tuned are documents; ProfileSource is the ConfigMap with the performance profile, empty where there is none.
	Tuned                  []string
	Profile, ProfileSource string
}

// Add takes in one of the user's ConfigMaps.
func (c *Configuration) Add(source *corev1.ConfigMap) error {
	text, found := source.Data[SourceKey]
	if !found {
		return fmt.Errorf("ConfigMap %q of spec.tuningConfig has no key %q", source.Name, SourceKey)
	}
	manifests, err := ignition.ParseManifests(text)
	if err != nil {
		return fmt.Errorf("ConfigMap %q of spec.tuningConfig: %w", source.Name, err)
	}
	if len(manifests) != 1 {
		return fmt.Errorf("ConfigMap %q of spec.tuningConfig has %d documents; give each one a ConfigMap of its own", source.Name, len(manifests))
	}
	kind, err := check(manifests[0])
	if err != nil {
		return fmt.Errorf("ConfigMap %q of spec.tuningConfig: %w", source.Name, err)
	}
	encoded, err := yaml.Marshal(manifests[0])
	if err != nil {
		return fmt.Errorf("encode ConfigMap %q of spec.tuningConfig: %w", source.Name, err)
	}
	switch {
	case kind == "Tuned":
		c.Tuned = append(c.Tuned, string(encoded))
	case c.Profile != "":
		return fmt.Errorf("ConfigMaps %q and %q of spec.tuningConfig both have a PerformanceProfile; keep one", c.ProfileSource, source.Name)
	default:
		c.Profile, c.ProfileSource = string(encoded), source.Name
	}
	return nil
}

// check refuses what the operator would not read: other kinds, and members that no version of these has.
func check(manifest ignition.Manifest) (kind string, err error) {
	kind, _ = manifest["kind"].(string)
	version, _ := manifest["apiVersion"].(string)
	if kinds[kind] == "" || kinds[kind] != version {
		return "", fmt.Errorf("%s %s is nothing that nodes are tuned by; use Tuned of tuned.openshift.io/v1 or PerformanceProfile of performance.openshift.io/v2", version, kind)
	}
	for member := range manifest {
		if !slices.Contains([]string{"apiVersion", "kind", "metadata", "spec", "status"}, member) {
			return "", fmt.Errorf("%s has an unknown field %q; remove it", kind, member)
		}
	}
	metadata, _ := manifest["metadata"].(map[string]any)
	if name, _ := metadata["name"].(string); name == "" {
		return "", fmt.Errorf("%s has no metadata.name; give it one", kind)
	}
	if _, given := manifest["spec"].(map[string]any); !given {
		return "", fmt.Errorf("%s has no spec; say there how nodes are tuned", kind)
	}
	return kind, nil
}

// ConfigMaps are those by which the operator learns what the pool asks for.
func (c *Configuration) ConfigMaps(np *hyperv1.NodePool, namespace string) []*corev1.ConfigMap {
	var out []*corev1.ConfigMap
	if len(c.Tuned) > 0 {
		out = append(out, configMap(np, namespace, contract.PoolTunedPrefix+np.Name, map[string]string{SourceKey: strings.Join(c.Tuned, "---\n")}, TunedLabel))
	}
	if c.Profile != "" {
		out = append(out, configMap(np, namespace, nameOf(c.ProfileSource, np.Name), map[string]string{SourceKey: c.Profile}, ProfileLabel))
	}
	return out
}

// Mirror is the copy of one of the user's ConfigMaps of spec.config where it configures kubelets or the container runtime; nil otherwise. kubelets
// is how many KubeletConfigs it has.
func Mirror(np *hyperv1.NodePool, namespace string, source *corev1.ConfigMap) (mirrored *corev1.ConfigMap, kubelets int, err error) {
	manifests, err := ignition.ParseManifests(source.Data[hyperv1.NodePoolConfigKey])
	if err != nil {
		return nil, 0, err
	}
	labels := map[string]bool{}
	for _, manifest := range manifests {
		switch manifest["kind"] {
		case ignition.KindKubeletConfig:
			labels[contract.KubeletConfigLabel] = true
			kubelets++
		case ignition.KindContainerRuntimeConfig:
			labels[RuntimeLabel] = true
		}
	}
	if len(labels) == 0 {
		return nil, 0, nil
	}
	made := configMap(np, namespace, nameOf(source.Name, np.Name), source.Data, contract.MirroredLabel)
	for label := range labels {
		made.Labels[label] = "true"
	}
	return made, kubelets, nil
}

func configMap(np *hyperv1.NodePool, namespace, name string, data map[string]string, label string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, Labels: map[string]string{label: "true", hyperv1.NodePoolLabel: np.Name},
			Annotations: map[string]string{hyperv1.NodePoolAnnotation: np.Namespace + "/" + np.Name},
		},
		Data: data,
	}
}

// nameOf is made of the names of a ConfigMap and of its pool; a long one loses its end for a hash of the whole. Both are the user's choice: the
// prefix keeps them from being the name of something of the control plane.
func nameOf(source, pool string) string {
	name := contract.PoolConfigPrefix + source + "-" + pool
	if len(name) <= maxName {
		return name
	}
	hash := ignition.Hash(name)
	return name[:maxName-len(hash)-1] + "-" + hash
}

// IsOwn tells whether the pool has written the ConfigMap.
func IsOwn(config *corev1.ConfigMap) bool {
	if config.Labels[GeneratedLabel] != "" {
		return false
	}
	return slices.ContainsFunc([]string{TunedLabel, ProfileLabel, contract.MirroredLabel}, func(label string) bool { return config.Labels[label] == "true" })
}

// Generated are the documents that the operator has made for a pool, and how many KubeletConfigs are among them.
func Generated(configs []corev1.ConfigMap) (documents []string, kubelets int, err error) {
	for i := range configs {
		config := &configs[i]
		found, err := ignition.Normalize(config.Data[hyperv1.NodePoolConfigKey])
		if err != nil {
			return nil, 0, fmt.Errorf("ConfigMap %s of the node tuning operator: %w", config.Name, err)
		}
		documents = append(documents, found...)
		if config.Labels[contract.KubeletConfigLabel] == "true" {
			kubelets++
		}
	}
	return documents, kubelets, nil
}

// ConditionPrefix begins the types of the conditions that a performance profile has.
const ConditionPrefix = "performance.operator.openshift.io/"

// profileConditions are those that are told.
var profileConditions = []string{"Available", "Progressing", "Upgradeable", "Degraded"}

// ProfileStatus are the conditions of a pool's performance profile, as the operator tells them; none while it tells nothing.
func ProfileStatus(configs []corev1.ConfigMap) ([]hyperv1.NodePoolCondition, error) {
	if len(configs) == 0 {
		return nil, nil
	}
	if len(configs) > 1 {
		return nil, errors.New("the node tuning operator tells of more than one performance profile of the node pool")
	}
	raw, err := yaml.YAMLToJSON([]byte(configs[0].Data[statusKey]))
	if err != nil {
		return nil, fmt.Errorf("ConfigMap %s of the node tuning operator: %w", configs[0].Name, err)
	}
	status := struct {
		Conditions []struct {
			Type, Reason, Message string
			Status                corev1.ConditionStatus
		}
	}{}
	if err := json.Unmarshal(raw, &status); err != nil {
		return nil, fmt.Errorf("ConfigMap %s of the node tuning operator: %w", configs[0].Name, err)
	}
	var out []hyperv1.NodePoolCondition
	for _, c := range status.Conditions {
		if slices.Contains(profileConditions, c.Type) && slices.Contains([]corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown}, c.Status) {
			out = append(out, hyperv1.NodePoolCondition{Type: ConditionPrefix + c.Type, Status: c.Status, Reason: c.Reason, Message: c.Message})
		}
	}
	return out, nil
}

// ProfileConditions are the types that a pool with a performance profile may have.
func ProfileConditions() []string {
	out := make([]string, len(profileConditions))
	for i, name := range profileConditions {
		out[i] = ConditionPrefix + name
	}
	return out
}
