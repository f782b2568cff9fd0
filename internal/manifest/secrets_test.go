package manifest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// precious is demo with contents that are found again wherever they go.
func precious() *Cluster {
	c := demo()
	c.Secrets = Secrets{PullSecret: []byte("PRECIOUS-pull"), SSHPublicKey: []byte("ssh-rsa public"), SSHPrivateKey: []byte("PRECIOUS-ssh"), SigningKey: []byte("PRECIOUS-signer"),
		EtcdEncryptionKey: []byte("PRECIOUS-etcd"), TrustBundle: []byte("certificates")}
	return c
}

func kindsOf(c *Cluster) []string {
	var out []string
	for _, obj := range c.Objects() {
		out = append(out, obj.GetObjectKind().GroupVersionKind().Kind+" "+obj.GetName())
	}
	return out
}

// What is rendered for a repository has no secret, neither plain nor in base64, whatever the cluster has; asked for, all of them are there.
func TestRenderTellsNoSecret(t *testing.T) {
	for _, sensitive := range []bool{false, true} {
		var out bytes.Buffer
		if err := Render(&out, precious().Objects(), sensitive); err != nil {
			t.Fatal(err)
		}
		text := out.String()
		// "PRECIOUS" in base64, at the beginning of a value.
		if is := strings.Contains(text, "PRECIOUS") || strings.Contains(text, "UFJFQ0lPVV"); is != sensitive {
			t.Errorf("sensitive %v: a secret is rendered: %v", sensitive, is)
		}
		if strings.Contains(text, "kind: Secret") != sensitive || !strings.Contains(text, "kind: ConfigMap") || !strings.Contains(text, "kind: HostedCluster") {
			t.Errorf("sensitive %v:\n%s", sensitive, text)
		}
	}
}

// Every Secret that the HostedCluster names is among the objects, before it, with the label by which a destroy takes it; what is not given makes
// neither an object nor a reference.
func TestEveryReferenceHasItsObject(t *testing.T) {
	for name, change := range map[string]func(*Cluster){
		"everything": func(*Cluster) {},
		"no ssh key": func(c *Cluster) { c.Secrets.SSHPublicKey, c.Secrets.SSHPrivateKey = nil, nil },
		"no signer":  func(c *Cluster) { c.Secrets.SigningKey = nil },
		"no bundle":  func(c *Cluster) { c.Secrets.TrustBundle = nil },
		"a key service": func(c *Cluster) {
			c.KMS = &KMS{VaultName: "v", KeyName: "k", KeyVersion: "1", VaultType: "KeyVault", ClientID: "ID"}
		},
	} {
		c := precious()
		change(c)
		objects := c.Objects()
		spec := c.HostedCluster().Spec
		named := []string{spec.PullSecret.Name}
		if spec.SSHKey.Name != "" {
			named = append(named, spec.SSHKey.Name)
		}
		if spec.ServiceAccountSigningKey != nil {
			named = append(named, spec.ServiceAccountSigningKey.Name)
		}
		if spec.SecretEncryption.AESCBC != nil {
			named = append(named, spec.SecretEncryption.AESCBC.ActiveKey.Name)
		}
		if (spec.SecretEncryption.KMS != nil) != (c.KMS != nil) || (spec.AdditionalTrustBundle != nil) != (len(c.Secrets.TrustBundle) > 0) {
			t.Errorf("%s: encryption %+v, bundle %v", name, spec.SecretEncryption, spec.AdditionalTrustBundle)
		}
		var there []string
		cluster := slices.IndexFunc(kindsOf(c), func(kind string) bool { return kind == "HostedCluster demo" })
		for i, obj := range objects {
			secret, ok := obj.(*corev1.Secret)
			if !ok {
				continue
			}
			there = append(there, secret.Name)
			if i > cluster || secret.Namespace != "clusters" || secret.Labels[hyperv1.DeleteWithClusterLabel] != "true" || len(secret.Data) == 0 {
				t.Errorf("%s: Secret %s at %d of %d, labels %v", name, secret.Name, i, cluster, secret.Labels)
			}
			if !slices.Contains(NamesOf("demo").All(), secret.Name) {
				t.Errorf("%s: Secret %s has no name that a destroy knows", name, secret.Name)
			}
		}
		for _, want := range append(named, "demo-cloud-credentials") {
			if !slices.Contains(there, want) {
				t.Errorf("%s: %s is named and not among %v", name, want, there)
			}
		}
		if len(there) != len(named)+1 {
			t.Errorf("%s: %v, named are %v", name, there, named)
		}
	}
}

// The cloud credentials name the subscription and nobody's secret: components sign in with tokens.
func TestCloudCredentialsHaveNoSecret(t *testing.T) {
	for _, obj := range precious().Objects() {
		if secret, ok := obj.(*corev1.Secret); ok && secret.Name == "demo-cloud-credentials" {
			if len(secret.Data) != 2 || string(secret.Data["AZURE_SUBSCRIPTION_ID"]) != "SUB" || string(secret.Data["AZURE_TENANT_ID"]) != "TENANT" {
				t.Errorf("%v", secret.Data)
			}
			return
		}
	}
	t.Error("there are none")
}

// Zones have a pool each, named for it, with the whole number of machines; without zones there is one of the cluster's name.
func TestPools(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*Cluster)
		want   string // name, zone, replicas, subnet and image of each
	}{
		{"no zone", func(*Cluster) {}, "demo  2 SUBNET "},
		{"two zones", func(c *Cluster) { c.Zones = []string{"1", "3"} }, "demo-1 1 2 SUBNET , demo-3 3 2 SUBNET "},
		{"a zone of the pool's", func(c *Cluster) { c.NodePools.AvailabilityZone = "2" }, "demo 2 2 SUBNET "},
		{"a subnet of the pools'", func(c *Cluster) { c.NodePools.SubnetID = "OTHER" }, "demo  2 OTHER "},
		{"an image of the infrastructure", func(c *Cluster) { c.Infra.BootImageID = "BOOT" }, "demo  2 SUBNET BOOT"},
		{"an image of the user's before that", func(c *Cluster) {
			c.Infra.BootImageID, c.NodePools.Image = "BOOT", Image{Publisher: "p", Offer: "o", SKU: "s", Version: "1"}
		}, "demo  2 SUBNET p:o:s:1"},
		{"no machines yet", func(c *Cluster) { c.NodePools.Replicas = 0 }, "demo  0 SUBNET "},
	} {
		c := demo()
		tc.change(c)
		var got []string
		for _, np := range c.Pools() {
			p := np.Spec.Platform.Azure
			image := ""
			if p.Image.ImageID != nil {
				image = *p.Image.ImageID
			} else if m := p.Image.AzureMarketplace; m != nil && m.Publisher != "" {
				image = strings.Join([]string{m.Publisher, m.Offer, m.SKU, m.Version}, ":")
			}
			got = append(got, strings.Join([]string{np.Name, p.AvailabilityZone, fmt.Sprint(*np.Spec.Replicas), p.SubnetID, image}, " "))
			if np.Spec.ClusterName != "demo" || np.Namespace != "clusters" || np.Spec.Release.Image != c.ReleaseImage || np.Spec.Management.UpgradeType != hyperv1.UpgradeTypeReplace {
				t.Errorf("%s: %+v", tc.name, np.Spec)
			}
		}
		if is := strings.Join(got, ", "); is != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, is, tc.want)
		}
	}
}

// A paused cluster has paused pools: machines made meanwhile would be of a cluster that its administrator holds still.
func TestAPauseIsThePoolsToo(t *testing.T) {
	c := demo()
	c.PausedUntil, c.Zones = "2030-01-01T00:00:00Z", []string{"1", "2"}
	if until := c.HostedCluster().Spec.PausedUntil; until == nil || *until != c.PausedUntil {
		t.Errorf("the HostedCluster is paused until %v", until)
	}
	for _, np := range c.Pools() {
		if np.Spec.PausedUntil == nil || *np.Spec.PausedUntil != c.PausedUntil {
			t.Errorf("%s is paused until %v", np.Name, np.Spec.PausedUntil)
		}
	}
	c.PausedUntil = ""
	if c.HostedCluster().Spec.PausedUntil != nil || c.Pools()[0].Spec.PausedUntil != nil {
		t.Error("a cluster that is not paused has an empty time")
	}
}

// The flavours of identities and of publishing exclude each other in the object as in the API.
func TestFlavours(t *testing.T) {
	c := demo()
	c.Identity.ManagedIdentities = &hyperv1.AzureResourceManagedIdentities{}
	p := c.HostedCluster().Spec.Platform.Azure
	if p.AzureAuthenticationConfig.WorkloadIdentities != nil || p.AzureAuthenticationConfig.ManagedIdentities == nil || p.Topology != "" || p.Private != nil {
		t.Errorf("managed: %+v", p)
	}
	c.Publishing = Publishing{EndpointAccess: hyperv1.AzureTopologyPrivate, NATSubnetID: "NAT", AdditionalAllowedSubscriptions: []string{"other"}}
	if p = c.HostedCluster().Spec.Platform.Azure; p.Topology != hyperv1.AzureTopologyPrivate || p.Private == nil || p.Private.PrivateLink.NATSubnetID != "NAT" ||
		!slices.Equal(p.Private.PrivateLink.AdditionalAllowedSubscriptions, []string{"other"}) {
		t.Errorf("managed and private: %+v", p)
	}
	c.KMS = &KMS{VaultName: "v", KeyName: "k", KeyVersion: "1", CredentialsSecretName: "in-the-vault", ClientID: "ID"}
	if kms := c.HostedCluster().Spec.SecretEncryption.KMS.Azure; kms.KMS == nil || kms.KMS.CredentialsSecretName != "in-the-vault" || kms.WorkloadIdentity != nil {
		t.Errorf("a managed key service: %+v", kms)
	}
	c.KMS.CredentialsSecretName = ""
	if kms := c.HostedCluster().Spec.SecretEncryption.KMS.Azure; kms.KMS != nil || kms.WorkloadIdentity == nil || kms.WorkloadIdentity.ClientID != "ID" {
		t.Errorf("a key service by workload identity: %+v", kms)
	}
	c.Networking = Networking{DisableMultiNetwork: true, OVNKubernetesMTU: 1400}
	if o := c.HostedCluster().Spec.OperatorConfiguration; o == nil || o.ClusterNetworkOperator.OVNKubernetesConfig != nil || !*o.ClusterNetworkOperator.DisableMultiNetwork {
		t.Errorf("%+v", o)
	}
	if c.Networking = (Networking{}); c.HostedCluster().Spec.OperatorConfiguration != nil {
		t.Error("a configuration of nothing")
	}
}

// The annotations of a pool tell of a plan and of tags, and there are none without either.
func TestPoolAnnotations(t *testing.T) {
	n := NodePool{Name: "p", Arch: "arm64"}
	if np := n.Object(); len(np.Annotations) != 0 || np.Spec.Platform.Azure.VMSize != "Standard_D4ps_v5" {
		t.Errorf("%v, size %s", np.Annotations, np.Spec.Platform.Azure.VMSize)
	}
	n.Image.Plan, n.Tags = true, map[string]string{"team": "a"}
	if np := n.Object(); np.Annotations[hyperv1.AzureImagePlanAnnotation] != "true" || !strings.Contains(np.Annotations[hyperv1.AzureTagsAnnotation], "team") {
		t.Errorf("%v", np.Annotations)
	}
	n.DiagnosticsURI = "https://a.blob.core.windows.net/"
	if np := n.Object(); np.Spec.Platform.Azure.Diagnostics != nil {
		t.Errorf("diagnostics of no type: %+v", np.Spec.Platform.Azure.Diagnostics)
	}
	n.DiagnosticsType, n.EphemeralDisk = "UserManaged", true
	if p := n.Object().Spec.Platform.Azure; p.Diagnostics.UserManaged.StorageAccountURI != n.DiagnosticsURI || p.OSDisk.Persistence != "Ephemeral" {
		t.Errorf("%+v", p)
	}
}
