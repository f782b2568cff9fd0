package addons

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
)

// cloudCredentials tell operators inside the guest which workload identity is theirs. They hold identifiers only: what proves the
// identity is a token of the service account that it is federated with.
func cloudCredentials(facts *inside.Facts) []client.Object {
	azure := facts.HCP.Spec.Platform.Azure
	if azure == nil || azure.AzureAuthenticationConfig.WorkloadIdentities == nil {
		return nil
	}
	identities := azure.AzureAuthenticationConfig.WorkloadIdentities
	const drivers = contract.DriverNamespace
	objects := []client.Object{
		namespace(drivers, privileged),
		credentials(facts, drivers, "azure-disk-credentials", identities.Disk),
		credentials(facts, drivers, "azure-file-credentials", identities.File),
	}
	if inside.Capable(facts.HCP, inside.RegistryCapability) {
		const registry = contract.RegistryNamespace
		objects = append(objects, namespace(registry, nil), credentials(facts, registry, "installer-cloud-credentials", identities.ImageRegistry))
	}
	if inside.Capable(facts.HCP, inside.IngressCapability) {
		const operator = contract.IngressOperatorNamespace
		objects = append(objects, namespace(operator, nil), credentials(facts, operator, "cloud-credentials", identities.Ingress))
	}
	return objects
}

func credentials(facts *inside.Facts, namespace, name string, identity hyperv1.WorkloadIdentity) *corev1.Secret {
	azure := facts.HCP.Spec.Platform.Azure
	text := map[string]string{
		"azure_client_id":            string(identity.ClientID),
		"azure_federated_token_file": component.CloudTokenFile,
		"azure_region":               azure.Location,
		"azure_resource_prefix":      facts.HCP.Name + "-" + facts.HCP.Spec.InfraID,
		"azure_resourcegroup":        azure.ResourceGroupName,
		"azure_subscription_id":      azure.SubscriptionID,
		"azure_tenant_id":            azure.TenantID,
	}
	data := map[string][]byte{}
	for key, value := range text {
		data[key] = []byte(value)
	}
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Type: corev1.SecretTypeOpaque, Data: data}
}

func namespace(name string, labels map[string]string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
}
