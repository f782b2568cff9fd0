package install

import (
	"maps"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Parameter is a value that whoever applies a rendered installation decides. In the objects it stands as ${Name}.
type Parameter struct {
	Name, Description string
	// Value is used unless another is given.
	Value string
}

// Reference is how the objects name the parameter.
func (p Parameter) Reference() string { return reference(p.Name) }

// Names of the parameters.
const (
	ParameterImage             = "OPERATOR_IMG"
	ParameterTag               = "IMAGE_TAG"
	ParameterReplicas          = "OPERATOR_REPLICAS"
	ParameterNamespace         = "NAMESPACE"
	ParameterRegistryOverrides = "REGISTRY_OVERRIDES"
	ParameterKeyVaultClientID  = "AZURE_KEYVAULT_CLIENT_ID"
	ParameterDNSSecret         = "EXTERNAL_DNS_CREDS_SECRET"
	ParameterDNSDomain         = "EXTERNAL_DNS_DOMAIN_FILTER"
	ParameterDNSImage          = "EXTERNAL_DNS_IMAGE"
	ParameterDNSOwner          = "EXTERNAL_DNS_TXT_OWNER_ID"
	ParameterDNSInterval       = "EXTERNAL_DNS_INTERVAL"
)

func reference(name string) string { return "${" + name + "}" }

// Parameterized returns the options with references in the place of what the parameters decide. It takes normalized options: no
// reference is a valid value.
func (o *Options) Parameterized() (*Options, []Parameter) {
	image, tag := splitImage(o.pinned(o.OperatorImage()))
	parameters := []Parameter{
		{ParameterImage, "Repository of the operator's image.", image},
		{ParameterTag, "Tag of the operator's image; of one by digest what follows the colon.", tag},
		{ParameterReplicas, "Replicas of the operator.", strconv.Itoa(int(o.replicas()))},
		{ParameterNamespace, "Namespace of the operator.", o.Namespace},
		{ParameterRegistryOverrides, "Mirrors of registries, as source=mirror,source=mirror.", o.RegistryOverrides},
		{ParameterKeyVaultClientID, "Identity that reads the key vault of a managed service.", o.KeyVaultClientID},
	}
	out := *o
	out.Pinned = nil
	out.ImageRefs = maps.Clone(o.ImageRefs)
	delete(out.ImageRefs, operatorTag)
	out.Image = reference(ParameterImage) + ":" + reference(ParameterTag)
	out.Namespace = reference(ParameterNamespace)
	out.RegistryOverrides = reference(ParameterRegistryOverrides)
	out.KeyVaultClientID = reference(ParameterKeyVaultClientID)
	if o.ExternalDNS.Provider == "" {
		return &out, parameters
	}
	e := &out.ExternalDNS
	parameters = append(parameters,
		Parameter{ParameterDNSSecret, "Secret with the credentials of ExternalDNS under the key \"credentials\".", e.mountedSecret()},
		Parameter{ParameterDNSDomain, "DNS zone that ExternalDNS writes to.", e.DomainFilter},
		Parameter{ParameterDNSImage, "Image of ExternalDNS.", o.pinned(e.Image)},
		Parameter{ParameterDNSOwner, "Owner mark of the records; it must stay the same.", e.TXTOwnerID},
		Parameter{ParameterDNSInterval, "Interval between updates of ExternalDNS.", e.interval()},
	)
	e.mounted, e.DomainFilter, e.Image = reference(ParameterDNSSecret), reference(ParameterDNSDomain), reference(ParameterDNSImage)
	e.TXTOwnerID, e.Interval = reference(ParameterDNSOwner), reference(ParameterDNSInterval)
	return &out, parameters
}

// splitImage cuts a reference in two that a colon joins again.
func splitImage(image string) (repository, tag string) {
	at := strings.LastIndexByte(image, ':')
	if at <= strings.LastIndexByte(image, '/') {
		return image, "latest"
	}
	return image[:at], image[at+1:]
}

// Template wraps the objects of parameterized options as an OpenShift Template.
func Template(objects []*unstructured.Unstructured, parameters []Parameter) *unstructured.Unstructured {
	items := make([]any, 0, len(objects))
	for _, obj := range objects {
		if obj.GetKind() == "Deployment" && obj.GetName() == operatorName {
			// In two braces a parameter's value is a number.
			obj.Object["spec"].(map[string]any)["replicas"] = "${{" + ParameterReplicas + "}}"
			// A template outlives the program that printed it.
			unstructured.RemoveNestedField(obj.Object, "metadata", "annotations")
		}
		items = append(items, obj.Object)
	}
	declared := make([]any, 0, len(parameters))
	for _, p := range parameters {
		declared = append(declared, map[string]any{"name": p.Name, "description": p.Description, "value": p.Value})
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "template.openshift.io/v1", "kind": "Template",
		"metadata": map[string]any{"name": "hypershift-operator-template"},
		"objects":  items, "parameters": declared,
	}}
}
