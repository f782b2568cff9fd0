package explain

import (
	"regexp"
	"slices"
	"strings"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/survey"
)

// Case is a row of the table: how a trouble is known, what its cause is, and what to do. In Next, words in braces stand for the cluster's own.
type Case struct {
	ID string
	// Symptom is how a person would call it.
	Symptom string
	// Where are the conditions, or the stages of machines, in which it shows; podTrouble is that of pods. Empty means anywhere.
	Where []string
	// Words are in the message, its reason or the evidence; nil means any.
	Words *regexp.Regexp
	Cause string
	Next  []string
}

// podTrouble stands for findings about pods.
const podTrouble = "Pod"

const (
	verifyAzure     = "`hypershift verify azure --azure-creds FILE --oidc-issuer-url {issuer} --workload-identities-file FILE` says which credential, role or document is wrong"
	createIAM       = "`hypershift create iam azure --name {cluster} --infra-id {infra-id} --oidc-issuer-url {issuer} --resource-group-name GROUP --azure-creds FILE --output-file FILE` writes what is missing again, and changes nothing else"
	assignRoles     = "`hypershift create infra azure … --assign-identity-roles` gives the identities their roles again; `hypershift verify azure` says which one is missing"
	logsOf          = "`kubectl -n {control-plane} logs {object} --all-containers --previous` has what the program said before it ended"
	describePod     = "`kubectl -n {control-plane} describe pod {object}`"
	editPool        = "a machine cannot be changed: give the pool what is right (`kubectl -n {namespace} edit nodepool {pool}`), or make another pool with `hypershift create nodepool azure`"
	reachIgnition   = "the pool's subnet must reach {ignition} (configuration), {api} (API server) and the konnectivity endpoint: `az network nsg show --ids {nsg} --query securityRules -o table`, `az network route-table list -o table`"
	bootDiagnostics = "boot diagnostics of the virtual machine have its console: `az vm boot-diagnostics get-boot-log --resource-group {group} --name {vm}`"
	operatorLogs    = "`kubectl -n {operator} logs deployment/operator` has each pass with its error"
)

// machineStages are those of machines that are not nodes yet.
var machineStages = []string{survey.Asked, survey.Creating, survey.Failed, survey.Booting, survey.Joined, survey.Deleting}

func words(pattern string) *regexp.Regexp { return regexp.MustCompile(`(?i)` + pattern) }

// cases in the order in which they are tried: what says most comes first.
var cases = []Case{
	{"issuer-unreachable", "Cluster creation fails with authentication errors: Entra cannot read the issuer", nil, words(`AADSTS50166|openid-configuration.*(40[34]|not found|no such host)`),
		"Entra cannot read the issuer's documents, which everybody must be able to read", []string{"`curl -s {issuer}/.well-known/openid-configuration` must answer from anywhere", verifyAzure}},
	{"federated-credential", "Cluster creation fails with authentication errors: no federated credential matches", nil, words(`AADSTS70021[0-9]*|AADSTS70025|no matching federated identity`),
		"the identity has no federated credential, or none with exactly this issuer, subject and audience", []string{verifyAzure, createIAM}},
	{"sign-in", "Cluster creation fails with authentication errors: an identity gets no token", nil, words(`AADSTS[0-9]+|invalid_client|identity \S+ cannot sign in`),
		"Entra refuses to sign an identity of the cluster in", []string{verifyAzure}},
	{"authorization", "An identity may not do what it has to", nil, words(`AuthorizationFailed|LinkedAuthorizationFailed|does not have authorization`),
		"the identity has lost its role, or a deny assignment is over it", []string{assignRoles}},
	{"quota", "Machines are not made: quota", nil, words(`QuotaExceeded|exceeding approved|cores quota|quota of cores`),
		"the subscription's quota of cores in the location is used up", []string{"`az vm list-usage --location {location} -o table` shows what is left; ask Azure for more, or scale down", editPool}},
	{"capacity", "Machines are not made: the location has no capacity", nil, words(`SkuNotAvailable|AllocationFailed|OverconstrainedAllocation`),
		"Azure has no machine of this size left there, or does not sell it to the subscription", []string{"`az vm list-skus --location {location} --size {size} -o table` shows where it is to be had", editPool}},
	{"vm-size", "Machines are not made: there is no such size", machineStages, words(`vmSize|InvalidParameter.*size|is not a valid.*size|VMSize`),
		"the location does not have the size of spec.platform.azure.vmSize", []string{"`az vm list-sizes --location {location} -o table` lists those that it has", editPool}},
	{"subnet", "Machines are not made: the subnet is not there", machineStages, words(`(subnet|virtualNetwork)[^;]*(not found|notfound|could not be found|does not exist)|InvalidResourceReference.*(subnet|virtualNetwork)|SubnetIsFull`),
		"the subnet of spec.platform.azure.subnetID is not there, or has no address left", []string{"`az network vnet subnet show --ids {subnet}` with the pool's subnet", "the subnet of a pool cannot be changed: make another pool with `hypershift create nodepool azure --nodepool-subnet-id`, and destroy this one"}},
	{"marketplace-terms", "Machines are not made: terms of an image", nil, words(`MarketplacePurchaseEligibilityFailed|ResourcePurchaseValidationFailed|accept.*terms|legal terms`),
		"the terms of the Marketplace image are not accepted in the subscription", []string{"`az vm image terms accept --urn {urn}`"}},
	{"policy", "Azure's policy denies a resource", nil, words(`RequestDisallowedByPolicy`),
		"a policy of the subscription denies the resource", []string{"the evidence names the policy: have it exempt resource group {group}, or give the resource what it asks for (tags, sizes, locations)"}},
	{"locked", "Something is not deleted: a lock", nil, words(`ScopeLocked`),
		"a lock of Azure's keeps the resource", []string{"`az lock list --resource-group {group} -o table` shows it; `az lock delete` lets the deletion go on by itself"}},
	{"resource-group", "Machines are not made: their resource group is gone", nil, words(`ResourceGroupNotFound|ResourceGroupBeingDeleted`),
		"the cluster's resource group is not there", []string{"`az group show --name {group}`; `hypershift create infra azure` with the cluster's --infra-id makes what is missing"}},
	{"azure-slow", "Machines are not made: Azure does not answer in time", machineStages, words(`context deadline exceeded|Client\.Timeout|i/o timeout|TLS handshake timeout`),
		"a request to Azure has no answer in time; Cluster API's provider repeats it", []string{"https://azure.status.microsoft says whether the region is in trouble", "the management cluster must reach management.azure.com and login.microsoftonline.com: its proxy, firewall and DNS"}},
	{"vm-deleted", "A node disappeared", machineStages, words(`VMDeleted|VMNotFound|virtual machine is gone|VM with provider id "[^"]*" has been deleted`),
		"somebody deleted the virtual machine in Azure", []string{"`kubectl -n {control-plane} delete machine {object}` has it replaced; a pool with `spec.management.autoRepair` does so itself"}},

	{"pod-unschedulable", "Control plane pods are Pending", []string{podTrouble}, words(`cannot be scheduled`),
		"no node of the management cluster takes the pod", []string{describePod + " says what it asks for; `kubectl describe nodes` what is left", "a control plane needs about 4 CPU and 8 GiB: add a node to the management cluster"}},
	{"pod-image", "Control plane pods do not start: image", []string{podTrouble}, words(`ErrImagePull|ImagePullBackOff|InvalidImageName|ErrImageNeverPull`),
		"the management cluster cannot pull the image", []string{describePod + " names image and refusal; check the pull secret, the registry's certificate and `--registry-overrides` of `hypershift install`"}},
	{"pod-config", "Control plane pods do not start: configuration", []string{podTrouble}, words(`CreateContainerConfigError|CreateContainerError|FailedMount`),
		"a Secret, ConfigMap or volume that the pod needs is not there", []string{describePod, operatorLogs}},
	{"pod-crash", "Control plane pods are in CrashLoopBackOff", []string{podTrouble}, words(`ends with \d+|CrashLoopBackOff`),
		"the program ends as soon as it starts", []string{logsOf}},
	{"pod-not-ready", "Control plane pods run and are not ready", []string{podTrouble}, words(`is not ready`),
		"the program runs and does not serve", []string{"`kubectl -n {control-plane} logs {object} --all-containers`", describePod + " has what its probe sees"}},

	{"machine-trust", "Workers do not join: certificates", machineStages, words(`node-trust\.service is failed`),
		"the machine cannot read certificates of spec.additionalTrustBundle", []string{"look at the ConfigMap that the HostedCluster's spec.additionalTrustBundle names"}},
	{"machine-image", "Workers do not join: they cannot pull", machineStages, words(`kubelet-fetch\.service`),
		"the machine cannot pull the kubelet's image", []string{"registry, proxy, network security group and pull secret, as the machine's network sees them"}},
	{"machine-name", "Workers do not join: no metadata service", machineStages, words(`node-name\.service`),
		"the machine does not reach Azure's metadata service, which tells its name", []string{"the image's network, a firewall of its own"}},
	{"machine-resolver", "Workers do not join: name servers", machineStages, words(`name servers that pods can reach`),
		"the image's list of name servers has only stubs", []string{"`/etc/resolv.conf` of the image, or `resolvConf` of a KubeletConfig"}},
	{"machine-runtime", "Workers do not join: container runtime", machineStages, words(`containerd (does not|is)|containerd\.service is failed`),
		"the container runtime does not do what the kubelet needs", []string{"a MachineConfig that writes `/etc/containerd/config.toml`, or an image without containerd"}},
	{"machine-network", "Nodes are not ready: no network", machineStages, words(`/etc/cni/net\.d has no network|cni plugin not initialized|NetworkPluginNotReady`),
		"the network's pods of the hosted cluster do not run on the node", []string{"`hypershift create kubeconfig {cluster} --output-file FILE`, then `kubectl --kubeconfig FILE get pods --all-namespaces -o wide`"}},
	{"machine-says", "Workers do not join: they say why", machineStages, words(`the machine says:`),
		"the machine tells what keeps it", []string{"docs/nodes.md, \"A machine that stays out\", says what its words mean"}},
	{"provisioning-timeout", "Machines are made and given up", machineStages, words(`OSProvisioningTimedOut|ProvisioningTimeout|given the virtual machine up`),
		"the virtual machine never told Azure that it is provisioned: it has not got its configuration, or its image has no agent that tells", []string{reachIgnition,
			"an image of your own must have what docs/nodes.md lists; " + bootDiagnostics}},
	{"ignition-not-reached", "Workers do not join: network or network security group", []string{survey.Booting, survey.Creating}, words(`ignitionNotReached|asked for its configuration`),
		"no machine has reached the ignition endpoint: a rule of a network security group, a route, a firewall or DNS is in between, or the image has no Ignition",
		[]string{reachIgnition, bootDiagnostics}},
	{"machine-booting", "Workers do not join: they have their configuration", []string{survey.Booting}, nil,
		"the virtual machine runs and its kubelet has not registered", []string{"wait some minutes after its start; then the subnet must reach {api}", bootDiagnostics}},
	{"node-not-ready", "Nodes are not ready", []string{survey.Joined}, nil,
		"the kubelet says that the node is not ready", []string{"`hypershift create kubeconfig {cluster} --output-file FILE`, then `kubectl --kubeconfig FILE describe nodes`"}},
	{"machine-failed", "Machines are not made: Azure refuses", []string{survey.Failed}, nil,
		"Azure refuses the virtual machine, in the words of the evidence", []string{editPool}},
	{"machine-creating", "Machines are being made", []string{survey.Creating}, nil,
		"Azure is making the virtual machine", []string{"wait; `hypershift status {cluster} --watch` shows how it goes on"}},
	{"provider-silent", "Machines are not made: nobody says why", []string{survey.Asked}, nil,
		"Azure's provider has said nothing yet; it looks sizes up and signs in first, and tells of that only in its log", []string{"`kubectl -n {control-plane} logs deployment/capi-provider`"}},
	{"machine-leaving", "Machines do not go", []string{survey.Deleting}, nil,
		"the machine is drained, then deleted in Azure", []string{"a PodDisruptionBudget or a pod that does not end holds the drain up: `spec.nodeDrainTimeout` of the pool bounds it"}},

	{"external-dns", "DNS: the API server's name does not resolve", []string{hyperv1.ExternalDNSReachable}, nil,
		"the record of the API server is not written, or not known everywhere yet",
		[]string{"`kubectl -n {operator} logs deployment/external-dns` has what Azure answered; its principal needs role DNS Zone Contributor on the zone", "`az network dns record-set list --resource-group GROUP --zone-name ZONE -o table`, and the zone's delegation in its parent: `hypershift verify azure --dns-zone-name ZONE --dns-zone-rg-name GROUP`"}},
	{"ignition-dns", "DNS: the ignition server's name does not resolve", []string{hyperv1.NodePoolIgnitionEndpointAvailable}, words(`does not resolve`),
		"the record of the ignition endpoint is not written, or not known everywhere yet", []string{"`kubectl -n {operator} logs deployment/external-dns` has what Azure answered", "`kubectl -n {control-plane} get routes,services` has the names and addresses that a record is for"}},
	{"apps-dns", "DNS: applications cannot be reached by name", []string{hyperv1.IngressDNSReady}, nil,
		"the record of the applications' domain does not lead to the default router", []string{assignRoles, "a record that somebody else made is left alone: delete it, or keep it and point it to the router yourself"}},
	{"load-balancer", "The API server has no address", []string{hyperv1.InfrastructureReady}, nil,
		"a Service of the control plane has no address yet", []string{"`kubectl -n {control-plane} get services`; `kubectl -n {control-plane} describe service kube-apiserver` has the words of the management cluster's cloud provider", "without a load balancer, publish by NodePort or Route"}},

	{"pull-secret", "The release image cannot be pulled: credentials", []string{hyperv1.ValidReleaseImage, hyperv1.NodePoolValidReleaseImage}, words(`unauthorized|\b401\b|denied|\b403\b|SecretNotFound|pull secret`),
		"the registry refuses the pull secret, or there is none", []string{"Secret {namespace}/{pull-secret} must have a login for the registry of {image}; the cluster follows as soon as it is replaced"}},
	{"release-image", "The release image cannot be used", []string{hyperv1.ValidReleaseImage, hyperv1.NodePoolValidReleaseImage, hyperv1.ValidReleaseInfo}, nil,
		"the release image cannot be read, or may not be rolled out", []string{"`hypershift payload inspect {image}` says what it is; set spec.release.image to one that the message allows"}},
	{"backup", "A backup is not restored", []string{hyperv1.HostedClusterRestoredFromBackup}, nil,
		"the backup cannot be fetched or read", []string{"the URL of spec.etcd.managed.storage.restoreSnapshotURL, and whether its signature has expired; a new HostedCluster is needed for another one"}},
	{"key-vault", "Secrets cannot be encrypted", []string{hyperv1.ValidAzureKMSConfig}, nil,
		"the key of the vault does not encrypt and decrypt", []string{"the identity of spec.secretEncryption needs role Key Vault Crypto User on the vault, and the key must be enabled: `az keyvault key show --id KEY`"}},
	{"credentials", "The cluster's identities are not complete", []string{hyperv1.PlatformCredentialsFound}, nil,
		"an identity of the platform is missing or does not sign in", []string{verifyAzure}},
	{"configuration", "The HostedCluster contradicts itself", []string{hyperv1.ValidHostedClusterConfiguration, hyperv1.ValidHostedControlPlaneConfig, hyperv1.ValidProxyConfiguration, hyperv1.ValidIDPConfiguration, hyperv1.UnmanagedEtcdAvailable}, nil,
		"a field, or an object that it names, is not as it has to be", []string{"the message names it: `kubectl -n {namespace} edit hostedcluster {cluster}`"}},
	{"unsupported", "The management cluster cannot run it", []string{hyperv1.SupportedHostedCluster}, nil,
		"the HostedCluster asks for what this management cluster or operator does not have", []string{"the message names it; change the HostedCluster, or the installation"}},
	{"pool-configuration", "A node pool asks for what cannot be", []string{hyperv1.NodePoolValidPlatformConfig, hyperv1.NodePoolValidMachineConfig, hyperv1.NodePoolValidArchPlatform, hyperv1.NodePoolSupportedVersionSkew, hyperv1.NodePoolUpdateManagementEnabled, hyperv1.NodePoolValidPlatformImage, hyperv1.NodePoolValidGeneratedPayload, hyperv1.NodePoolClusterNetworkCIDRConflict}, nil,
		"a field of the NodePool is not as it has to be", []string{"the message names it: `kubectl -n {namespace} edit nodepool {pool}`"}},
	{"ignition-endpoint", "Node pools wait for the control plane", []string{hyperv1.NodePoolIgnitionEndpointAvailable, hyperv1.IgnitionEndpointAvailable}, nil,
		"the ignition server is not published yet", []string{"it comes with the control plane: `hypershift explain cluster {cluster}`"}},
	{"paused", "Nothing changes any more", []string{hyperv1.ReconciliationActive}, words(`Paused`),
		"spec.pausedUntil keeps the controllers from doing anything", []string{"take spec.pausedUntil away: `kubectl -n {namespace} patch hostedcluster {cluster} --type merge -p '{\"spec\":{\"pausedUntil\":null}}'`, or the same of the nodepool"}},
	{"etcd", "The control plane has no etcd", []string{hyperv1.EtcdAvailable}, nil,
		"too few members of etcd serve", []string{"`kubectl -n {control-plane} get pods -l app=etcd`, `kubectl -n {control-plane} get persistentvolumeclaims`"}},
	{"api-server", "The API server does not serve", []string{hyperv1.KubeAPIServerAvailable}, nil,
		"no pod of the API server is ready", []string{"`kubectl -n {control-plane} get pods`, `kubectl -n {control-plane} get controlplanecomponents`: a component says there what it waits for"}},
	{"upgrade-blocked", "An upgrade does not begin", []string{hyperv1.HostedClusterProgressing, hyperv1.ClusterVersionUpgradeable}, words(`Blocked|Upgradeable|cannot|refuse`),
		"the upgrade may not begin, for the reason in the message", []string{"mend what the message says; the annotation hypershift.openshift.io/force-upgrade-to with the exact image goes over it"}},
	{"rollout", "A version is being rolled out", []string{hyperv1.HostedClusterProgressing, hyperv1.ClusterVersionProgressing, hyperv1.NodePoolUpdatingVersion, hyperv1.NodePoolUpdatingConfig, hyperv1.NodePoolUpdatingPlatformMachineTemplate}, nil,
		"nothing is wrong: it moves to what is wanted", []string{"wait; `hypershift status {cluster} --watch` shows how it goes on"}},
	{"tunnel", "logs, exec and webhooks do not work", []string{hyperv1.DataPlaneConnectionAvailable, hyperv1.ControlPlaneConnectionAvailable}, nil,
		"the tunnel between control plane and workers is down", []string{"workers must reach the konnectivity endpoint: `kubectl -n {control-plane} get routes,services`, and the network security group of their subnet", "`kubectl -n {control-plane} logs deployment/kube-apiserver -c konnectivity-server`"}},
	{"degraded", "Parts of the control plane lack replicas", []string{hyperv1.HostedClusterDegraded}, nil,
		"a workload of the control plane has fewer pods than it shall", []string{"`kubectl -n {control-plane} get deployments,statefulsets,pods`"}},
	{"deletion", "A cluster is not gone", []string{hyperv1.HostedClusterDestroyed}, nil,
		"what the cluster is made of goes one after the other", []string{"the message says what is waited for; `hypershift destroy cluster azure --name {cluster}` waits and says so, too"}},
	{"reconciliation", "The operator fails", []string{hyperv1.ReconciliationSucceeded}, nil,
		"the last pass over the HostedCluster ended with an error", []string{operatorLogs}},
	{"starting", "The control plane is being made", []string{hyperv1.HostedClusterAvailable}, nil,
		"not all of the control plane serves yet", []string{"`kubectl -n {control-plane} get controlplanecomponents` says what each part waits for; `hypershift status {cluster} --watch` shows how it goes on"}},
}

// Cases are the rows of the table.
func Cases() []Case { return slices.Clone(cases) }

// caseOf is the first row that knows a finding; nil when none does.
func caseOf(f *Finding) *Case {
	where := f.Condition
	if strings.HasPrefix(f.Object, podTrouble+" ") {
		where = podTrouble
	}
	said := f.Reason + ": " + f.Says
	for _, evidence := range f.Evidence {
		said += "\n" + evidence.Says
	}
	for i := range cases {
		row := &cases[i]
		if (len(row.Where) == 0 || slices.Contains(row.Where, where)) && (row.Words == nil || row.Words.MatchString(said)) {
			return row
		}
	}
	return nil
}
