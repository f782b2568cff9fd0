package releases

import (
	"cmp"
	"context"
	"fmt"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/cluster"
	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/steps"
)

// HelperImage is the image of the control-plane operator and of the helpers in pods. The payload's may be absent: then standsIn is true,
// and the image is this operator's own, which has the same program.
func (o Options) HelperImage(hc *hyperv1.HostedCluster, payload *release.Release) (image string, standsIn bool) {
	image = cmp.Or(hc.Annotations[hyperv1.ControlPlaneOperatorImageAnnotation], o.ControlPlaneOperatorImage, payload.Images[release.KeyHypershift])
	return cmp.Or(image, o.OperatorImage), image == ""
}

// ComponentImage of a Cluster API manager: the HostedCluster's annotation, else what this operator was started with, else the payload's.
func (o Options) ComponentImage(hc *hyperv1.HostedCluster, payload *release.Release, key string) string {
	return cmp.Or(o.substitute(hc, key), payload.Images[key])
}

// substitute replaces the payload's image of a component; empty when nothing does.
func (o Options) substitute(hc *hyperv1.HostedCluster, key string) string {
	switch key {
	case release.KeyClusterAPI:
		return cmp.Or(hc.Annotations[hyperv1.CAPIManagerImageAnnotation], o.ClusterAPIImage)
	case release.KeyAzureProvider:
		return cmp.Or(hc.Annotations[hyperv1.CAPIProviderAzureImageAnnotation], o.AzureProviderImage)
	}
	return ""
}

// ReadLabels reads what the image of the control-plane operator says it can do. The user may say it instead, or may have decided already
// all that depends on it; then nothing is read and the labels are nil.
func (o Options) ReadLabels(ctx context.Context, hc *hyperv1.HostedCluster, found Found, image string) (map[string]string, error) {
	if text, ok := hc.Annotations[hyperv1.ControlPlaneOperatorImageLabels]; ok {
		labels, err := release.ParseLabels(text)
		if err != nil {
			return nil, fmt.Errorf("annotation %s: %w", hyperv1.ControlPlaneOperatorImageLabels, err)
		}
		return labels, nil
	}
	if cluster.PodSecurityOverride(hc) != "" {
		return nil, nil
	}
	labels, err := o.Labels.Labels(ctx, image, found.access)
	if release.Pending(err) {
		return nil, &steps.Waiting{For: err.Error(), After: askAgain}
	}
	if err != nil {
		return nil, fmt.Errorf("what the control-plane operator of %s can do: %w", cluster.ControlPlaneImage(hc), err)
	}
	return labels, nil
}
