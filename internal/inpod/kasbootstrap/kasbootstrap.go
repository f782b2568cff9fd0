// Package kasbootstrap brings into a guest of an OpenShift payload what everything else there begins with: definitions, first rights, and the
// FeatureGate with what is known of versions.
package kasbootstrap

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

const (
	// Name of the subcommand, and of who owns the fields that it applies.
	Name = contract.CommandBootstrap

	ownRights   = "00_kas-bootstrap-container-rolebinding.yaml"
	featureGate = "99_feature-gate.yaml"
)

// Times are how often something is tried, and for how long.
type Times struct{ Pause, First, Rest time.Duration }

// Options of the program.
type Options struct {
	// Resources is the folder with what was rendered.
	Resources string
	// Kubeconfig and AdminKubeconfig lead to the pod's own API server: as the program itself, and as who gives it its rights.
	Kubeconfig, AdminKubeconfig string
	Times
}

// AddFlags registers the options; the environment has the kubeconfigs.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Resources, "resources-path", "", "folder with the objects to apply")
	o.Kubeconfig, o.AdminKubeconfig = os.Getenv("KUBECONFIG"), os.Getenv(contract.AdminKubeconfigEnv)
	o.Times = Times{Pause: 500 * time.Millisecond, First: 3 * time.Minute, Rest: 50 * time.Second}
}

// Run applies everything and then waits until it is told to end: the pod's other containers go on. A failure ends it, and the next try begins with
// a new container.
func Run(ctx context.Context, o Options) error {
	admin, err := connect(o.AdminKubeconfig)
	if err != nil {
		return fmt.Errorf("%s: KUBECONFIG_ADMIN: %w", Name, err)
	}
	own, err := connect(o.Kubeconfig)
	if err != nil {
		return fmt.Errorf("%s: KUBECONFIG: %w", Name, err)
	}
	if err := o.apply(ctx, admin, own); err != nil {
		return fmt.Errorf("%s: %w", Name, err)
	}
	<-ctx.Done()
	return nil
}

func connect(kubeconfig string) (client.Client, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", kubeconfig, err)
	}
	scheme := runtime.NewScheme()
	if err := configv1.Install(scheme); err != nil {
		return nil, err
	}
	return client.New(config, client.Options{Scheme: scheme})
}

func (o Options) apply(ctx context.Context, admin, own client.Client) error {
	files, err := filepath.Glob(filepath.Join(o.Resources, "*.yaml"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("find what was rendered in %q: no file of YAML is there (%w)", o.Resources, errors.Join(err))
	}
	slices.Sort(files)
	first := filepath.Join(o.Resources, ownRights)
	if err := o.retry(ctx, o.First, func(ctx context.Context) error { return applyFile(ctx, admin, first) }); err != nil {
		return fmt.Errorf("give this program its rights: %w", err)
	}
	err = o.retry(ctx, o.Rest, func(ctx context.Context) error {
		var problems []error
		for _, file := range files {
			if file != first {
				problems = append(problems, applyFile(ctx, own, file))
			}
		}
		return errors.Join(problems...)
	})
	if err != nil {
		return fmt.Errorf("apply what was rendered: %w", err)
	}
	err = o.retry(ctx, o.Rest, func(ctx context.Context) error { return tellGates(ctx, own, filepath.Join(o.Resources, featureGate)) })
	if err != nil {
		return fmt.Errorf("tell of the feature gates: %w", err)
	}
	return nil
}

// retry until it succeeds, for so long at most; the error is the last one.
func (o Options) retry(ctx context.Context, long time.Duration, do func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, o.Pause, long, true, func(ctx context.Context) (bool, error) {
		if err := do(ctx); err != nil {
			// What ends the time is no news.
			if ctx.Err() == nil || last == nil {
				last = err
			}
			return false, nil
		}
		return true, nil
	})
	if err != nil && last != nil {
		return last
	}
	return err
}

func applyFile(ctx context.Context, c client.Client, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(text, obj); err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	unstructured.RemoveNestedField(obj.Object, "status")
	unstructured.RemoveNestedField(obj.Object, "metadata", "creationTimestamp")
	if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(obj), client.FieldOwner(Name), client.ForceOwnership); err != nil {
		return fmt.Errorf("apply %s %s of %s: %w", obj.GetKind(), obj.GetName(), filepath.Base(file), err)
	}
	return nil
}

// tellGates writes the rendered status of the FeatureGate before what is there of other versions, as long as one of them may still run.
func tellGates(ctx context.Context, c client.Client, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	rendered := &configv1.FeatureGate{}
	if err := yaml.Unmarshal(text, rendered); err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	if len(rendered.Status.FeatureGates) == 0 {
		return fmt.Errorf("%s has no status: the payload's program has not rendered it", file)
	}
	live := &configv1.FeatureGate{}
	if err := c.Get(ctx, client.ObjectKey{Name: rendered.Name}, live); err != nil {
		return fmt.Errorf("read FeatureGate %s: %w", rendered.Name, err)
	}
	version := &configv1.ClusterVersion{}
	switch err := c.Get(ctx, client.ObjectKey{Name: "version"}, version); {
	// The version operator brings the kind.
	case apierrors.IsNotFound(err) || meta.IsNoMatchError(err):
		version = nil
	case err != nil:
		return fmt.Errorf("read ClusterVersion version: %w", err)
	}
	before := live.DeepCopy()
	live.Status.FeatureGates = merged(rendered.Status.FeatureGates[0], live.Status.FeatureGates, version)
	if err := c.Status().Patch(ctx, live, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("write the status of FeatureGate %s: %w", live.Name, err)
	}
	return nil
}

// merged are the gates of the rendered version, then those of versions that may still run: all where nobody says which.
func merged(rendered configv1.FeatureGateDetails, have []configv1.FeatureGateDetails, version *configv1.ClusterVersion) []configv1.FeatureGateDetails {
	out := []configv1.FeatureGateDetails{rendered}
	runs := running(version)
	for _, other := range have {
		if other.Version != rendered.Version && (version == nil || slices.Contains(runs, other.Version)) {
			out = append(out, other)
		}
	}
	return out
}

// running are the desired version and those of the history up to the newest one that was completed.
func running(version *configv1.ClusterVersion) []string {
	if version == nil {
		return nil
	}
	versions := []string{version.Status.Desired.Version}
	for _, entry := range version.Status.History {
		versions = append(versions, entry.Version)
		if entry.State == configv1.CompletedUpdate {
			break
		}
	}
	return versions
}
