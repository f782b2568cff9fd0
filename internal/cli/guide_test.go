package cli

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/cli/clitest"
	"github.com/hypershift-on-azure/hypershift/internal/cli/cluster"
	"github.com/hypershift-on-azure/hypershift/internal/cli/cluster/destroy"
	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// The commands of the guide as people type them; scripts depend on every one.
const (
	guideInstall = `hypershift install \
        --pull-secret ${PULL_SECRET} \
        --limit-crd-install Azure`
	guideInstallDNS = `${HYPERSHIFT_BINARY_PATH}/hypershift install \
        --external-dns-provider=azure \
        --external-dns-credentials ${EXTERNAL_DNS_CREDS_FILE} \
        --pull-secret ${PULL_SECRET} \
        --external-dns-domain-filter ${EXTRN_DNS_ZONE_NAME} \
        --limit-crd-install Azure`
	guideCluster = `${HYPERSHIFT_BINARY_PATH}/hypershift create cluster azure \
        --name "$CLUSTER_NAME" \
        --namespace "$CLUSTER_NAMESPACE" \
        --azure-creds $AZURE_CREDS \
        --location ${LOCATION} \
        --node-pool-replicas 2 \
        --base-domain $PARENT_DNS_ZONE \
        --pull-secret $PULL_SECRET \
        --generate-ssh \
        --release-image ${RELEASE_IMAGE} \
        --resource-group-name "${MANAGED_RG_NAME}" \
        --vnet-id "${GetVnetID}" \
        --subnet-id "${GetSubnetID}" \
        --network-security-group-id "${GetNsgID}" \
        --sa-token-issuer-private-key-path "${SA_TOKEN_ISSUER_PRIVATE_KEY_PATH}" \
        --oidc-issuer-url "${OIDC_ISSUER_URL}" \
        --assign-service-principal-roles \
        --workload-identities-file ./workload-identities.json \
        --diagnostics-storage-account-type Managed`
	guideExternalDNS = ` --external-dns-domain ${EXTRN_DNS_ZONE_NAME} --dns-zone-rg-name ${PERSISTENT_RG_NAME}`
	guideMarketplace = ` --marketplace-publisher azureopenshift \
        --marketplace-offer aro4 \
        --marketplace-sku aro_419 \
        --marketplace-version 419.6.20250523`
	guideNodePool = `${HYPERSHIFT_BINARY_PATH}/hypershift create nodepool azure \
        --cluster-name "$CLUSTER_NAME" \
        --namespace "$CLUSTER_NAMESPACE" \
        --name "${CLUSTER_NAME}-workers" \
        --node-count 3 \
        --azure-instance-type Standard_D4s_v3 \
        --azure-creds $AZURE_CREDS`
	guideKubeconfig = `${HYPERSHIFT_BINARY_PATH}/hypershift create kubeconfig --name $CLUSTER_NAME`
	guideDestroy    = `${HYPERSHIFT_BINARY_PATH}/hypershift destroy cluster azure \
        --name $CLUSTER_NAME \
        --azure-creds $AZURE_CREDS \
        --resource-group-name $MANAGED_RG_NAME`
)

// guide is a folder with the guide's files, its variables, and the Azure that the commands see.
type guide struct {
	vars      map[string]string
	created   *infra.Options
	destroyed *infra.DestroyOptions
}

func newGuide(t *testing.T) *guide {
	t.Helper()
	t.Chdir(t.TempDir())
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	identities := clitest.Inputs(t)
	workload, err := os.ReadFile(identities[5])
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"serviceaccount-signer.private": string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})),
		"workload-identities.json":      string(workload),
		"pull-secret.json":              `{"auths":{}}`,
		"azure_mgmt.json": `{"tenantId":"` + clitest.UUID + `","subscriptionId":"` + clitest.UUID + `","resourceGroup":"persistent",` +
			`"aadClientId":"` + clitest.UUID + `","aadClientSecret":"s"}`,
	} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	group := "/subscriptions/" + clitest.UUID + "/resourceGroups/"
	return &guide{vars: map[string]string{
		"HYPERSHIFT_BINARY_PATH": "./bin", "CLUSTER_NAME": "myprefix-hc", "CLUSTER_NAMESPACE": "clusters", "LOCATION": "eastus",
		"AZURE_CREDS": identities[1], "PULL_SECRET": "pull-secret.json", "EXTERNAL_DNS_CREDS_FILE": "azure_mgmt.json",
		"PARENT_DNS_ZONE": "example.com", "EXTRN_DNS_ZONE_NAME": "myprefix.example.com", "PERSISTENT_RG_NAME": "persistent",
		"RELEASE_IMAGE": "quay.io/openshift-release-dev/ocp-release:4.21.0-x86_64", "MANAGED_RG_NAME": "myprefix-managed-rg",
		"GetVnetID":                        group + "v/providers/Microsoft.Network/virtualNetworks/vnet",
		"GetSubnetID":                      group + "v/providers/Microsoft.Network/virtualNetworks/vnet/subnets/default",
		"GetNsgID":                         group + "n/providers/Microsoft.Network/networkSecurityGroups/nsg",
		"SA_TOKEN_ISSUER_PRIVATE_KEY_PATH": "serviceaccount-signer.private",
		"OIDC_ISSUER_URL":                  "https://myprefixoidc1234567890.blob.core.windows.net/myprefixoidc1234567890",
	}}
}

// words splits a command line as a shell does, but for what the guide does not use, and leaves the program out.
func (g *guide) words(line string) []string {
	line = strings.NewReplacer("\\\n", " ", `"`, "").Replace(line)
	words := strings.Fields(os.Expand(line, func(name string) string { return g.vars[name] }))
	return words[1:]
}

// run executes a command line; Azure's part is replaced.
func (g *guide) run(t *testing.T, line string) (stdout string, err error) {
	t.Helper()
	root := NewRoot()
	replace(root, []string{"create", "cluster"}, cluster.NewCreateAzureCommand(
		func(ctx context.Context, s *azure.Session, o infra.Options, e func(stack.Event)) (*infra.Output, error) {
			g.created = &o
			out, err := clitest.Infra(ctx, s, o, e)
			out.ResourceGroupName, out.VNetID, out.SubnetID, out.SecurityGroupID = o.ResourceGroup, o.VNetID, o.SubnetID, o.NSGID
			return out, err
		}, clitest.Releases{}, nil))
	replace(root, []string{"destroy", "cluster"}, destroy.NewAzureCommand(
		func(_ context.Context, _ *azure.Session, o infra.DestroyOptions, _ func(stack.Event)) error {
			g.destroyed = &o
			return nil
		}, nil))
	var out, messages bytes.Buffer
	root.SetOut(&out)
	root.SetErr(&messages)
	root.SetArgs(g.words(line))
	err = root.ExecuteContext(context.Background())
	if err != nil {
		t.Logf("%s\n%s", line, messages.String())
	}
	return out.String(), err
}

func replace(root *cobra.Command, path []string, with *cobra.Command) {
	parent, _, err := root.Find(path)
	if err != nil {
		panic(err)
	}
	parent.RemoveCommand(parent.Commands()...)
	parent.AddCommand(with)
}

// TestGuideRenders renders every variant of the guide's create and install commands; nothing is reached over the network.
func TestGuideRenders(t *testing.T) {
	g := newGuide(t)
	const nodes = "kind: Secret"
	create := guideCluster + " --render"
	// Generating a key takes a second; two variants do it.
	quick := strings.Replace(create, "--generate-ssh", "", 1)
	for _, tc := range []struct {
		name, line string
		want       []string
		absent     string
	}{
		{"without external DNS", create, []string{"type: LoadBalancer", "storageAccountType: Managed", "azureMarketplace: {}", "name: myprefix-hcsa-token-issuer-key"}, "hostname"},
		{"with external DNS", create + guideExternalDNS, []string{
			"hostname: api-myprefix-hc.myprefix.example.com", "hostname: oauth-myprefix-hc.myprefix.example.com",
			"hostname: konnectivity-myprefix-hc.myprefix.example.com", "hostname: ignition-myprefix-hc.myprefix.example.com"}, "LoadBalancer"},
		{"generation", quick + " --image-generation Gen2", []string{"imageGeneration: Gen2"}, nodes},
		{"marketplace", quick + guideMarketplace, []string{"publisher: azureopenshift", "offer: aro4", "sku: aro_419", "version: 419.6.20250523"}, "imageGeneration"},
		{"marketplace and generation", quick + guideMarketplace + " --image-generation Gen1", []string{"sku: aro_419", "imageGeneration: Gen1"}, nodes},
		{"control-plane operator", quick + " --control-plane-operator-image=quay.io/hypershift/hypershift:tag", []string{
			"hypershift.openshift.io/control-plane-operator-image: quay.io/hypershift/hypershift:tag"}, nodes},
		{"no prefix", quick + " --base-domain-prefix none", []string{`baseDomainPrefix: ""`}, nodes},
		{"prefix", quick + " --base-domain-prefix other", []string{"baseDomainPrefix: other"}, nodes},
		{"zones", quick + " --availability-zones 1,2", []string{"name: myprefix-hc-1", "name: myprefix-hc-2", `availabilityZone: "2"`}, nodes},
		{"install", strings.Replace(guideInstall, "install", "install render --outputs resources", 1), []string{"name: operator", "kind: Deployment"}, "name: external-dns"},
		{"install with external DNS", strings.Replace(guideInstallDNS, "/hypershift install", "/hypershift install render --outputs resources", 1), []string{
			"--domain-filter=myprefix.example.com", "--provider=azure", "--azure-config-file=/etc/provider/credentials"}, "kind: Secret"},
		{"install of another image", strings.Replace(guideInstall, "install", "install render --outputs resources --hypershift-image quay.io/hypershift/hypershift:TAG", 1), []string{
			"image: quay.io/hypershift/hypershift:TAG"}, "name: external-dns"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out, err := g.run(t, tc.line)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range tc.want {
				if !strings.Contains(out, want) {
					t.Errorf("%q is missing in\n%s", want, out)
				}
			}
			if strings.Contains(out, tc.absent) {
				t.Errorf("%q is in\n%s", tc.absent, out)
			}
		})
	}
}

// guideRun executes commands of the guide against a real API server.
type guideRun struct {
	*guide
	t *testing.T
	c client.Client
}

func newGuideRun(t *testing.T) *guideRun {
	t.Helper()
	restConfig := kubetest.Start(t)
	kubetest.InstallRoutes(t, restConfig)
	g := newGuide(t)
	t.Setenv("KUBECONFIG", kubetest.Kubeconfig(t, restConfig, t.TempDir()))
	scheme := runtime.NewScheme()
	_ = clientgoscheme.AddToScheme(scheme)
	_ = hyperv1.AddToScheme(scheme)
	c, err := client.New(restConfig, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return &guideRun{g, t, c}
}

func (g *guideRun) get(namespace, name string, obj client.Object) {
	g.t.Helper()
	if err := g.c.Get(g.t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, obj); err != nil {
		g.t.Fatal(err)
	}
}

func (g *guideRun) must(line string) string {
	g.t.Helper()
	out, err := g.run(g.t, line)
	if err != nil {
		g.t.Fatal(err)
	}
	return out
}

// TestGuideRuns executes the guide's commands one after the other against a real API server.
func TestGuideRuns(t *testing.T) {
	g := newGuideRun(t)
	g.installs()
	hc := g.createsClusters()
	g.readsKubeconfig(hc)

	g.must(guideDestroy)
	if g.destroyed.InfraID != hc.Spec.InfraID || g.destroyed.ResourceGroup != "myprefix-managed-rg" {
		t.Errorf("destroyed %+v", g.destroyed)
	}
	if err := g.c.Get(t.Context(), client.ObjectKeyFromObject(hc), hc); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("the HostedCluster is still there: %v", err)
	}
	g.get("clusters", "second", hc)
	g.get("clusters", "second-pull-secret", &corev1.Secret{})
}

// installs runs the installations; repeating one keeps what the first has made.
func (g *guideRun) installs() {
	g.t.Helper()
	g.must(guideInstall + " --wait-until-crds-established")
	g.must(guideInstallDNS)
	dns := &appsv1.Deployment{}
	g.get("hypershift", "external-dns", dns)
	owner := slices.IndexFunc(dns.Spec.Template.Spec.Containers[0].Args, func(a string) bool { return strings.HasPrefix(a, "--txt-owner-id=") })
	before := dns.Spec.Template.Spec.Containers[0].Args[owner]
	g.must(guideInstallDNS)
	if g.get("hypershift", "external-dns", dns); dns.Spec.Template.Spec.Containers[0].Args[owner] != before {
		g.t.Error("a second installation loses the ownership of the records")
	}
}

// createsClusters makes two clusters and returns the first.
func (g *guideRun) createsClusters() *hyperv1.HostedCluster {
	g.t.Helper()
	g.must(guideCluster)
	if !g.created.AssignRoles || !g.created.PublicZoneOptional || g.created.ResourceGroup != "myprefix-managed-rg" {
		g.t.Errorf("infrastructure %+v", g.created)
	}
	hc := &hyperv1.HostedCluster{}
	g.get("clusters", "myprefix-hc", hc)
	if got := hc.Labels[hyperv1.AutoInfraLabel]; got != hc.Spec.InfraID || got == "" {
		g.t.Errorf("label %q, infrastructure id %q", got, hc.Spec.InfraID)
	}
	if out := g.must(guideNodePool); out != "NodePool myprefix-hc-workers created\n" {
		g.t.Errorf("create nodepool prints %q", out)
	}
	g.must(strings.Replace(guideCluster, "--generate-ssh", "", 1) + guideExternalDNS + guideMarketplace + " --name second --availability-zones 1,3 --image-generation Gen2")
	np := &hyperv1.NodePool{}
	g.get("clusters", "myprefix-hc-workers", np)
	if np.Spec.Platform.Azure.SubnetID != g.vars["GetSubnetID"] || np.Spec.Platform.Azure.VMSize != "Standard_D4s_v3" || *np.Spec.Replicas != 3 {
		g.t.Errorf("node pool %+v", np.Spec)
	}
	g.get("clusters", "second-3", np)
	return hc
}

// readsKubeconfig asks for the kubeconfig of a cluster before and after there is one.
func (g *guideRun) readsKubeconfig(hc *hyperv1.HostedCluster) {
	g.t.Helper()
	if _, err := g.run(g.t, guideKubeconfig); err == nil || !strings.Contains(err.Error(), "doesn't report a kubeconfig") {
		g.t.Errorf("error %v, want one that says that there is no kubeconfig yet", err)
	}
	hc.Status.KubeConfig = &corev1.LocalObjectReference{Name: "admin"}
	if err := g.c.Status().Update(g.t.Context(), hc); err != nil {
		g.t.Fatal(err)
	}
	if err := g.c.Create(g.t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "admin"},
		Data: map[string][]byte{"kubeconfig": []byte(clitest.Kubeconfig)}}); err != nil {
		g.t.Fatal(err)
	}
	if out := g.must(guideKubeconfig); out != clitest.Kubeconfig {
		g.t.Errorf("create kubeconfig prints %q", out)
	}
}

// The guide's shortened examples are no complete commands: they must be refused for what is missing, not run.
func TestGuideShortExamplesAreRefused(t *testing.T) {
	g := newGuide(t)
	for line, cue := range map[string]string{
		`hypershift install --external-dns-provider=azure --external-dns-domain-filter "myprefix.example.com"`:                        "--external-dns-credentials",
		`hypershift create cluster azure --base-domain "example.com" --external-dns-domain "myprefix.example.com" --name "mycluster"`: "--pull-secret is required",
	} {
		if _, err := g.run(t, line); err == nil || !strings.Contains(err.Error(), cue) {
			t.Errorf("%s: error %v, want one that contains %q", line, err, cue)
		}
	}
}
