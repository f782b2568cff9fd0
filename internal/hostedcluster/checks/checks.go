// Package checks judges a HostedCluster by itself, without the objects it names: what this operator does not support, what contradicts,
// and what nothing acts on.
package checks

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/util/validation"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/azure/tags"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/cronspec"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// podSecurityLevels are the values of the label by which a namespace chooses its pod security standard.
var podSecurityLevels = []string{"restricted", "baseline", "privileged"}

// Configuration lists everything that is wrong with a HostedCluster.
func Configuration(hc *hyperv1.HostedCluster) []error {
	var problems []error
	if namespace := contract.ControlPlaneNamespace(hc.Namespace, hc.Name); len(namespace) > validation.DNS1123LabelMaxLength {
		problems = append(problems, fmt.Errorf("the control plane's namespace would be %q, which is longer than %d characters; choose a shorter name for the cluster or its namespace",
			namespace, validation.DNS1123LabelMaxLength))
	}
	if _, err := uuid.Parse(hc.Spec.ClusterID); err != nil {
		problems = append(problems, fmt.Errorf("spec.clusterID %q is not a UUID", hc.Spec.ClusterID))
	}
	if hc.Spec.Platform.Type == hyperv1.AzurePlatform {
		problems = append(problems, invalidAzure(hc.Spec.Platform.Azure)...)
	}
	for key, value := range hc.Spec.Labels {
		if len(validation.IsQualifiedName(key)) > 0 || len(validation.IsValidLabelValue(value)) > 0 {
			problems = append(problems, fmt.Errorf("spec.labels: %q=%q is not a valid label", key, value))
		}
	}
	if level, ok := hc.Annotations[hyperv1.PodSecurityLabelOverrideAnnotation]; ok && !slices.Contains(podSecurityLevels, strings.ToLower(level)) {
		problems = append(problems, fmt.Errorf("annotation %s=%q is none of %s", hyperv1.PodSecurityLabelOverrideAnnotation, level, strings.Join(podSecurityLevels, ", ")))
	}
	if text, ok := hc.Annotations[hyperv1.ControlPlaneOperatorImageLabels]; ok {
		if _, err := release.ParseLabels(text); err != nil {
			problems = append(problems, fmt.Errorf("annotation %s: %w", hyperv1.ControlPlaneOperatorImageLabels, err))
		}
	}
	if _, err := tags.Parse(hc.Annotations[hyperv1.AzureTagsAnnotation]); err != nil {
		problems = append(problems, fmt.Errorf("annotation %s: %w", hyperv1.AzureTagsAnnotation, err))
	}
	if text, ok := hc.Annotations[hyperv1.EtcdBackupScheduleAnnotation]; ok {
		if _, err := cronspec.Parse(text); err != nil {
			problems = append(problems, fmt.Errorf("annotation %s: %w", hyperv1.EtcdBackupScheduleAnnotation, err))
		}
	}
	problems = append(problems, invalidServices(hc)...)
	problems = append(problems, invalidNetworking(hc.Spec.Networking)...)
	problems = append(problems, invalidEncryption(hc.Spec.SecretEncryption)...)
	return append(problems, invalidCertificates(hc)...)
}

func invalidAzure(platform *hyperv1.AzurePlatformSpec) []error {
	if platform == nil {
		return []error{errors.New("spec.platform.azure is required when spec.platform.type is Azure")}
	}
	var problems []error
	for _, field := range []struct{ name, value, kind string }{
		{"vnetID", platform.VnetID, "Microsoft.Network/virtualNetworks"},
		{"subnetID", platform.SubnetID, "Microsoft.Network/virtualNetworks/subnets"},
		{"securityGroupID", platform.SecurityGroupID, "Microsoft.Network/networkSecurityGroups"},
	} {
		if _, err := azure.ParseIDOf(field.value, field.kind); err != nil {
			problems = append(problems, fmt.Errorf("spec.platform.azure.%s: %w", field.name, err))
		}
	}
	return problems
}

// invalidEncryption makes up for the union rules that the schema of spec.secretEncryption does not have.
func invalidEncryption(encryption *hyperv1.SecretEncryptionSpec) []error {
	switch {
	case encryption == nil:
		return nil
	case encryption.Type == hyperv1.AESCBC && (encryption.AESCBC == nil || encryption.AESCBC.ActiveKey.Name == ""):
		return []error{errors.New("spec.secretEncryption.aescbc.activeKey is required when spec.secretEncryption.type is aescbc")}
	case encryption.Type == hyperv1.KMS && (encryption.KMS == nil || encryption.KMS.Azure == nil):
		return []error{errors.New("spec.secretEncryption.kms.azure is required when spec.secretEncryption.type is kms: other key services are not supported")}
	}
	return nil
}
