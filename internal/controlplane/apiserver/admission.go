package apiserver

import (
	"encoding/json"
	"fmt"
	"slices"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/hypershift-on-azure/hypershift/internal/clusterconfig"
	"github.com/hypershift-on-azure/hypershift/internal/component"
)

// admissionPlugins are always on with OpenShift's build.
var admissionPlugins = []string{
	"CertificateApproval", "CertificateSigning", "CertificateSubjectRestriction", "DefaultIngressClass", "DefaultStorageClass", "DefaultTolerationSeconds",
	"LimitRanger", "MutatingAdmissionWebhook", "NamespaceLifecycle", "NodeRestriction", "OwnerReferencesPermissionEnforcement", "PersistentVolumeClaimResize",
	"PodNodeSelector", "PodTolerationRestriction", "Priority", "ResourceQuota", "RuntimeClass", "ServiceAccount", "StorageObjectInUseProtection",
	"TaintNodesByCondition", "ValidatingAdmissionPolicy", "ValidatingAdmissionWebhook",
	"config.openshift.io/DenyDeleteClusterConfiguration", "config.openshift.io/ValidateAPIServer", "config.openshift.io/ValidateAuthentication",
	"config.openshift.io/ValidateConsole", "config.openshift.io/ValidateFeatureGate", "config.openshift.io/ValidateImage", "config.openshift.io/ValidateOAuth",
	"config.openshift.io/ValidateProject", "config.openshift.io/ValidateScheduler",
	"image.openshift.io/ImagePolicy",
	"network.openshift.io/ExternalIPRanger", "network.openshift.io/RestrictedEndpointsAdmission",
	"quota.openshift.io/ClusterResourceQuota", "quota.openshift.io/ValidateClusterResourceQuota",
	"route.openshift.io/IngressAdmission",
	"scheduling.openshift.io/OriginPodNodeEnvironment",
	"security.openshift.io/DefaultSecurityContextConstraints", "security.openshift.io/SCCExecRestrictions",
	"security.openshift.io/SecurityContextConstraint", "security.openshift.io/ValidateSecurityContextConstraints",
	"storage.openshift.io/CSIInlineVolumeSecurity",
}

// loginPlugins know users and groups of OpenShift's own, which there are none of with a provider outside.
var loginPlugins = []string{"authorization.openshift.io/RestrictSubjectBindings", "authorization.openshift.io/ValidateRoleBindingRestriction"}

func plugins(logsUsersIn bool) (enabled, disabled []string) {
	if logsUsersIn {
		return slices.Concat(admissionPlugins, loginPlugins), nil
	}
	return slices.Clone(admissionPlugins), slices.Clone(loginPlugins)
}

// admissionOf configures the plugins that are configured.
func admissionOf(ctx *component.Context, gates []string) (configv1.AdmissionConfig, error) {
	network, err := clusterconfig.NetworkOf(ctx.HCP)
	if err != nil {
		return configv1.AdmissionConfig{}, err
	}
	enforced := "privileged"
	if slices.Contains(gates, "OpenShiftPodSecurityAdmission=true") {
		enforced = "restricted"
	}
	var pods []string
	for _, n := range ctx.HCP.Spec.Networking.ClusterNetwork {
		pods = append(pods, string(n.CIDR))
	}
	out := configv1.AdmissionConfig{PluginConfig: map[string]configv1.AdmissionPluginConfig{}}
	for name, config := range map[string]map[string]any{
		"PodSecurity": {
			"apiVersion": "pod-security.admission.config.k8s.io/v1", "kind": "PodSecurityConfiguration",
			"defaults": map[string]string{"enforce": enforced, "enforce-version": "latest", "audit": "restricted", "audit-version": "latest",
				"warn": "restricted", "warn-version": "latest"},
			// Its pods are those of whoever started the build.
			"exemptions": map[string]any{"usernames": []string{"system:serviceaccount:openshift-infra:build-controller"}},
		},
		"network.openshift.io/RestrictedEndpointsAdmission": {
			"apiVersion": "network.openshift.io/v1", "kind": "RestrictedEndpointsAdmissionConfig", "restrictedCIDRs": pods,
		},
		"network.openshift.io/ExternalIPRanger": {
			"apiVersion": "network.openshift.io/v1", "kind": "ExternalIPRangerAdmissionConfig",
			"externalIPNetworkCIDRs": externalAddresses(network.ExternalIP), "allowIngressIP": network.ExternalIP != nil && len(network.ExternalIP.AutoAssignCIDRs) > 0,
		},
	} {
		raw, err := json.Marshal(config)
		if err != nil {
			return out, fmt.Errorf("render the configuration of admission plugin %s: %w", name, err)
		}
		out.PluginConfig[name] = configv1.AdmissionPluginConfig{Configuration: runtime.RawExtension{Raw: raw}}
	}
	return out, nil
}

// externalAddresses are the ranges in which Services may have addresses of outside; an exclamation mark takes a range out.
func externalAddresses(config *configv1.ExternalIPConfig) []string {
	out := []string{}
	if config == nil || config.Policy == nil {
		return out
	}
	for _, rejected := range config.Policy.RejectedCIDRs {
		out = append(out, "!"+rejected)
	}
	return append(out, config.Policy.AllowedCIDRs...)
}
