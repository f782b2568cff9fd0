package destroy

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/cli/clitest"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

const testZone = "/subscriptions/" + clitest.UUID + "/resourceGroups/dns/providers/Microsoft.Network/dnszones/example.com"

// condemned is a hosted cluster with its node pool and Secrets, beside another one's.
func condemned() []client.Object {
	hc := clitest.HostedCluster("demo", false)
	hc.Spec.InfraID, hc.Spec.DNS.PublicZoneID = "demo-abcde", testZone
	hc.Spec.Platform.Azure.ResourceGroupName = "demo-rg"
	hc.Spec.Platform.Azure.VnetID, hc.Spec.Platform.Azure.Cloud = clitest.VNet, "AzureChinaCloud"
	secret := func(name, infraID string) client.Object {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: name, Labels: map[string]string{hyperv1.AutoInfraLabel: infraID}}}
	}
	other := &hyperv1.NodePool{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "other"}, Spec: hyperv1.NodePoolSpec{ClusterName: "other"}}
	return []client.Object{hc, secret("demo-pull-secret", "demo-abcde"), secret("other-pull-secret", "other-abcde"), other}
}

// destroyCluster runs the command; what it asked Azure for is returned.
func destroyCluster(t *testing.T, c client.Client, failure error, args ...string) (*infra.DestroyOptions, error) {
	t.Helper()
	var asked *infra.DestroyOptions
	cmd := NewAzureCommand(func(_ context.Context, _ *azure.Session, d infra.DestroyOptions, _ func(stack.Event)) error {
		asked = &d
		return failure
	}, c)
	cmd.SetOut(&bytes.Buffer{})
	cmd.SetErr(&bytes.Buffer{})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append(clitest.Inputs(t)[:2], append([]string{"--name", "demo"}, args...)...))
	return asked, cmd.ExecuteContext(context.Background())
}

func TestDestroyClusterCanBeRepeated(t *testing.T) {
	ctx := context.Background()
	c := clitest.Client(condemned()...)
	exists := func(obj client.Object, name string) bool {
		err := c.Get(ctx, client.ObjectKey{Namespace: "clusters", Name: name}, obj)
		if err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
		return err == nil
	}
	if _, err := destroyCluster(t, c, errors.New("quota")); err == nil {
		t.Fatal("a failure in Azure is not reported")
	}
	if !exists(&hyperv1.HostedCluster{}, "demo") || !exists(&corev1.Secret{}, "demo-pull-secret") {
		t.Fatal("the names are lost before the last resource is gone")
	}
	asked, err := destroyCluster(t, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	if asked.InfraID != "demo-abcde" || asked.ResourceGroup != "demo-rg" || asked.DNSZoneGroup != "dns" || asked.VNetID != clitest.VNet {
		t.Errorf("destroys %+v", asked)
	}
	if exists(&hyperv1.HostedCluster{}, "demo") || exists(&corev1.Secret{}, "demo-pull-secret") {
		t.Error("the hosted cluster or its Secret is still there")
	}
	if !exists(&hyperv1.NodePool{}, "other") || !exists(&corev1.Secret{}, "other-pull-secret") {
		t.Error("something of another cluster is gone")
	}
	if _, err := destroyCluster(t, c, nil); err == nil || !strings.Contains(err.Error(), "required inputs are missing") {
		t.Errorf("error %v, want one that asks for --infra-id", err)
	}
	asked, err = destroyCluster(t, c, nil, "--infra-id", "demo-abcde", "--resource-group-name", "demo-rg")
	if err != nil || asked.InfraID != "demo-abcde" {
		t.Errorf("without a HostedCluster: %+v, %v", asked, err)
	}
}

func TestDestroyClusterRefusesAnotherGroup(t *testing.T) {
	c := clitest.Client(condemned()...)
	asked, err := destroyCluster(t, c, nil, "--resource-group-name", "production")
	if err == nil || !strings.Contains(err.Error(), "--resource-group-name") || asked != nil {
		t.Fatalf("error %v, asked %+v", err, asked)
	}
	hc := &hyperv1.HostedCluster{}
	if err := c.Get(context.Background(), client.ObjectKey{Namespace: "clusters", Name: "demo"}, hc); err != nil || !hc.DeletionTimestamp.IsZero() {
		t.Errorf("the HostedCluster is touched: %v", err)
	}
}

// A cluster of another platform has nothing in Azure, and is not touched.
func TestDestroyClusterRefusesAnotherPlatform(t *testing.T) {
	hc := clitest.HostedCluster("demo", true)
	hc.Spec.Platform = hyperv1.PlatformSpec{Type: hyperv1.NonePlatform}
	c := clitest.Client(hc)
	asked, err := destroyCluster(t, c, nil)
	if err == nil || !strings.Contains(err.Error(), "is not an Azure platform cluster") || asked != nil {
		t.Fatalf("error %v, asked %+v", err, asked)
	}
	if err := c.Get(context.Background(), client.ObjectKey{Namespace: "clusters", Name: "demo"}, hc); err != nil || !hc.DeletionTimestamp.IsZero() {
		t.Errorf("the HostedCluster is touched: %v", err)
	}
}
