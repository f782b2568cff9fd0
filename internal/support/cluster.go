package support

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterconfig"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

// What is said more than once.
const (
	noReader     = "nothing in this release reads it; leave it out"
	noOperator   = "it is for an operator of OpenShift's that this payload does not have"
	noOAuth      = "no OAuth server runs, so nobody could log in by it; use spec.configuration.authentication of type OIDC, or the kubeconfig"
	noLogin      = "no OAuth server runs"
	noPlugin     = "the network plugin of this payload does not read it, and addresses would not be as it says; leave it out"
	noCatalogs   = "this payload has no operator catalogs"
	noForwarding = "this payload has no monitoring that metrics could be forwarded to; scrape the control plane's PodMonitors instead"
	otherBlock   = "the block of another platform is not read"
)

// The payload's images whose programs read what a payload without them has nobody for.
const (
	catalogReader   = contract.ImageLifecycleManager
	gateReader      = contract.ImageConfigAPI
	imageReader     = contract.OpenShiftAPIServer
	ingressOperator = contract.ImageIngressOperator
	machineConfig   = contract.ImageMachineConfig
	monitoring      = contract.ImageMonitoring
	networkOperator = contract.NetworkOperator
	nodeTuning      = contract.TuningOperator
	versionOperator = contract.VersionOperator
)

// clusterRules in the order of the API's reference.
var clusterRules = slices.Concat(platformRules, networkRules, configurationRules, []rule{
	{path: "fips", unless: machineConfig, verdict: Refused, why: "neither the nodes nor the control plane run validated cryptography, so a cluster of this name would not be one; leave it out"},
	{path: "autoNode", verdict: Refused, why: "Karpenter does not run here; use NodePools with spec.autoScaling"},
	{path: "capabilities.enabled", verdict: Inert, unless: versionOperator,
		why: "this payload has no optional part that is absent by default, so there is nothing to enable"},
	{path: "channel", verdict: Inert, unless: versionOperator, why: "it is written to the ClusterVersion, but " + noOperator + ": nobody asks for updates"},
	{path: "updateService", verdict: Inert, unless: versionOperator, why: "it is written to the ClusterVersion, but " + noOperator + ": nobody asks for updates"},
	{path: "monitoring.metricsForwarding.mode", is: oneOf("Forward"), verdict: Refused, unless: monitoring, why: noForwarding},
	{path: "olmCatalogPlacement", is: oneOf("guest"), verdict: Inert, unless: catalogReader, why: noCatalogs},
	{path: "operatorConfiguration.clusterNetworkOperator.disableMultiNetwork", verdict: Inert, unless: networkOperator, why: "this payload has no Multus, so pods have one network in any case"},
	{path: "operatorConfiguration.clusterNetworkOperator.ovnKubernetesConfig", unless: networkOperator, verdict: Refused, why: noPlugin},
	{path: "secretEncryption.kms.provider", is: noneOf("Azure"), verdict: Refused, why: "key service VALUE is not supported; use Azure, or type aescbc"},
	{path: "secretEncryption.kms.azure.kms", verdict: Refused, why: "managed identities are not supported; use workloadIdentity"},
	{path: "secretEncryption.kms.azure.keyVaultAccess", is: oneOf("Private"), verdict: Refused, why: "the key vault would be asked over its public endpoint; use Public, or a vault whose public endpoint is open to the management cluster"},
	{path: "services[].service", is: oneOf("OIDC", "OVNSbDb"), verdict: Inert, why: "VALUE is a service of older releases and is published by nobody"},
})

var platformRules = []rule{
	{path: "platform.type", is: noneOf(string(hyperv1.AzurePlatform), string(hyperv1.NonePlatform)), verdict: Refused, why: "Platform VALUE is not supported; use Azure or None"},
	{path: "platform.azure.azureAuthenticationConfig.azureAuthenticationConfigType", is: oneOf(string(hyperv1.AzureManagedIdentities)), verdict: Refused,
		why: "Managed identities are not supported; use WorkloadIdentities"},
	// To publish what was to be private would be worse than to do nothing.
	{path: "platform.azure.topology", is: noneOf(string(hyperv1.AzureTopologyPublic)), verdict: Refused,
		why: "Topology VALUE is not supported: this operator runs without private endpoints; use Public"},
	{path: "platform.azure.private", verdict: Inert, why: "the topology is Public, and no private endpoint is made"},
	{path: "platform.azure.azureAuthenticationConfig.workloadIdentities.controlPlaneOperator", verdict: Inert, why: "only private endpoints, which are not made, need it"},
	{path: "platform.agent", verdict: Inert, why: otherBlock},
	{path: "platform.aws", verdict: Inert, why: otherBlock},
	{path: "platform.ibmcloud", verdict: Inert, why: otherBlock},
	{path: "platform.kubevirt", verdict: Inert, why: otherBlock},
	{path: "platform.powervs", verdict: Inert, why: otherBlock},
}

var networkRules = []rule{
	{path: "networking.networkType", is: oneOf(string(hyperv1.OVNKubernetes)), unless: networkOperator, verdict: Inert,
		why: "this payload has no OVN; pods are connected by its own plugin (flannel), as Network/cluster says in its status"},
	{path: "networking.networkType", is: oneOf(string(hyperv1.OpenShiftSDN)), verdict: Refused, why: "no payload of a supported release has OpenShiftSDN; use OVNKubernetes, or Other with a plugin of your own"},
}

var configurationRules = []rule{
	{path: "configuration.apiServer.additionalCORSAllowedOrigins", verdict: Inert, why: "no API server of this payload reads it: other origins are not allowed"},
	{path: "configuration.apiServer.encryption.type", is: noneOf("identity"), verdict: Refused, why: "Secrets are encrypted by spec.secretEncryption; set that"},
	{path: "configuration.apiServer.tlsSecurityProfile", tells: unservedTLS, verdict: Refused},
	{path: "configuration.apiServer.tlsSecurityProfile", tells: otherwiseServedTLS, verdict: Inert},
	{path: "configuration.authentication.type", is: oneOf("None"), verdict: Refused, why: "authentication cannot be left to nobody; leave it out, or use type OIDC"},
	{path: "configuration.authentication.type", is: oneOf("IntegratedOAuth"), unless: contract.ImageOAuthServer, verdict: Inert, why: "no OAuth server runs; users are those of the kubeconfig"},
	{path: "configuration.authentication.oauthMetadata", unless: contract.ImageOAuthServer, verdict: Refused, why: noOAuth},
	{path: "configuration.authentication.webhookTokenAuthenticator", verdict: Refused, why: "the API server asks no webhook for tokens; use type OIDC"},
	{path: "configuration.authentication.webhookTokenAuthenticators", verdict: Refused, why: "the API server asks no webhook for tokens; use type OIDC"},
	{path: "configuration.authentication.serviceAccountIssuer", verdict: Inert, why: "spec.issuerURL is the issuer"},
	{path: "configuration.featureGate.featureSet", unless: gateReader, verdict: Refused, why: "no component is started with the gates of a feature set; leave it out"},
	{path: "configuration.featureGate.customNoUpgrade", unless: gateReader, verdict: Refused, why: "no component is started with these gates; leave it out"},
	{path: "configuration.image.additionalTrustedCA", unless: imageReader, verdict: Inert, why: "it is copied into the hosted cluster, where only an image registry operator would read it; nodes trust spec.additionalTrustBundle"},
	{path: "configuration.image.allowedRegistriesForImport", unless: imageReader, verdict: Inert, why: "this payload has no image streams"},
	{path: "configuration.image.externalRegistryHostnames", unless: imageReader, verdict: Inert, why: "this payload has no image registry"},
	{path: "configuration.image.registrySources", unless: machineConfig, verdict: Refused, why: "nodes would pull from every registry all the same; leave it out"},
	{path: "configuration.ingress.appsDomain", unless: ingressOperator, verdict: Inert, why: noOperator},
	{path: "configuration.ingress.componentRoutes", unless: ingressOperator, verdict: Inert, why: noOperator},
	{path: "configuration.ingress.loadBalancer", unless: ingressOperator, verdict: Inert, why: noOperator},
	{path: "configuration.ingress.requiredHSTSPolicies", unless: ingressOperator, verdict: Refused, why: "nothing admits Routes by them; leave it out"},
	{path: "configuration.network.clusterNetwork", verdict: Inert, why: "spec.networking.clusterNetwork says it"},
	{path: "configuration.network.serviceNetwork", verdict: Inert, why: "spec.networking.serviceNetwork says it"},
	{path: "configuration.network.networkType", verdict: Inert, why: "spec.networking.networkType says it"},
	{path: "configuration.network.externalIP", unless: imageReader, verdict: Refused, why: "nothing holds Services to the policy; leave it out"},
	{path: "configuration.network.networkDiagnostics", unless: networkOperator, verdict: Inert, why: noOperator},
	{path: "configuration.network.serviceNodePortRange", is: noneOf("30000-32767"), verdict: Refused, why: "node ports are 30000-32767; leave it out"},
	{path: "configuration.oauth", unless: contract.ImageOAuthServer, verdict: Refused, why: noOAuth},
	{path: "configuration.operatorhub", verdict: Inert, unless: catalogReader, why: noCatalogs + ", as if all default sources were disabled"},
	{path: "configuration.proxy.readinessEndpoints", unless: networkOperator, verdict: Inert, why: "it is written to Proxy/cluster, but nobody probes the proxy with them"},
	{path: "configuration.scheduler.defaultNodeSelector", verdict: Refused, why: "no admission of this payload adds it to pods; leave it out"},
	{path: "configuration.scheduler.mastersSchedulable", verdict: Inert, why: "a hosted cluster has no control-plane nodes"},
	{path: "configuration.scheduler.policy", verdict: Inert, why: "kube-scheduler reads no policies any more; use profile"},
}

// inertAnnotation has no effect, unless the payload has an image whose programs read it.
type inertAnnotation struct{ why, unless string }

// inertAnnotations are known and not acted on.
var inertAnnotations = map[string]inertAnnotation{
	hyperv1.TopologyAnnotation:                    {why: "request-serving components are not put on nodes of their own"},
	hyperv1.ClusterScheduledAnnotation:            {why: "request-serving components are not put on nodes of their own"},
	hyperv1.RequestServingNodeSelectorAnnotation:  {why: "request-serving components are not put on nodes of their own"},
	hyperv1.IDPOverridePrefix:                     {why: noLogin, unless: contract.ImageOAuthServer},
	hyperv1.LoginURLOverrideAnnotation:            {why: noLogin, unless: contract.ImageOAuthServer},
	hyperv1.MachineApproverImageAnnotation:        {why: "the machine approver is a program of the control-plane operator's image"},
	hyperv1.CertifiedOperatorsCatalogAnnotation:   {why: noCatalogs, unless: catalogReader},
	hyperv1.CommunityOperatorsCatalogAnnotation:   {why: noCatalogs, unless: catalogReader},
	hyperv1.RedHatOperatorsCatalogAnnotation:      {why: noCatalogs, unless: catalogReader},
	hyperv1.OLMCatalogRegistryOverridesAnnotation: {why: noCatalogs, unless: catalogReader},
	hyperv1.EnsureExistsPullSecretAnnotation:      {why: "the hosted cluster's pull secret follows spec.pullSecret"},
	hyperv1.ManagementPlatformAnnotation:          {why: "nothing depends on the management cluster's platform"},
	hyperv1.SwiftPodNetworkInstanceAnnotation:     {why: "it is for a managed service that is not served"},
	hyperv1.RestoredFromBackupAnnotation:          {why: "condition HostedClusterRestoredFromBackup follows spec.etcd.managed.storage.restoreSnapshotURL"},
	hyperv1.EnableMetricsForwardingAnnotation:     {why: "spec.monitoring.metricsForwarding asks for it"},
}

func annotated(annotations, payload map[string]string) []Problem {
	var problems []Problem
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		inert, known := inertAnnotations[key]
		if prefix, _, found := strings.Cut(key, "/"); found && !known {
			inert, known = inertAnnotations[prefix]
		}
		if known && (inert.unless == "" || payload[inert.unless] == "") {
			problems = append(problems, Problem{Field: "annotation " + key, Why: inert.why, Verdict: Inert, Unless: inert.unless})
		}
	}
	return problems
}

// InertAnnotations lists the keys, and prefixes of keys, that are known and not acted on.
func InertAnnotations() []string { return slices.Sorted(maps.Keys(inertAnnotations)) }

// unservedTLS tells why no server could run with a TLS profile.
func unservedTLS(value any) string {
	profile, err := tlsProfile(value)
	if err != nil {
		return "it cannot be read: " + err.Error()
	}
	return clusterconfig.Unserved(profile)
}

// otherwiseServedTLS tells in what servers differ from the ciphers of a TLS profile.
func otherwiseServedTLS(value any) string {
	profile, err := tlsProfile(value)
	if err != nil || clusterconfig.Unserved(profile) != "" {
		return ""
	}
	var told []string
	unoffered, too := clusterconfig.Differences(profile)
	if len(unoffered) > 0 {
		told = append(told, "no server of a control plane has "+strings.Join(unoffered, ", "))
	}
	if len(too) > 0 {
		told = append(told, "ciphers of TLS 1.3 cannot be chosen, so these are offered too: "+strings.Join(too, ", "))
	}
	return strings.Join(told, "; ")
}

func tlsProfile(value any) (*configv1.TLSSecurityProfile, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	profile := &configv1.TLSSecurityProfile{}
	return profile, json.Unmarshal(raw, profile)
}
