package cluster

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cli/clitest"
	"github.com/hypershift-on-azure/hypershift/internal/cli/cluster/export"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
)

// An API server sets defaults, and programs write what is theirs: the file says all that a person has asked for, so nothing is told.
func TestExportOfWhatIsStored(t *testing.T) {
	c, err := client.New(kubetest.Start(t), client.Options{Scheme: clitest.Client().Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	for namespace, line := range map[string]string{
		"plain": "",
		"in-zone": "--base-domain-prefix none --availability-zone 2 --arch arm64 --node-upgrade-type InPlace " +
			"--annotations hypershift.openshift.io/topology=x",
		"rich": "--external-dns-domain ext.example.org --availability-zones 1,3 --node-pool-replicas 3 --kas-dns-name api.example.org " +
			"--control-plane-availability-policy HighlyAvailable --infra-availability-policy HighlyAvailable " +
			"--enable-ephemeral-disk --encryption-at-host Disabled --image-generation Gen1 " +
			"--diagnostics-storage-account-type Managed --additional-tags a=b,c=d --node-drain-timeout 3m --etcd-storage-size 9Gi",
	} {
		args := append(clitest.Inputs(t), strings.Fields("--name demo --infra-id demo-x --namespace "+namespace+" "+line)...)
		objects := objectsOf(t, rendered(t, args...))
		objects = append([]client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}}, objects...)
		for _, object := range objects {
			if hc, ok := object.(*hyperv1.HostedCluster); ok {
				metav1.SetMetaDataAnnotation(&hc.ObjectMeta, hyperv1.HasBeenAvailableAnnotation, "true")
				metav1.SetMetaDataLabel(&hc.ObjectMeta, hyperv1.AutoInfraLabel, "demo-x")
				hc.Spec.ClusterID, hc.Finalizers = clitest.UUID, []string{hyperv1.Finalizer}
			}
			if err := kube.Apply(t.Context(), c, "test", object); err != nil {
				t.Fatal(err)
			}
		}
		found, err := export.Of(t.Context(), c, client.ObjectKey{Namespace: namespace, Name: "demo"}, ForExport())
		if err != nil {
			t.Fatal(err)
		}
		if len(found.Unsaid) > 0 {
			t.Errorf("%s: the file does not say %q", namespace, found.Unsaid)
		}
	}
}
