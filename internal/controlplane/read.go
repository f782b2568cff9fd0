package controlplane

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/machineconfigserver"
	"github.com/hypershift-on-azure/hypershift/internal/ignition"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// readReleases reads the release of the management side and that of the hosted cluster: the same one unless the control plane has its own.
func readReleases(ctx context.Context, access release.Access, releases release.Provider, hcp *hyperv1.HostedControlPlane) (own, guest *release.Release, err error) {
	limited, cancel := context.WithTimeout(ctx, releaseLimit)
	defer cancel()
	if own, err = releases.Lookup(limited, managementRelease(hcp), access); err != nil {
		return own, nil, err
	}
	if managementRelease(hcp) == hcp.Spec.ReleaseImage {
		return own, own, nil
	}
	guest, err = releases.Lookup(limited, hcp.Spec.ReleaseImage, access)
	return own, guest, err
}

// readAccess is what the user has for the images of his hosted cluster.
func readAccess(ctx context.Context, c client.Client, hcp *hyperv1.HostedControlPlane) (release.Access, error) {
	pull := &corev1.Secret{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: hcp.Namespace, Name: contract.PullSecret}, pull); err != nil {
		return release.Access{}, fmt.Errorf("read the copy of the pull secret: %w", err)
	}
	trust := &corev1.ConfigMap{}
	err := c.Get(ctx, client.ObjectKey{Namespace: hcp.Namespace, Name: contract.UserCABundle}, trust)
	if client.IgnoreNotFound(err) != nil {
		return release.Access{}, fmt.Errorf("read the user's trust bundle: %w", err)
	}
	return release.Access{
		PullSecret: pull.Data[hyperv1.PullSecretKey], TrustBundle: []byte(trust.Data[hyperv1.TrustBundleKey]),
		Mirrors: release.ContentSources(hcp.Spec.ImageContentSources),
	}, nil
}

// configureMachines writes the configuration that every machine has, and what the payload's programs read that make one, where it has such.
func configureMachines(ctx context.Context, write component.Writer, payload release.Kind) error {
	key := &corev1.Secret{}
	err := write.Client.Get(ctx, client.ObjectKey{Namespace: write.HCP.Namespace, Name: contract.SSHKey}, key)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read the copy of the SSH key: %w", err)
	}
	maps, err := ignition.CoreConfigMaps(write.HCP.Namespace, string(key.Data[hyperv1.SSHPublicKeyKey]), write.HCP.Spec.FIPS, write.HCP.Spec.ImageContentSources)
	if err != nil {
		return err
	}
	for _, m := range maps {
		if err := write.Apply(ctx, m); err != nil {
			return err
		}
	}
	if len(write.HCP.Spec.ImageContentSources) == 0 {
		if err := dropMirrors(ctx, write); err != nil {
			return err
		}
	}
	describe, programs := describers[payload]
	if !programs || write.HCP.Status.ControlPlaneEndpoint.Host == "" { // machines could not be told where the API server is
		return nil
	}
	return describe(ctx, write)
}

// dropMirrors takes back what nodes were told of mirrors.
func dropMirrors(ctx context.Context, write component.Writer) error {
	former := &corev1.ConfigMap{}
	err := write.Client.Get(ctx, client.ObjectKey{Namespace: write.HCP.Namespace, Name: ignition.MirrorsConfigMap}, former)
	if err == nil {
		err = write.Client.Delete(ctx, former)
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("take back ConfigMap %s: %w", ignition.MirrorsConfigMap, err)
	}
	return nil
}

// describers tell the programs of a kind of payload that configure machines what the hosted cluster is.
var describers = map[release.Kind]func(context.Context, component.Writer) error{release.KindOpenShift: describeCluster}

func describeCluster(ctx context.Context, write component.Writer) error {
	root := &corev1.Secret{}
	kubelets, bundle := &corev1.ConfigMap{}, &corev1.ConfigMap{}
	for name, into := range map[string]client.Object{contract.RootCA: root, contract.KubeletClientCA: kubelets, contract.UserCABundle: bundle} {
		err := write.Client.Get(ctx, client.ObjectKey{Namespace: write.HCP.Namespace, Name: name}, into)
		if into == bundle {
			err = client.IgnoreNotFound(err)
		}
		if err != nil {
			return fmt.Errorf("read %s for the configuration of machines: %w", name, err)
		}
	}
	described, err := machineconfigserver.ConfigMap(write.HCP, machineconfigserver.Authorities{
		Root: string(root.Data[contract.CAKey]), KubeletClient: kubelets.Data[contract.CAKey], User: bundle.Data[hyperv1.TrustBundleKey],
	})
	if err != nil {
		return err
	}
	return write.Apply(ctx, described)
}
