package cluster

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/hypershift-on-azure/hypershift/internal/cli/azureflags"
	"github.com/hypershift-on-azure/hypershift/internal/cli/clitest"
	"github.com/hypershift-on-azure/hypershift/internal/manifest"
	"github.com/hypershift-on-azure/hypershift/internal/provision/handoff"
)

func unreadableInventory(failure error, objs ...client.Object) client.Client {
	return interceptor.NewClient(clitest.Client(objs...).(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if _, secret := obj.(*corev1.Secret); secret && key.Name == "demo-azure-inventory" {
				return failure
			}
			return c.Get(ctx, key, obj, opts...)
		}})
}

// A second run adds to the record of the first. It replaces one that it cannot understand, never one that it cannot read.
func TestInventoryIsJoined(t *testing.T) {
	secret := func(text string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "demo-azure-inventory"}, Data: map[string][]byte{"handoff.yaml": []byte(text)}}
	}
	joined := func(c client.Client) (*handoff.File, error) {
		record := &azureflags.HandoffFile{File: &handoff.File{APIVersion: handoff.Version, Kind: handoff.Kind, InfraID: "demo-abcde",
			Brought: &handoff.Brought{PublicIPID: "new"}}}
		creator := &creation{say: func(string, ...any) {}, record: record}
		made, err := creator.inventorySecret(context.Background(), c, manifest.Cluster{Name: "demo", Namespace: "clusters"}, nil)
		if err != nil {
			return nil, err
		}
		return handoff.Parse(made.Data["handoff.yaml"])
	}
	text := "apiVersion: handoff.hypershift.openshift.io/v1\nkind: Handoff\nname: demo\ninfraID: demo-abcde\ninventory:\n" +
		"- {stack: infra, kind: load balancer, id: /subscriptions/" + clitest.UUID + "/resourceGroups/demo-rg/providers/Microsoft.Network/loadBalancers/demo-abcde}\n" +
		"- {stack: iam, kind: managed identity, id: /subscriptions/" + clitest.UUID + "/resourceGroups/ids/providers/Microsoft.ManagedIdentity/userAssignedIdentities/x}\n" +
		"brought: {privateZoneID: zone, publicIPID: old}\ndns: {zone: example.com, zoneID: /subscriptions/" + clitest.UUID + "/resourceGroups/dns/providers/Microsoft.Network/dnszones/example.com}\n"
	h, err := joined(clitest.Client(secret(text)))
	if err != nil || len(h.Inventory) != 2 || h.DNS == nil || *h.Brought != (handoff.Brought{PrivateZoneID: "zone", PublicIPID: "new"}) {
		t.Errorf("joined: %+v, brought %+v, %v", h, h.Brought, err)
	}
	if h, err := joined(clitest.Client(secret("kind: Other"))); err != nil || len(h.Inventory) != 0 {
		t.Errorf("in place of what is no record: %+v, %v", h, err)
	}
	busy := apierrors.NewServiceUnavailable("etcd")
	if _, err := joined(unreadableInventory(busy, secret(text))); !errors.Is(err, busy) {
		t.Errorf("error %v; a record that cannot be read is replaced", err)
	}
}
