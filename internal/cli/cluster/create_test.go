package cluster

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cli/azureflags"
	"github.com/hypershift-on-azure/hypershift/internal/cli/clitest"
	"github.com/hypershift-on-azure/hypershift/internal/manifest"
)

func createCluster(args ...string) (stdout string, err error) {
	cmd := NewCreateAzureCommand(clitest.Infra, clitest.Releases{}, nil)
	var out, messages bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&messages)
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err = cmd.ExecuteContext(context.Background())
	return out.String(), err
}

// createRefusals are flags that are refused before anything is asked, with a word of the refusal.
var createRefusals = []struct{ args, cue string }{
	{"", "--name is required"},
	{"--name Demo_", "RFC1123"},
	{"--name demo --wait --node-pool-replicas 0", "--wait requires --node-pool-replicas"},
	{"--name demo --feature-set CustomNoUpgrade", "is not supported"},
	{"--name demo --disable-cluster-capabilities Ingress", "Console"},
	{"--name demo --disable-cluster-capabilities Toaster", "unknown disabled capability"},
	{"--name demo --network-security-group-id /x", "--resource-group-name is required"},
	{"--name demo --assign-service-principal-roles --infra-json f", "cannot be used with --infra-json"},
	{"--name demo --endpoint-access private", "--endpoint-access must be one of"},
	{"--name demo --oauth-publishing-strategy NodePort", "must be either Route or LoadBalancer"},
	{"--name demo --endpoint-access-private-nat-subnet-id x", "is not a valid Azure resource ID"},
	{"--name demo --external-dns-domain example.com", "conflicts with cluster domain"},
	{"--name demo --availability-zones 4", "invalid value for --availability-zone"},
	{"--name demo --marketplace-publisher p", "all marketplace flags"},
	{"--name demo --image-generation gen2", "invalid value for --image-generation"},
	{"--name demo --encryption-at-host yes", "--encryption-at-host has an invalid value"},
	{"--name demo --diagnostics-storage-account-uri https://x", "is applicable only if --diagnostics-storage-account-type"},
	{"--name demo --ssh-key f --generate-ssh", "cannot be specified together"},
	{"--name demo --service-cidr x", "parsing ServiceCIDR"},
	{"--name demo --cluster-cidr x", "parsing ClusterCIDR"},
	{"--name demo --machine-cidr x", "parsing MachineCIDR"},
	{"--name demo --endpoint-access-private-nat-subnet-id /subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v", "must be a subnet resource ID"},
	{"--name demo --machine-cidr 10.132.4.0/24", "overlaps"},
	{"--name demo --pausedUntil tomorrow", "invalid pausedUntil value"},
	{"--name demo --annotations x", "invalid annotation"},
	{"--name demo --toleration colour=red", "invalid toleration cli argument"},
	{"--name demo --encryption-key-id https://v.example.com/keys/a/b", "no domain of a key vault"},
	{"--name demo --etcd-storage-size huge", "--etcd-storage-size"},
	{"--name demo --encryption-key-id https://v.vault.azure.net/keys/a/b", "create iam azure --enable-kms"},
	{"--name demo --infra-id Demo_1", "--infra-id"},
	{"--name demo --namespace Clusters", "--namespace"},
	{"--name demo --base-domain not_a_domain", "--base-domain"},
	{"--name demo --base-domain-prefix a_b", "--base-domain-prefix"},
	{"--name demo --external-dns-domain nodots", "--external-dns-domain"},
	{"--name a-cluster-with-a-name-so-long-that-its-endpoints-have-no-label --external-dns-domain ext.example.org", "konnectivity-"},
	{"--name demo --availability-zones 1,1", "--availability-zones"},
	{"--name demo --root-disk-size 8", "--root-disk-size"},
	{"--name demo --disk-storage-account-type Floppy", "--disk-storage-account-type"},
	{"--name demo --diagnostics-storage-account-type UserManaged --diagnostics-storage-account-uri http://x", "--diagnostics-storage-account-uri"},
	{"--name demo --marketplace-publisher P! --marketplace-offer o --marketplace-sku s --marketplace-version 1.2.3", "--marketplace-publisher"},
	{"--name demo --marketplace-publisher pub --marketplace-offer o --marketplace-sku s --marketplace-version new", "--marketplace-version"},
	{"--name demo --marketplace-purchase-plan", "--marketplace-publisher"},
	{"--name demo --additional-tags azure-team=x", "--additional-tags: tag \"azure-team\""},
	{"--name demo --instance-type big", "--instance-type"},
	{"--name demo --labels a/b/c=d", "invalid label"},
	{"--name demo --annotations a/b/c=d", "invalid annotation"},
	{"--name demo --oidc-issuer-url ftp://x", "--oidc-issuer-url"},
	{"--name demo --vnet-id x", "--vnet-id"},
	{"--name demo --managed-identities-file f --data-plane-identities-file g", "mutually exclusive"},
	{"--name demo --data-plane-identities-file g", "mutually exclusive"},
	{"--name demo --workload-identities-file= --data-plane-identities-file g", "--data-plane-identities-file requires"},
	{"--name demo --workload-identities-file= --managed-identities-file f", "--managed-identities-file requires"},
	{"--name demo --workload-identities-file= --managed-identities-file f --data-plane-identities-file g --oauth-publishing-strategy LoadBalancer", "is not supported for ARO HCP"},
	{"--name demo --workload-identities-file= --managed-identities-file f --data-plane-identities-file g --encryption-key-id https://v.vault.azure.net/keys/a/b", "needs --kms-credentials-secret-name"},
	{"--name demo --kms-credentials-secret-name s", "--kms-credentials-secret-name needs --encryption-key-id"},
	{"--name demo --kms-credentials-secret-name s --encryption-key-id https://v.vault.azure.net/keys/a/b", "is for managed identities"},
	{"--name demo --workload-identities-file= --managed-identities-file f --data-plane-identities-file g", "cannot read --managed-identities-file"},
	{"--name demo --assign-custom-hcp-roles --infra-json f", "cannot be used with --infra-json"},
	{"--name demo --default-dual --service-cidr 10.0.0.0/16", "default-dual service-cidr"},
	{"--name demo --cluster-cidr 10.0.0.0/99", `--cluster-cidr "10.0.0.0/99" is no range`},
	{"--name demo --cluster-cidr fd01::/48", "--cluster-cidr fd01::/48 is IPv6"},
	{"--name demo --cluster-cidr 10.132.4.1/14", "the range is 10.132.0.0/14"},
	{"--name demo --service-cidr 10.0.4.0/24", "--service-cidr 10.0.4.0/24 overlaps 10.0.0.0/16, the addresses of the virtual network"},
	{"--name demo --release-image quay.io/Bad:image:1", "is no reference of an image"},
	{"--name demo --control-plane-operator-image a@b", "--control-plane-operator-image"},
	{"--name demo --release-stream 4-stable-multi", "release-image release-stream"},
	{"--name demo --dry-run", "dry-run render"},
	{"--name demo -o json", "--output says how the result of a run is printed"},
	{"--name demo --render-into absent/cluster.yaml", "--render-into absent/cluster.yaml: there is no folder absent"},
}

func TestCreateClusterRefusals(t *testing.T) {
	for _, tc := range createRefusals {
		t.Run(tc.args, func(t *testing.T) {
			_, err := createCluster(append(clitest.Inputs(t), strings.Fields(tc.args+" --render")...)...)
			if strings.Contains(tc.args, "--wait") {
				_, err = createCluster(append(clitest.Inputs(t), strings.Fields(tc.args)...)...)
			}
			if err == nil || !strings.Contains(err.Error(), tc.cue) {
				t.Errorf("error %v, want one that contains %q", err, tc.cue)
			}
		})
	}
}

// TestCreateClusterChecksInOrder gives two mistakes at a time: the one that is checked first is reported.
func TestCreateClusterChecksInOrder(t *testing.T) {
	const named = "--name demo --pull-secret f "
	for _, tc := range []struct{ args, cue string }{
		{"", "--name is required"},
		{"--name demo --wait", "--pull-secret is required"},
		{"--wait --pull-secret f --name Demo_", "--wait requires"},
		{"--pull-secret f --name Demo_ --arch sparc", "RFC1123"},
		{named + "--arch sparc --feature-set Own", "--arch is not supported"},
		{named + "--feature-set Own --enable-cluster-capabilities Toaster", "--feature-set"},
		{named + "--enable-cluster-capabilities Toaster --kas-dns-name _", "unknown enabled capability"},
		{named + "--kas-dns-name _ --allocate-node-cidrs", "--kas-dns-name"},
		{named + "--allocate-node-cidrs --network-security-group-id /x", "--allocate-node-cidrs"},
		{named + "--network-security-group-id /x --assign-service-principal-roles --infra-json f", "--resource-group-name is required"},
		{named + "--assign-service-principal-roles --infra-json f --endpoint-access private", "cannot be used with --infra-json"},
		{named + "--endpoint-access private --oauth-publishing-strategy NodePort", "--endpoint-access must be one of"},
		{named + "--oauth-publishing-strategy NodePort --endpoint-access-private-nat-subnet-id x", "must be either Route or LoadBalancer"},
		{named + "--endpoint-access-private-nat-subnet-id x --base-domain a.io --external-dns-domain a.io", "is not a valid Azure resource ID"},
		{named + "--base-domain a.io --external-dns-domain a.io --availability-zones 4", "conflicts with cluster domain"},
		{named + "--availability-zones 4 --image-generation gen2", "invalid value for --availability-zone"},
		{named + "--image-generation gen2 --release-image r:1", "invalid value for --image-generation"},
		{named + "--release-image r:1", "--azure-creds is required"},
	} {
		t.Run(tc.cue, func(t *testing.T) {
			_, err := createCluster(strings.Fields(tc.args)...)
			if err == nil || !strings.Contains(err.Error(), tc.cue) {
				t.Errorf("%s: error %v, want one that contains %q", tc.args, err, tc.cue)
			}
		})
	}
}

func TestCreateClusterRenders(t *testing.T) {
	out, err := createCluster(append(clitest.Inputs(t), "--name", "demo", "--infra-id", "demo-abcde", "--render")...)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"kind: HostedCluster", "kind: NodePool", "infraID: demo-abcde", "clientID: " + clitest.UUID} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if strings.Contains(out, "kind: Secret") {
		t.Error("a Secret is rendered without --render-sensitive")
	}
}

// What a file holds is checked before the first cloud resource, too.
func TestCreateClusterRefusesWrongFiles(t *testing.T) {
	for _, tc := range []struct{ flag, content, cue string }{
		{"--pull-secret", "token", "is no dockerconfigjson"},
		{"--pull-secret", `{"kind":"Secret"}`, "is no dockerconfigjson"},
		{"--ssh-key", "-----BEGIN OPENSSH PRIVATE KEY-----", "is no public key"},
		{"--additional-trust-bundle", "cert", "is no PEM"},
		{"--sa-token-issuer-private-key-path", "-----BEGIN PUBLIC KEY-----\nAA==\n-----END PUBLIC KEY-----\n", "is no RSA private key"},
		{"--sa-token-issuer-private-key-path", "", "is empty"},
		{"--workload-identities-file", "{}", "imageRegistry.clientID"},
		{"--azure-creds", "{}", "subscriptionId"},
		{"--image-content-sources", "- mirror: x", "--image-content-sources"},
		{"--encryption-key-file", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n", "neither base64"},
		{"--restore-snapshot-url-file", "https://a.blob.core.windows.net/b/c?sig=secret", "needs the key"},
	} {
		t.Run(tc.flag+" "+tc.cue, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(file, []byte(tc.content), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := createCluster(append(clitest.Inputs(t), "--name", "demo", "--render", "--oidc-issuer-url", "https://issuer.example.com", tc.flag, file)...)
			if err == nil || !strings.Contains(err.Error(), tc.cue) {
				t.Errorf("error %v, want one that contains %q", err, tc.cue)
			}
		})
	}
}

// A second run must not replace the key that the living cluster's Secrets are encrypted with.
func TestApplyKeepsGeneratedKeys(t *testing.T) {
	ctx := context.Background()
	c := clitest.Client()
	apply := func(key string) {
		r := resolved{typed: typed{generateSSH: true}, client: c}
		r.cluster.Name, r.cluster.Namespace, r.cluster.Infra.InfraID = "demo", "clusters", "demo-abcde"
		r.cluster.Secrets.PullSecret = []byte("{}")
		r.cluster.Secrets.EtcdEncryptionKey = []byte(key)
		r.cluster.Secrets.SSHPublicKey, r.cluster.Secrets.SSHPrivateKey = []byte("pub"+key), []byte("priv"+key)
		creator := &creation{say: func(string, ...any) {}, record: &azureflags.HandoffFile{}}
		p, err := creator.plan(ctx, r, r.cluster)
		if err == nil {
			_, err = creator.apply(ctx, r, p)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	apply("first")
	apply("second")
	for name, want := range map[string]string{"demo-etcd-encryption-key/key": "first", "demo-ssh-key/id_rsa": "privfirst", "demo-ssh-key/id_rsa.pub": "pubfirst"} {
		object, key, _ := strings.Cut(name, "/")
		secret := &corev1.Secret{}
		if err := c.Get(ctx, client.ObjectKey{Namespace: "clusters", Name: object}, secret); err != nil {
			t.Fatal(err)
		}
		if got := string(secret.Data[key]); got != want {
			t.Errorf("%s is %q after the second run, want %q", name, got, want)
		}
		if secret.Labels[hyperv1.AutoInfraLabel] != "demo-abcde" {
			t.Errorf("%s does not carry the infrastructure id", object)
		}
	}
}

func TestExistingCluster(t *testing.T) {
	hc := &hyperv1.HostedCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "demo"}, Spec: hyperv1.HostedClusterSpec{InfraID: "demo-abcde"},
	}
	for _, tc := range []struct {
		infraID string
		refused bool
	}{{"", true}, {"demo-other", true}, {"demo-abcde", false}} {
		creator := &creation{say: func(string, ...any) {}}
		_, err := creator.findCluster(context.Background(), clitest.Client(hc), manifest.Cluster{Name: "demo", Namespace: "clusters"}, tc.infraID)
		if (err != nil) != tc.refused {
			t.Errorf("--infra-id %q: %v, refused should be %v", tc.infraID, err, tc.refused)
		}
		if err != nil && !strings.Contains(err.Error(), "already exists") {
			t.Errorf("error %v does not say that the cluster already exists", err)
		}
	}
}

// An output that does not fit is refused; one that does is used as it is, also by a dry run.
func TestInfraJSON(t *testing.T) {
	const complete = `{"baseDomain":"example.com","region":"westus","infraID":"demo-abcde","resourceGroupName":"rg","securityGroupID":"NSG",
		"vnetID":"V","subnetID":"S","privateZoneID":"/x/privateDnsZones/demo.example.com"}`
	for _, tc := range []struct{ name, content, args, want, cue string }{
		{"used", complete, "--render", "location: westus", ""},
		{"dry run", complete, "--dry-run --render", "", "none of the others can be"},
		{"incomplete", `{"infraID":"demo-abcde"}`, "--render", "", "has no region"},
		{"another id", complete, "--render --infra-id other", "", "differs from infraID"},
		{"another prefix", complete, "--render --base-domain-prefix other", "", "private zone of --infra-json is demo.example.com"},
		{"another domain", strings.Replace(complete, "example.com", "example.org", 1), "--render", "baseDomain: example.org", ""},
		{"no file", "", "--render", "", "--infra-json"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "infra.yaml")
			if tc.content != "" {
				if err := os.WriteFile(file, []byte(tc.content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			out, err := createCluster(append(clitest.Inputs(t), strings.Fields("--name demo --infra-json "+file+" "+tc.args)...)...)
			if tc.cue == "" && (err != nil || !strings.Contains(out, tc.want)) {
				t.Errorf("error %v; %q is missing in\n%s", err, tc.want, out)
			}
			if tc.cue != "" && (err == nil || !strings.Contains(err.Error(), tc.cue)) {
				t.Errorf("error %v, want one that contains %q", err, tc.cue)
			}
		})
	}
}

func TestProgressNamesTheCause(t *testing.T) {
	hc, np := clitest.HostedCluster("demo", false), &hyperv1.NodePool{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "demo"}}
	np.Spec.ClusterName, np.Spec.Replicas = "demo", new(int32(2))
	for _, step := range []struct {
		change func()
		want   string
		done   bool
	}{
		{func() {}, "not reported yet", false},
		{func() {
			hc.Status.Conditions = []metav1.Condition{{Type: hyperv1.HostedClusterAvailable, Status: "False", Message: "etcd has no quorum"}}
		}, "etcd has no quorum", false},
		{func() {
			hc.Status.Conditions = append(hc.Status.Conditions, metav1.Condition{Type: hyperv1.ValidReleaseImage, Status: "False", Reason: "PullFailed", Message: "401"})
		}, "PullFailed: 401", false},
		{func() {
			hc.Status.Conditions = []metav1.Condition{{Type: hyperv1.HostedClusterAvailable, Status: "True"}}
			np.Status.Conditions = []hyperv1.NodePoolCondition{{Type: hyperv1.NodePoolAllMachinesReady, Status: "False", Reason: "Provisioning", Message: "403 on the subnet"}}
		}, "0 of 2 nodes are ready; NodePool demo: Provisioning: 403 on the subnet", false},
		{func() { np.Status.Replicas = 2 }, "rollout of the release is not complete", false},
		{func() {
			now := metav1.Now()
			hc.Status.Version = &hyperv1.ClusterVersionStatus{History: []hyperv1.UpdateHistory{{CompletionTime: &now}}}
		}, "available with 2 nodes", true},
	} {
		step.change()
		state, done, err := progressOf(context.Background(), clitest.Client(hc, np), manifest.Cluster{Name: "demo", Namespace: "clusters"})
		if err != nil || done != step.done || !strings.Contains(state, step.want) {
			t.Errorf("%q, %v, %v; want %q, %v", state, done, err, step.want, step.done)
		}
	}
}

// Host names beneath --external-dns-domain need somebody who publishes them.
func TestExternalDNSIsMissed(t *testing.T) {
	publisher := func(filter string) client.Object {
		return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "hypershift", Name: "external-dns"},
			Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Args: []string{"--domain-filter=" + filter}}}}}}}
	}
	for _, tc := range []struct {
		name, domain string
		objs         []client.Object
		want         string
	}{
		{"no domain", "", nil, ""},
		{"published", "ext.example.com", []client.Object{publisher("ext.example.com")}, ""},
		{"published from above", "ext.example.com", []client.Object{publisher("example.com")}, ""},
		{"nobody", "ext.example.com", nil, "api-demo.ext.example.com"},
		{"another domain", "ext.example.com", []client.Object{publisher("example.org")}, "example.org"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var said []string
			c := &creation{say: func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }}
			cluster := manifest.Cluster{Name: "demo", Publishing: manifest.Publishing{ExternalDNSDomain: tc.domain}}
			c.warnUnpublished(context.Background(), clitest.Client(tc.objs...), cluster)
			if got := strings.Join(said, "\n"); !strings.Contains(got, tc.want) || tc.want == "" && got != "" {
				t.Errorf("says %q, want %q", got, tc.want)
			}
		})
	}
}
