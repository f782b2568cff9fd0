package manifest

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
)

const (
	subscription = "/subscriptions/5a2d0b0e-0000-4000-8000-000000000001"
	network      = subscription + "/resourceGroups/v/providers/Microsoft.Network/virtualNetworks/vnet"
)

// admissible is demo with ids that the API accepts.
func admissible() *Cluster {
	c := demo()
	c.Infra.VNetID, c.Infra.SubnetID = network, network+"/subnets/default"
	return c
}

// TestAdmission checks against a real API server that what the command line makes is accepted. What the schema refuses is a
// matter of api/v1beta1.
func TestAdmission(t *testing.T) {
	restConfig := kubetest.Start(t)
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if err := hyperv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(restConfig, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	for _, obj := range admissible().Objects() {
		if err := kube.Apply(context.Background(), c, "test", obj); err != nil {
			t.Fatal(err)
		}
	}
}
