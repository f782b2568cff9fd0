package existing

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	validation "k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cli/clitest"
	"github.com/hypershift-on-azure/hypershift/internal/manifest"
)

// wanted is what the flags ask for.
func wanted() manifest.Cluster {
	return manifest.Cluster{Name: "demo", Namespace: "clusters", ReleaseImage: "quay.io/release:1",
		Infra: manifest.Infra{InfraID: "demo-x", Location: "eastus", BaseDomain: "example.com", SubnetID: "/subscriptions/s/resourceGroups/g/subnets/s"},
		Secrets: manifest.Secrets{PullSecret: []byte("PRECIOUS-pull"), SSHPublicKey: []byte("ssh-rsa A"), SigningKey: []byte("PRECIOUS-signer"),
			EtcdEncryptionKey: []byte("PRECIOUS-etcd"), TrustBundle: []byte("PEM")},
		NodePools: manifest.NodePool{Replicas: 2, Arch: "amd64", InstanceType: "Standard_D4s_v5", DiskSizeGiB: 120}}
}

// there is a management cluster with what the cluster's objects are, after a change of them.
func there(t *testing.T, change func(*hyperv1.HostedCluster, *hyperv1.NodePool), without ...string) (client.WithWatch, *hyperv1.HostedCluster) {
	t.Helper()
	c := wanted()
	var objects []client.Object
	var hc *hyperv1.HostedCluster
	var np *hyperv1.NodePool
	for _, obj := range c.Objects() {
		switch o := obj.(type) {
		case *hyperv1.HostedCluster:
			hc = o
		case *hyperv1.NodePool:
			np = o
		}
		if !slices.Contains(without, obj.GetObjectKind().GroupVersionKind().Kind+" "+obj.GetName()) {
			objects = append(objects, obj)
		}
	}
	if change != nil {
		change(hc, np)
	}
	return clitest.Client(objects...).(client.WithWatch), hc
}

func typed(flags ...string) Flags {
	return Flags{Given: func(flag string) bool { return slices.Contains(flags, flag) }, Files: map[string]string{"pull-secret": "pull.json", "ssh-key": "id.pub",
		"sa-token-issuer-private-key-path": "signer", "additional-trust-bundle": "ca.pem"}}
}

// A flag that asks for what is not there is a difference with the command for it; asked for again it is told that it was changed since, and what
// nobody has typed counts for nothing.
func TestDifferencesAreTold(t *testing.T) {
	for _, tc := range []struct {
		name   string
		flags  []string
		change func(*hyperv1.HostedCluster, *hyperv1.NodePool)
		field  string // "" is none
		says   []string
	}{
		{"as asked", []string{"release-image", "location", "node-pool-replicas", "instance-type", "base-domain", "etcd-storage-class"}, nil, "", nil},
		{"not typed", []string{"location"}, func(hc *hyperv1.HostedCluster, np *hyperv1.NodePool) {
			hc.Spec.Release.Image, np.Spec.Platform.Azure.VMSize = "quay.io/release:2", "Standard_D8s_v5"
		}, "", nil},
		{"an id in another spelling", []string{"subnet-id"}, func(hc *hyperv1.HostedCluster, _ *hyperv1.NodePool) {
			hc.Spec.Platform.Azure.SubnetID = strings.ToUpper(hc.Spec.Platform.Azure.SubnetID[:14]) + hc.Spec.Platform.Azure.SubnetID[14:]
			hc.Spec.Platform.Azure.SubnetID = strings.Replace(hc.Spec.Platform.Azure.SubnetID, "/SUBSCRIPTIONS", "/subscriptions", 1)
		}, "", nil},
		{"an upgrade meanwhile", []string{"release-image"}, func(hc *hyperv1.HostedCluster, np *hyperv1.NodePool) {
			hc.Spec.Release.Image = "quay.io/release:2"
		}, "spec.release.image", []string{"HostedCluster clusters/demo", "quay.io/release:2", "--release-image asks for quay.io/release:1",
			`kubectl -n clusters patch hostedcluster demo --type merge -p '{"spec":{"release":{"image":"quay.io/release:1"}}}'`}},
		{"another number of machines", []string{"node-pool-replicas"}, func(_ *hyperv1.HostedCluster, np *hyperv1.NodePool) {
			np.Spec.Replicas = new(int32(5))
		}, "spec.replicas", []string{"NodePool clusters/demo", "kubectl -n clusters scale nodepool/demo --replicas=2"}},
		{"a pool that scales itself", []string{"node-pool-replicas"}, func(_ *hyperv1.HostedCluster, np *hyperv1.NodePool) {
			np.Spec.Replicas, np.Spec.AutoScaling = nil, &hyperv1.NodePoolAutoScaling{Min: 1, Max: 5}
		}, "spec.replicas", []string{`"autoScaling":null`, `"replicas":2`}},
		{"another size", []string{"instance-type"}, func(_ *hyperv1.HostedCluster, np *hyperv1.NodePool) {
			np.Spec.Platform.Azure.VMSize = "Standard_D8s_v5"
		}, "spec.platform.azure.vmSize", []string{"--instance-type", "kubectl -n clusters patch nodepool demo"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, hc := there(t, tc.change)
			before := hc.DeepCopy()
			asked, found, err := Compare(t.Context(), c, typed(tc.flags...), wanted(), hc, nil)
			if err != nil {
				t.Fatal(err)
			}
			if tc.field == "" {
				if len(found) != 0 {
					t.Errorf("%+v", found)
				}
				return
			}
			if len(found) != 1 || found[0].Field != tc.field || found[0].AskedBefore {
				t.Fatalf("%+v", found)
			}
			for _, part := range tc.says {
				if !strings.Contains(found[0].String(), part) {
					t.Errorf("%q is not said: %s", part, found[0])
				}
			}
			again, found, err := Compare(t.Context(), c, typed(tc.flags...), wanted(), hc, asked)
			if err != nil || !found[0].AskedBefore || !maps.Equal(again, asked) || !strings.Contains(found[0].String(), "as it did before") {
				t.Errorf("asked again: %+v, %v", found, err)
			}
			live := &hyperv1.HostedCluster{}
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(hc), live); err != nil || live.Spec.Release.Image != before.Spec.Release.Image {
				t.Errorf("the look has changed it: %v", err)
			}
		})
	}
}

// What the API server would not take has its reason in the place of a command.
func TestAFieldThatCannotBeChanged(t *testing.T) {
	base, hc := there(t, func(hc *hyperv1.HostedCluster, _ *hyperv1.NodePool) { hc.Spec.Platform.Azure.Location = "westeurope" })
	tries := 0
	c := interceptor.NewClient(base, interceptor.Funcs{Patch: func(_ context.Context, _ client.WithWatch, _ client.Object, _ client.Patch, opts ...client.PatchOption) error {
		tries++
		if options := (&client.PatchOptions{}).ApplyOptions(opts); !slices.Equal(options.DryRun, []string{metav1.DryRunAll}) {
			t.Errorf("the try is none: %+v", options)
		}
		return apierrors.NewInvalid(schema.GroupKind{Kind: "HostedCluster"}, "demo", validation.ErrorList{validation.Invalid(validation.NewPath("spec"), "x", "location is immutable")})
	}})
	_, found, err := Compare(t.Context(), c, typed("location"), wanted(), hc, nil)
	if err != nil || len(found) != 1 || tries != 1 || !strings.Contains(found[0].Change, "cannot be changed") || !strings.Contains(found[0].Change, "location is immutable") {
		t.Errorf("%+v, %v after %d tries", found, err, tries)
	}
	if strings.Contains(found[0].Change, "kubectl") {
		t.Errorf("a command that fails is told: %s", found[0].Change)
	}
}

// Files of flags are held against what the cluster has. Neither what is told nor what is kept for the next time has their contents.
func TestFilesAreComparedAndNotTold(t *testing.T) {
	all := []string{"pull-secret", "ssh-key", "sa-token-issuer-private-key-path", "additional-trust-bundle"}
	c, hc := there(t, nil)
	cluster := wanted()
	cluster.Secrets.PullSecret = []byte("PRECIOUS-pull\n") // an editor adds an end of line
	if _, found, err := Compare(t.Context(), c, typed(all...), cluster, hc, nil); err != nil || len(found) != 0 {
		t.Fatalf("the same files: %+v, %v", found, err)
	}
	cluster.Secrets = manifest.Secrets{PullSecret: []byte("PRECIOUS-other"), SSHPublicKey: []byte("ssh-rsa B"), SigningKey: []byte("PRECIOUS-new"), TrustBundle: []byte("other PEM")}
	asked, found, err := Compare(t.Context(), c, typed(all...), cluster, hc, nil)
	if err != nil || len(found) != len(all) {
		t.Fatalf("%+v, %v", found, err)
	}
	for i, want := range []string{"create secret generic demo-pull-secret --from-file=.dockerconfigjson=pull.json", "create secret generic demo-ssh-key --from-file=id_rsa.pub=id.pub",
		"hypershift rotate oidc-issuer azure", "create configmap user-ca-bundle --from-file=ca-bundle.crt=ca.pem"} {
		if !strings.Contains(found[i].Change, want) {
			t.Errorf("%s is changed by %s, want %s", found[i].Object, found[i].Change, want)
		}
	}
	if strings.Contains(found[2].Change, "kubectl") {
		t.Errorf("a signing key that is not published is put there: %s", found[2].Change)
	}
	raw, err := json.Marshal([]any{asked, found})
	if err != nil || strings.Contains(string(raw), "PRECIOUS") {
		t.Errorf("a secret is told: %s, %v", raw, err)
	}
	_, found, err = Compare(t.Context(), c, typed(all...), cluster, hc, asked)
	if err != nil || slices.ContainsFunc(found, func(d Difference) bool { return !d.AskedBefore }) {
		t.Errorf("asked again: %+v, %v", found, err)
	}
}

// A file for which the cluster has no place is told with the field, and a Secret that is gone is no difference: it is made again.
func TestReferencesThatAreNotThere(t *testing.T) {
	c, hc := there(t, func(hc *hyperv1.HostedCluster, _ *hyperv1.NodePool) { hc.Spec.SSHKey.Name = "" }, "Secret demo-pull-secret")
	_, found, err := Compare(t.Context(), c, typed("ssh-key", "generate-ssh", "pull-secret"), wanted(), hc, nil)
	if err != nil || len(found) != 2 || found[0].Field != "spec.sshKey" || !strings.Contains(found[0].Change, `{"spec":{"sshKey":{"name":"demo-ssh-key"}}}`) ||
		!strings.Contains(found[1].Change, "=FILE ") {
		t.Errorf("%+v, %v", found, err)
	}
}

func namesOf(objects []client.Object) []string {
	var out []string
	for _, obj := range objects {
		out = append(out, obj.GetObjectKind().GroupVersionKind().Kind+" "+obj.GetName())
	}
	return out
}

// What a stopped creation has not made is made by the next one: what the HostedCluster names, and pools as far as somebody wants them.
func TestMissingIsMade(t *testing.T) {
	for _, tc := range []struct {
		name    string
		without []string
		flags   []string
		change  func(*hyperv1.HostedCluster, *hyperv1.NodePool)
		want    []string
	}{
		{name: "nothing", want: nil},
		{name: "Secrets and the bundle", without: []string{"Secret demo-pull-secret", "Secret demo-cloud-credentials", "ConfigMap user-ca-bundle", "Secret demosa-token-issuer-key"},
			want: []string{"ConfigMap user-ca-bundle", "Secret demo-pull-secret", "Secret demo-cloud-credentials", "Secret demosa-token-issuer-key"}},
		{name: "a Secret that is not named", without: []string{"Secret demo-ssh-key"}, change: func(hc *hyperv1.HostedCluster, _ *hyperv1.NodePool) { hc.Spec.SSHKey.Name = "mine" }},
		{name: "the only pool", without: []string{"NodePool demo"}, want: []string{"NodePool demo"}},
		{name: "a pool that somebody has replaced", change: func(_ *hyperv1.HostedCluster, np *hyperv1.NodePool) { np.Name = "mine" }},
		{name: "the same, and it is asked for", change: func(_ *hyperv1.HostedCluster, np *hyperv1.NodePool) { np.Name = "mine" }, flags: []string{"node-pool-replicas"}, want: []string{"NodePool demo"}},
		{name: "another cluster's pool", change: func(_ *hyperv1.HostedCluster, np *hyperv1.NodePool) { np.Name, np.Spec.ClusterName = "other", "other" }, want: []string{"NodePool demo"}},
	} {
		c, hc := there(t, tc.change, tc.without...)
		hc.Spec.Release.Image, hc.Spec.Platform.Azure.SubnetID = "quay.io/release:9", "/subscriptions/s/resourceGroups/g/subnets/now"
		made, err := Missing(t.Context(), c, typed(tc.flags...), hc, wanted())
		if err != nil || !slices.Equal(namesOf(made), tc.want) {
			t.Errorf("%s: %q, %v, want %q", tc.name, namesOf(made), err, tc.want)
		}
		for _, obj := range made {
			if np, ok := obj.(*hyperv1.NodePool); ok && (np.Spec.Release.Image != hc.Spec.Release.Image || np.Spec.Platform.Azure.SubnetID != hc.Spec.Platform.Azure.SubnetID) {
				t.Errorf("%s: the pool is not for the cluster as it is: %+v", tc.name, np.Spec)
			}
		}
	}
}

// Another key for etcd would make what is stored unreadable: it is never made anew, and the error says so.
func TestTheKeyOfEtcdIsNeverMadeAnew(t *testing.T) {
	c, hc := there(t, nil, "Secret demo-etcd-encryption-key")
	made, err := Missing(t.Context(), c, typed(), hc, wanted())
	if err == nil || !strings.Contains(err.Error(), "clusters/demo-etcd-encryption-key") || !strings.Contains(err.Error(), "backup") || len(made) != 0 {
		t.Errorf("%q, %v", namesOf(made), err)
	}
}

// An API server that does not answer is an error, and not taken for one that has nothing.
func TestAnErrorIsNoAbsence(t *testing.T) {
	base, hc := there(t, nil)
	for kind, deny := range map[string]interceptor.Funcs{
		"get": {Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, key.Name, nil)
		}},
		"list": {List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return apierrors.NewServiceUnavailable("down")
		}},
	} {
		c := interceptor.NewClient(base, deny)
		if made, err := Missing(t.Context(), c, typed(), hc, wanted()); err == nil || len(made) != 0 {
			t.Errorf("%s: %q, %v", kind, namesOf(made), err)
		}
		if kind == "get" {
			if _, _, err := Compare(t.Context(), c, typed("pull-secret"), wanted(), hc, nil); !apierrors.IsForbidden(err) {
				t.Errorf("compared: %v", err)
			}
		}
	}
}

// What is asked of a new cluster is what a later run finds asked before: the two know the same keys.
func TestWishesAreWhatIsComparedLater(t *testing.T) {
	flags := typed("release-image", "node-pool-replicas", "pull-secret", "ssh-key", "annotations", "labels")
	cluster := wanted()
	cluster.Annotations, cluster.Labels = map[string]string{"a.example.com/x": "1"}, map[string]string{"team": "a"}
	first, err := Wishes(flags, cluster)
	if err != nil {
		t.Fatal(err)
	}
	c, hc := there(t, func(hc *hyperv1.HostedCluster, np *hyperv1.NodePool) {
		hc.Spec.Release.Image, np.Spec.Replicas, hc.Annotations, hc.Labels = "quay.io/release:2", new(int32(9)), nil, nil
	})
	secret := &corev1.Secret{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "clusters", Name: "demo-pull-secret"}, secret); err != nil {
		t.Fatal(err)
	}
	secret.Data[hyperv1.PullSecretKey] = []byte("changed since")
	if err := c.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	asked, found, err := Compare(t.Context(), c, flags, cluster, hc, first)
	if err != nil || len(found) != 5 || !maps.Equal(asked, first) {
		t.Fatalf("%d differences, %v; asked %v, at first %v", len(found), err, asked, first)
	}
	for _, d := range found {
		if !d.AskedBefore {
			t.Errorf("%s, %s is told as asked for anew", d.Object, d.Field)
		}
	}
}
