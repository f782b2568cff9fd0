package imagecheck

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	utilversion "k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// MaxSkew is how many minor versions nodes may be behind their control plane.
const MaxSkew = 3

// CheckSkew compares the version of a node pool's payload, which the flag named, with that of the hosted cluster, where it has one.
func CheckSkew(flag, version string, hc *hyperv1.HostedCluster) error {
	running := release.Completed(hc)
	if running == "" {
		return nil
	}
	pool, err := utilversion.ParseSemantic(version)
	if err != nil {
		return fmt.Errorf("%s: version %q of the payload: %w", flag, version, err)
	}
	control, err := utilversion.ParseSemantic(running)
	if err != nil {
		return fmt.Errorf("version %q of HostedCluster %s: %w", running, hc.Name, err)
	}
	behind := release.Minor(control) - release.Minor(pool)
	switch {
	case behind < 0 || behind == 0 && control.LessThan(pool):
		return fmt.Errorf("%s: version %s of the node pool cannot be higher than version %s of HostedCluster %s; upgrade that first", flag, pool, running, hc.Name)
	case behind > MaxSkew:
		return fmt.Errorf("%s: version %s of the node pool is less than version %s of HostedCluster %s by more than %d minor versions; give a newer release", flag, pool, running, hc.Name, MaxSkew)
	}
	return nil
}

// AccessOf is what the operator reads payloads of the hosted cluster with.
func AccessOf(ctx context.Context, c client.Reader, hc *hyperv1.HostedCluster) (release.Access, error) {
	secret := &corev1.Secret{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: hc.Namespace, Name: hc.Spec.PullSecret.Name}, secret); err != nil {
		return release.Access{}, fmt.Errorf("read pull secret %s: %w", hc.Spec.PullSecret.Name, err)
	}
	access := release.Access{PullSecret: secret.Data[hyperv1.PullSecretKey], Mirrors: release.ContentSources(hc.Spec.ImageContentSources)}
	if bundle := hc.Spec.AdditionalTrustBundle; bundle != nil {
		config := &corev1.ConfigMap{}
		if err := c.Get(ctx, client.ObjectKey{Namespace: hc.Namespace, Name: bundle.Name}, config); err != nil {
			return release.Access{}, fmt.Errorf("read trust bundle %s: %w", bundle.Name, err)
		}
		access.TrustBundle = []byte(config.Data[hyperv1.TrustBundleKey])
	}
	return access, nil
}
