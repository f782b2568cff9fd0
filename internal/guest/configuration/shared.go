package configuration

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	imageregistryv1 "github.com/openshift/api/imageregistry/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterconfig/singletons"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// registryFinalizer has the registry's operator take its storage away before its configuration goes.
const registryFinalizer = "imageregistry.operator.openshift.io/finalizer"

// RegistryKind is the configuration of the guest's image registry.
var RegistryKind = imageregistryv1.GroupVersion.WithKind("Config")

// Shared is an object that the guest's users write too.
type Shared struct {
	// Object as it is where there is none yet.
	*unstructured.Unstructured
	// Defaults are fields that stay as somebody set them, Beginning fields that nobody sets once the object is there.
	Defaults, Beginning [][]string
	// Once: all of it is a beginning.
	Once bool
}

// From is the object as it is to be where there is one: nil where it is left alone.
func (s Shared) From(live *unstructured.Unstructured) *unstructured.Unstructured {
	if s.Once || live.GetDeletionTimestamp() != nil {
		return nil
	}
	out := s.DeepCopy()
	for _, path := range slices.Concat(s.Defaults, s.Beginning) {
		value, found, err := unstructured.NestedFieldCopy(live.Object, path...)
		switch {
		case err == nil && found && value != "" && value != nil:
			_ = unstructured.SetNestedField(out.Object, value, path...) // the object's own maps
		case slices.ContainsFunc(s.Beginning, func(b []string) bool { return slices.Equal(b, path) }):
			unstructured.RemoveNestedField(out.Object, path...)
		}
	}
	return out
}

// shared lists what makes them.
var shared = []struct {
	kind    release.Kind
	objects func(*inside.Facts) []Shared
}{
	{release.KindOpenShift, cloudCredential},
	{release.KindOpenShift, networkOperator},
	{release.KindOpenShift, registry},
	{release.KindOpenShift, guestHub},
	{release.KindOpenShift, ingressController},
	{release.KindOpenShift, oauthClients},
}

// SharedObjects are the objects of the guest that its users write too.
func SharedObjects(facts *inside.Facts) []Shared {
	var out []Shared
	for _, part := range shared {
		if facts.Of(part.kind) {
			out = append(out, part.objects(facts)...)
		}
	}
	for _, s := range out {
		s.SetLabels(map[string]string{hyperv1.ManagedByLabel: inside.ManagedBy})
	}
	return out
}

var managementState = []string{"spec", "managementState"}

// cloudCredential has the operator of credentials make none: they are made here, of the identities that the user federated.
func cloudCredential(*inside.Facts) []Shared {
	return []Shared{{Unstructured: object(operatorv1.GroupVersion.WithKind("CloudCredential"), "", Singleton, map[string]any{"spec": map[string]any{
		"managementState": string(operatorv1.Managed), "credentialsMode": string(operatorv1.CloudCredentialsModeManual)}}), Defaults: [][]string{managementState}}}
}

// networkOperator has what the user said of OVN. It is there before the operator, which takes no later changes.
func networkOperator(facts *inside.Facts) []Shared {
	spec := map[string]any{"managementState": string(operatorv1.Managed)}
	if operators := facts.HCP.Spec.OperatorConfiguration; operators != nil && operators.ClusterNetworkOperator != nil {
		network := operators.ClusterNetworkOperator
		if network.DisableMultiNetwork != nil && *network.DisableMultiNetwork {
			spec["disableMultiNetwork"] = true
		}
		if network.OVNKubernetesConfig != nil {
			spec["defaultNetwork"] = map[string]any{"ovnKubernetesConfig": fieldsOf(network.OVNKubernetesConfig)}
		}
	}
	return []Shared{{Unstructured: object(operatorv1.GroupVersion.WithKind("Network"), "", Singleton, map[string]any{"spec": spec}), Defaults: [][]string{managementState}}}
}

// fieldsOf is a typed value as an object has it: the API here has OVN's fields by the operator's names.
func fieldsOf(typed any) map[string]any {
	encoded, err := json.Marshal(typed)
	out := map[string]any{}
	if err == nil {
		err = json.Unmarshal(encoded, &out)
	}
	if err != nil { // strings and numbers always convert
		panic(fmt.Errorf("convert %T: %w", typed, err))
	}
	return out
}

// registry is the image registry of a guest that has the capability. Without a cloud its images are gone with its pod.
func registry(facts *inside.Facts) []Shared {
	if !inside.Capable(facts.HCP, inside.RegistryCapability) {
		return nil
	}
	spec := map[string]any{"managementState": string(operatorv1.Managed), "httpSecret": hex.EncodeToString(randomBytes(64)), "replicas": replicas(facts)}
	beginning := [][]string{{"spec", "replicas"}}
	if facts.HCP.Spec.Platform.Type == hyperv1.NonePlatform {
		spec["storage"] = map[string]any{"emptyDir": map[string]any{}}
		beginning = append(beginning, []string{"spec", "storage"})
	}
	config := object(RegistryKind, "", Singleton, map[string]any{"spec": spec})
	config.SetFinalizers([]string{registryFinalizer})
	return []Shared{{Unstructured: config, Defaults: [][]string{managementState, {"spec", "httpSecret"}}, Beginning: beginning}}
}

// guestHub is the guest's own where the catalogs run there.
func guestHub(facts *inside.Facts) []Shared {
	if !inside.CatalogsInGuest(facts.HCP) {
		return nil
	}
	return []Shared{{Unstructured: singletons.Object(HubKind.Kind, Singleton, hubSpec(facts.HCP), nil), Once: true}}
}

// ingressController is the default one. Its user says the rest: how it is published may be changed in the guest.
func ingressController(facts *inside.Facts) []Shared {
	if !inside.Capable(facts.HCP, inside.IngressCapability) {
		return nil
	}
	return []Shared{{Unstructured: object(operatorv1.GroupVersion.WithKind("IngressController"), contract.IngressOperatorNamespace, "default", map[string]any{"spec": map[string]any{
		"domain": ingressSpec(facts.HCP)["domain"], "replicas": replicas(facts), "endpointPublishingStrategy": publishing(facts.HCP),
		"defaultCertificate": map[string]any{"name": contract.IngressCertificate}}}), Once: true}}
}

// publishing is how the default router is reached: as the user says, else by the platform.
func publishing(hcp *hyperv1.HostedControlPlane) map[string]any {
	if operators := hcp.Spec.OperatorConfiguration; operators != nil && operators.IngressOperator != nil {
		if chosen := singletons.UserSpec(operators.IngressOperator.EndpointPublishingStrategy); len(chosen) > 0 {
			return chosen
		}
	}
	ingress, err := component.DefaultIngress(hcp)
	switch {
	case err == nil && ingress.Scope == component.IngressPrivate:
		return map[string]any{"type": string(operatorv1.PrivateStrategyType)}
	case hcp.Spec.Platform.Type == hyperv1.NonePlatform:
		return map[string]any{"type": string(operatorv1.HostNetworkStrategyType)}
	}
	return map[string]any{"type": string(operatorv1.LoadBalancerServiceStrategyType), "loadBalancer": map[string]any{
		"scope": string(ingress.Scope), "dnsManagementPolicy": string(operatorv1.ManagedLoadBalancerDNS)}}
}

// replicas of what runs on the guest's nodes.
func replicas(facts *inside.Facts) int64 {
	if facts.HighlyAvailable {
		return 2
	}
	return 1
}

func randomBytes(length int) []byte {
	raw := make([]byte, length)
	_, _ = rand.Read(raw) // it ends the program rather than fail
	return raw
}
