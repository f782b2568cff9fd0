package webhooks

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestCallsControlPlane(t *testing.T) {
	services := []corev1.Service{{ObjectMeta: metav1.ObjectMeta{Name: "etcd-client"}, Spec: corev1.ServiceSpec{ClusterIPs: []string{"10.201.7.7", "fd00::7"}}}}
	for target, want := range map[string]bool{
		"https://etcd-client:2379/x":                                      true,
		"https://etcd-client.clusters-demo/x":                             true,
		"https://ETCD-client.clusters-demo.svc:2379":                      true,
		"https://etcd-client.clusters-demo.svc.cluster.local./x":          true,
		"https://later.clusters-demo.svc/x":                               true,
		"https://10.201.7.7/x":                                            true,
		"https://[fd00::7]:443/x":                                         true,
		"https://127.0.0.1:9443/mutate-v1-pod":                            false,
		"https://hooks.example.com/etcd-client.clusters-demo.svc":         false,
		"https://etcd-client.other.svc/x":                                 false,
		"https://konnectivity-server-clusters-demo.apps.example.com/hook": false,
		"https://10.201.7.8/x":                                            false,
	} {
		if got := callsControlPlane(target, "clusters-demo", services); got != want {
			t.Errorf("%s: %t", target, got)
		}
	}
}
