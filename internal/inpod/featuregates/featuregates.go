// Package featuregates stores the feature gates that a payload's own program has rendered where the control plane's components find them.
package featuregates

import (
	"context"
	"fmt"
	"os"
	"slices"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

const (
	// Key of the ConfigMap that has the FeatureGate.
	Key = "feature-gate.yaml"
	// versionAnnotation of the ConfigMap is the version that the gates were rendered for.
	versionAnnotation = "hypershift.openshift.io/payload-version"

	fieldManager = contract.CommandSyncFeatureGates
)

// Options of the program.
type Options struct {
	// File is the FeatureGate, with a status.
	File string
	// Name and Namespace are the ConfigMap's.
	Name, Namespace string
	// Version is the one that the status must have gates of.
	Version string
}

// AddFlags registers the options; the environment has what the pod is.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.File, "file", "/manifests/99_feature-gate.yaml", "FeatureGate that was rendered")
	flags.StringVar(&o.Name, "name", contract.FeatureGate, "ConfigMap that gets it")
	flags.StringVar(&o.Namespace, "namespace", os.Getenv("NAMESPACE"), "namespace of the ConfigMap")
	flags.StringVar(&o.Version, "payload-version", os.Getenv(contract.PayloadVersionEnv), "version that the gates must be of")
}

// Run writes the ConfigMap to the cluster that the pod runs in.
func Run(ctx context.Context, options Options) error {
	config, err := rest.InClusterConfig()
	if err != nil {
		return fmt.Errorf("find the cluster of the pod: %w", err)
	}
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	return store(ctx, c, options)
}

func store(ctx context.Context, c kubernetes.Interface, o Options) error {
	if o.Namespace == "" || o.Version == "" {
		return fmt.Errorf("--namespace and --payload-version are required")
	}
	text, err := os.ReadFile(o.File)
	if err != nil {
		return fmt.Errorf("read the rendered FeatureGate: %w", err)
	}
	if err := check(text, o.Version); err != nil {
		return fmt.Errorf("%s: %w", o.File, err)
	}
	wanted := corev1apply.ConfigMap(o.Name, o.Namespace).WithAnnotations(map[string]string{versionAnnotation: o.Version}).
		WithData(map[string]string{Key: string(text)})
	if _, err := c.CoreV1().ConfigMaps(o.Namespace).Apply(ctx, wanted, metav1.ApplyOptions{FieldManager: fieldManager, Force: true}); err != nil {
		return fmt.Errorf("write ConfigMap %s/%s: %w", o.Namespace, o.Name, err)
	}
	return nil
}

// check: what components would start with has gates of their version.
func check(text []byte, version string) error {
	gate := configv1.FeatureGate{}
	if err := yaml.UnmarshalStrict(text, &gate); err != nil {
		return fmt.Errorf("is no FeatureGate: %w", err)
	}
	if gate.Kind != "FeatureGate" || gate.APIVersion != configv1.GroupVersion.String() {
		return fmt.Errorf("is %s of %s, and no FeatureGate of %s", gate.Kind, gate.APIVersion, configv1.GroupVersion)
	}
	if !slices.ContainsFunc(gate.Status.FeatureGates, func(g configv1.FeatureGateDetails) bool { return g.Version == version }) {
		return fmt.Errorf("its status has no gates of version %s: the payload's program has rendered another version", version)
	}
	return nil
}
