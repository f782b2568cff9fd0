package dump

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// guestLimit bounds what is read of a hosted cluster: its API server may be what does not work, and it belongs to somebody else.
const guestLimit = 5 * time.Minute

var (
	// guestKinds are read in namespaces of the system.
	guestKinds = append([]string{"daemonsets", "statefulsets", "jobs", "endpointslices", "persistentvolumeclaims", "poddisruptionbudgets"}, operatorKinds...)
	// guestWide are kinds without a namespace, guestGroups groups of which all such kinds are read.
	guestWide = []string{"nodes", "namespaces", "persistentvolumes", "storageclasses", "csinodes", "csidrivers", "volumeattachments", "certificatesigningrequests",
		"apiservices", "validatingwebhookconfigurations", "mutatingwebhookconfigurations", "clusterrolebindings"}
	guestGroups = []string{"config.openshift.io", "operator.openshift.io"}
)

// guest takes what the system has inside of the hosted cluster, and nothing of what its users run. That it cannot is said, and ends nothing.
func (d *dumper) guest(ctx context.Context, hc *hyperv1.HostedCluster) error {
	if d.Guest == nil {
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, guestLimit)
	defer cancel()
	if err := d.inside(bounded, hc); err != nil {
		return d.left(ctx, "the inside of the hosted cluster, or a part of it,", err)
	}
	return nil
}

func (d *dumper) inside(ctx context.Context, hc *hyperv1.HostedCluster) error {
	source, err := d.Guest(ctx, hc)
	if err != nil {
		return err
	}
	g := &dumper{Source: *source, What: What{Folder: filepath.Join(d.Folder, "hostedcluster-"+hc.Name), Say: d.Say}}
	defer func() { d.files += g.files }()
	for _, kind := range g.Kinds {
		if kind.Wide && (slices.Contains(guestWide, kind.Resource) || slices.Contains(guestGroups, kind.Group)) {
			if err := g.kind(ctx, "", kind, nil); err != nil {
				return err
			}
		}
	}
	namespaces := &corev1.NamespaceList{}
	if err := g.Client.List(ctx, namespaces); err != nil {
		return err
	}
	for _, namespace := range namespaces.Items {
		if !ofTheSystem(namespace.Name) {
			continue
		}
		if err := g.namespace(ctx, namespace.Name, func(k Kind) bool { return !k.Wide && slices.Contains(guestKinds, k.Resource) }); err != nil {
			return err
		}
	}
	return nil
}

func ofTheSystem(namespace string) bool {
	return namespace == "openshift" || strings.HasPrefix(namespace, "openshift-") || strings.HasPrefix(namespace, "kube-")
}
