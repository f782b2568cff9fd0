package controlplane

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/apiserver"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/cloudprovider"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/controllermanager"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/etcd"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/planetest"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
)

func mustContain(t *testing.T, args []string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !slices.Contains(args, w) {
			t.Errorf("argument %s is missing from\n%s", w, strings.Join(args, "\n"))
		}
	}
}

func TestAPIServerArguments(t *testing.T) {
	hcp := planetest.Plane()
	mustContain(t, apiserver.Args(planetest.View(hcp)),
		"--advertise-address=172.20.0.1", "--endpoint-reconciler-type=none", "--service-cluster-ip-range=172.31.0.0/16",
		"--service-account-issuer=https://acct.blob.core.windows.net/demo", "--api-audiences=https://acct.blob.core.windows.net/demo",
		"--service-account-jwks-uri=https://acct.blob.core.windows.net/demo/openid/v1/jwks",
		"--etcd-servers=https://etcd-client.clusters-demo.svc:2379", "--authorization-mode=Node,RBAC",
		"--kubelet-preferred-address-types=InternalIP", "--goaway-chance=0", "--shutdown-delay-duration=70s",
		"--egress-selector-config-file=/etc/kubernetes/config/egress/config.yaml", "--audit-policy-file=/etc/kubernetes/config/audit/policy.yaml")
	hcp.Spec.ControllerAvailabilityPolicy = hyperv1.HighlyAvailable
	hcp.Annotations = map[string]string{"hypershift.openshift.io/kube-apiserver-max-requests-inflight": "7"}
	address := "10.9.9.9"
	hcp.Spec.Networking.APIServer = &hyperv1.APIServerNetworking{AdvertiseAddress: &address}
	mustContain(t, apiserver.Args(planetest.View(hcp)), "--goaway-chance=0.001", "--max-requests-inflight=7", "--advertise-address=10.9.9.9")
}

func TestEtcdArguments(t *testing.T) {
	hcp := planetest.Plane()
	mustContain(t, etcd.Args(planetest.View(hcp)), "--initial-cluster=etcd-0=https://etcd-0.etcd-discovery.clusters-demo.svc:2380", "--client-cert-auth=true",
		"--peer-client-cert-auth=true", "--quota-backend-bytes=8589934592")
	for _, arg := range etcd.Args(planetest.View(hcp)) {
		if strings.Contains(arg, "fsync") {
			t.Errorf("%s: etcd of a hosted cluster always syncs", arg)
		}
	}
	hcp.Spec.ControllerAvailabilityPolicy = hyperv1.HighlyAvailable
	mustContain(t, etcd.Args(planetest.View(hcp)), "--initial-cluster=etcd-0=https://etcd-0.etcd-discovery.clusters-demo.svc:2380,"+
		"etcd-1=https://etcd-1.etcd-discovery.clusters-demo.svc:2380,etcd-2=https://etcd-2.etcd-discovery.clusters-demo.svc:2380")
}

func TestControllerManagerArguments(t *testing.T) {
	view := planetest.View(planetest.Plane())
	mustContain(t, controllermanager.Args(view), "--allocate-node-cidrs=true", "--cluster-cidr=10.132.0.0/14", "--node-cidr-mask-size=23",
		"--cluster-signing-duration=17520h", "--controllers=*,-ttl,-bootstrapsigner,-tokencleaner,selinux-warning-controller")
	view.Images["cluster-network-operator"] = "x"
	mustContain(t, controllermanager.Args(view), "--allocate-node-cidrs=false")
}

func TestCloudConfig(t *testing.T) {
	hcp := planetest.Plane()
	text, err := cloudprovider.Config(hcp, false)
	if err != nil {
		t.Fatal(err)
	}
	var config map[string]any
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{
		"cloud": "AzurePublicCloud", "tenantId": "tenant", "subscriptionId": "subscription", "location": "eastus", "resourceGroup": "demo", "vnetName": "vnet", "vnetResourceGroup": "net", "subnetName": "default",
		"securityGroupName": "nsg", "securityGroupResourceGroup": "nsgs", "routeTableName": "", "loadBalancerSku": "standard", "loadBalancerName": "demo-x1",
		"useFederatedWorkloadIdentityExtension": true, "aadFederatedTokenFile": "/var/run/secrets/openshift/serviceaccount/token",
		"aadClientId": "11111111-2222-4333-8444-555555555555", "aadClientSecret": "", "useManagedIdentityExtension": false,
		"cloudProviderBackoffDuration": float64(6), "clusterServiceLoadBalancerHealthProbeMode": "shared", "vmType": "standard",
	} {
		if got, ok := config[key]; !ok || got != want {
			t.Errorf("%s = %v, want %v", key, got, want)
		}
	}
	if _, there := config["clusterServiceSharedLoadBalancerHealthProbePort"]; there {
		t.Error("the probe's port is written without annotation")
	}
	for annotation, value := range map[string]string{
		"hypershift.openshift.io/azure-load-balancer-health-probe-mode": "sometimes", "hypershift.openshift.io/shared-load-balancer-health-probe-port": "70000",
		"hypershift.openshift.io/azure-additional-tags": "team",
	} {
		hcp.Annotations = map[string]string{annotation: value}
		if _, err := cloudprovider.Config(hcp, false); err == nil {
			t.Errorf("%s=%s passes", annotation, value)
		}
	}
}

// TestCloudConfigHasTheTags: the cloud provider puts them on load balancers and public addresses; nodes make nothing.
func TestCloudConfigHasTheTags(t *testing.T) {
	hcp := planetest.Plane()
	hcp.Annotations = map[string]string{"hypershift.openshift.io/azure-additional-tags": "team=blue, cost centre=12"}
	for forNodes, want := range map[bool]map[string]string{false: {"team": "blue", "cost centre": "12"}, true: nil} {
		text, err := cloudprovider.Config(hcp, forNodes)
		if err != nil {
			t.Fatal(err)
		}
		var config struct {
			TagsMap map[string]string `json:"tagsMap"`
		}
		if err := json.Unmarshal([]byte(text), &config); err != nil || !maps.Equal(config.TagsMap, want) {
			t.Errorf("for nodes %v: %v, %v", forNodes, config.TagsMap, err)
		}
	}
}

// TestCloudConfigHasTheRegistrysIdentity: kubelets pull with it, and nothing else does.
func TestCloudConfigHasTheRegistrysIdentity(t *testing.T) {
	hcp := planetest.Plane()
	hcp.Spec.Platform.Azure.ContainerRegistry = &hyperv1.AzureContainerRegistry{Credentials: &hyperv1.AzureRegistryCredentials{
		Type: "ManagedIdentity", ManagedIdentity: &hyperv1.AzureRegistryIdentity{ResourceID: "/subscriptions/s/pulls"}}}
	for forNodes, want := range map[bool]any{false: nil, true: "/subscriptions/s/pulls"} {
		text, err := cloudprovider.Config(hcp, forNodes)
		if err != nil {
			t.Fatal(err)
		}
		var config map[string]any
		if err := json.Unmarshal([]byte(text), &config); err != nil || config["userAssignedIdentityID"] != want {
			t.Errorf("for nodes %v: %v, %v", forNodes, config["userAssignedIdentityID"], err)
		}
	}
}

func TestRoutes(t *testing.T) {
	hcp := planetest.Plane()
	hosts := map[string]string{}
	for _, obj := range publish.Objects(hcp, "apps.mgmt.hypershift.test") {
		if u, ok := obj.(interface{ UnstructuredContent() map[string]any }); ok {
			hosts[obj.GetName()], _ = u.UnstructuredContent()["spec"].(map[string]any)["host"].(string)
		}
	}
	if len(hosts) != 2 || hosts["ignition-server"] != "ignition-server-clusters-demo.apps.mgmt.hypershift.test" ||
		hosts["konnectivity-server"] != "konnectivity-server-clusters-demo.apps.mgmt.hypershift.test" {
		t.Errorf("routes %v", hosts)
	}
	hcp.Spec.Services[0].ServicePublishingStrategy = hyperv1.ServicePublishingStrategy{Type: hyperv1.Route,
		Route: &hyperv1.RoutePublishingStrategy{Hostname: "api-demo.hypershift.test"}}
	for _, obj := range publish.Objects(hcp, "") {
		if obj.GetName() == publish.APIServerLoadBalancer {
			t.Error("an API server published by Route has a load balancer")
		}
	}
}

func TestWorkloadIdentityWebhook(t *testing.T) {
	view := planetest.View(planetest.Plane())
	containers := func() map[string]corev1.Container {
		found := map[string]corev1.Container{}
		objects, err := apiserver.Component(publish.Endpoints{}).Objects(view)
		if err != nil {
			t.Fatal(err)
		}
		for _, obj := range objects {
			if d, ok := obj.(*appsv1.Deployment); ok {
				for _, c := range d.Spec.Template.Spec.Containers {
					found[c.Name] = c
				}
			}
		}
		return found
	}
	if _, there := containers()["azure-workload-identity-webhook"]; there {
		t.Error("there is a webhook although the payload has none")
	}
	view.Images["azure-workload-identity-webhook"] = "quay.io/webhook"
	webhook := containers()["azure-workload-identity-webhook"]
	mustContain(t, webhook.Command, "--audience=api://AzureADTokenExchange", "--health-addr=:9440", "--metrics-addr=:9441", "--disable-cert-rotation")
	want := []corev1.EnvVar{{Name: "AZURE_TENANT_ID", Value: "tenant"}, {Name: "AZURE_ENVIRONMENT", Value: "AzurePublicCloud"}}
	if !slices.Equal(webhook.Env, want) {
		t.Errorf("environment %v", webhook.Env)
	}
	view.HCP.Spec.Platform = hyperv1.PlatformSpec{Type: hyperv1.NonePlatform}
	if _, there := containers()["azure-workload-identity-webhook"]; there {
		t.Error("there is a webhook although the platform is not Azure")
	}
}

// TestTuningAnnotations: each of them is an argument, or a variable, of kube-apiserver.
func TestTuningAnnotations(t *testing.T) {
	hcp := planetest.Plane()
	hcp.Annotations = map[string]string{
		hyperv1.KubeAPIServerMaxInFlightAnnotation: "7", hyperv1.KubeAPIServerMaxMutatingAnnotation: "8", hyperv1.KubeAPIServerVerbosityAnnotation: "9",
		hyperv1.KubeAPIServerGoAwayChanceAnnotation: "0.02", hyperv1.KubeAPIServerTokenExpirationAnnotation: "48h",
		hyperv1.KubeAPIServerGOGCAnnotation: "55", hyperv1.KubeAPIServerGOMemLimitAnnotation: "1GiB", hyperv1.KonnectivityServerImageAnnotation: "mine:1",
	}
	mustContain(t, apiserver.Args(planetest.View(hcp)), "--max-requests-inflight=7", "--max-mutating-requests-inflight=8", "--v=9", "--goaway-chance=0.02",
		"--service-account-max-token-expiration=48h")
	objects, err := apiserver.Component(publish.Endpoints{}).Objects(planetest.View(hcp))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(objects)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`{"name":"GOGC","value":"55"}`, `{"name":"GOMEMLIMIT","value":"1GiB"}`, `"image":"mine:1"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s is missing", want)
		}
	}
}

// TestNodeRanges: who allocates them, and how large they are.
func TestNodeRanges(t *testing.T) {
	view := planetest.View(planetest.Plane())
	networking := &view.HCP.Spec.Networking
	networking.ClusterNetwork = append(networking.ClusterNetwork, hyperv1.ClusterNetworkEntry{CIDR: "fd01::/48", HostPrefix: 60})
	mustContain(t, controllermanager.Args(view), "--node-cidr-mask-size-ipv4=23", "--node-cidr-mask-size-ipv6=60", "--allocate-node-cidrs=true")
	disabled, enabled := hyperv1.AllocateNodeCIDRsDisabled, hyperv1.AllocateNodeCIDRsEnabled
	networking.AllocateNodeCIDRs = &disabled
	mustContain(t, controllermanager.Args(view), "--allocate-node-cidrs=false")
	// The payload's own plugin reads them.
	networking.NetworkType = hyperv1.OVNKubernetes
	mustContain(t, controllermanager.Args(view), "--allocate-node-cidrs=true")
	networking.NetworkType, networking.AllocateNodeCIDRs = hyperv1.OtherNetwork, &enabled
	mustContain(t, controllermanager.Args(view), "--allocate-node-cidrs=true")
}
