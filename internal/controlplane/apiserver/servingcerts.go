package apiserver

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/clusterconfig"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
)

// serving are the user's serving certificates; objects has refused what cannot be read.
func serving(ctx *component.Context) []clusterconfig.NamedCertificate {
	config, err := clusterconfig.APIServerOf(ctx.HCP)
	if err != nil {
		return nil
	}
	return config.Serving()
}

func namedVolume(i int) string { return fmt.Sprintf("server-named-%d", i) }

func namedArgs(ctx *component.Context) []string {
	var args []string
	for i, c := range serving(ctx) {
		dir := certDir + "/" + namedVolume(i)
		arg := "--tls-sni-cert-key=" + dir + "/tls.crt," + dir + "/tls.key"
		if len(c.Names) > 0 {
			arg += ":" + strings.Join(c.Names, ",")
		}
		args = append(args, arg)
	}
	return args
}

// mountNamed adds the user's serving certificates to the pod of the API server, its first container.
func mountNamed(certificates []clusterconfig.NamedCertificate, pod *corev1.PodSpec) {
	for i, c := range certificates {
		volume := component.SecretVolume(namedVolume(i), c.ServingCertificate.Name)
		volume.Secret.Items = []corev1.KeyToPath{{Key: corev1.TLSCertKey, Path: corev1.TLSCertKey}, {Key: corev1.TLSPrivateKeyKey, Path: corev1.TLSPrivateKeyKey}}
		pod.Volumes = append(pod.Volumes, volume)
		server := &pod.Containers[0]
		server.VolumeMounts = append(server.VolumeMounts, component.Mount(namedVolume(i)+":"+certDir+"/"+namedVolume(i)))
	}
}

// rereadAnnotation of a pod is when its kubelet was last told to look at its volumes.
const rereadAnnotation = "hypershift.openshift.io/certificates-reread-at"

// Reread has the pods see the present certificates now: a kubelet refreshes the files of a pod once a minute, or when the pod changes, and
// the API server takes them as soon as they change.
func Reread(ctx context.Context, c client.Client, namespace string, now time.Time) error {
	pods := &corev1.PodList{}
	if err := c.List(ctx, pods, client.InNamespace(namespace), client.MatchingLabels{component.LabelApp: Name}); err != nil {
		return fmt.Errorf("list the pods of the API server: %w", err)
	}
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, rereadAnnotation, now.UTC().Format(time.RFC3339Nano)))
	for i := range pods.Items {
		if err := c.Patch(ctx, &pods.Items[i], patch); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("have pod %s read its certificates: %w", pods.Items[i].Name, err)
		}
	}
	return nil
}

// reloads are the certificates and bundles that the API server reads again by itself. Not among them: what the konnectivity server
// and the API server's way to it use, which either reads once.
func reloads(ctx *component.Context) []string {
	names := []string{
		pki.APIServing, contract.APIPrivateCertificate, contract.APIKubeletCertificate, contract.APIAggregatorCertificate, contract.EtcdClientCertificate,
		contract.ClientCA, contract.AggregatorClientCA,
	}
	for _, c := range serving(ctx) {
		names = append(names, c.ServingCertificate.Name)
	}
	return names
}
