package hostedcluster

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/cache"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

// certificateSuffixes end the keys of a Secret that hold certificates and their private keys.
var certificateSuffixes = []string{".key", ".crt", ".pem"}

// publishedCertificates are the control plane's Secrets of which this operator reads the certificate.
var publishedCertificates = map[string]bool{contract.IgnitionCA: true}

// CacheOptions keep the content of what control planes make for themselves out of this operator's memory: most Secrets and
// Deployments of a management cluster are theirs, and nothing here reads more than that they are there and how they are. It also
// keeps their private keys out of this process.
func CacheOptions() map[client.Object]ctrlcache.ByObject {
	return map[client.Object]ctrlcache.ByObject{
		&corev1.Secret{}:     {Transform: slim(slimSecret)},
		&appsv1.Deployment{}: {Transform: slim(slimDeployment)},
		// Of all StatefulSets only those are read that hold control planes' data.
		&appsv1.StatefulSet{}: {
			Field: fields.OneTermEqualSelector(metav1.ObjectNameField, contract.Etcd), Transform: slim(slimStatefulSet),
		},
	}
}

// slim drops what nobody reads: the managed fields of every object, and more of those that a HostedControlPlane owns.
func slim[T client.Object](drop func(T)) cache.TransformFunc {
	strip := ctrlcache.TransformStripManagedFields()
	return func(in any) (any, error) {
		if obj, ok := in.(T); ok && ownedByControlPlane(obj) {
			drop(obj)
		}
		return strip(in)
	}
}

func ownedByControlPlane(obj client.Object) bool {
	owner := metav1.GetControllerOf(obj)
	return owner != nil && owner.Kind == "HostedControlPlane"
}

func slimSecret(secret *corev1.Secret) {
	if publishedCertificates[secret.Name] {
		return
	}
	for key := range secret.Data {
		for _, suffix := range certificateSuffixes {
			if strings.HasSuffix(key, suffix) {
				delete(secret.Data, key)
			}
		}
	}
}

func slimDeployment(deployment *appsv1.Deployment) {
	deployment.Spec = appsv1.DeploymentSpec{Replicas: deployment.Spec.Replicas}
}

func slimStatefulSet(set *appsv1.StatefulSet) {
	set.Spec = appsv1.StatefulSetSpec{Replicas: set.Spec.Replicas}
}
