package identity

import (
	"fmt"
	"strings"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/provision/node"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// audience of every federated credential.
const audience = "openshift"

// Component is one workload identity: the member of the identities file, the part of its name, and who may use it.
type Component struct {
	Key         string
	Part        string
	Credentials []Credential
}

// Credential binds a guest service account; suffix completes "<name>-".
type Credential struct{ Suffix, Subject string }

const subjectPrefix = "system:serviceaccount:"

// Components are all that have an identity, that of the key service among them.
var Components = []Component{
	{"disk", "disk", []Credential{
		{"disk-fed-id-node", "openshift-cluster-csi-drivers:azure-disk-csi-driver-node-sa"},
		{"disk-fed-id-operator", "openshift-cluster-csi-drivers:azure-disk-csi-driver-operator"},
		{"disk-fed-id-controller", "openshift-cluster-csi-drivers:azure-disk-csi-driver-controller-sa"}}},
	{"file", "file", []Credential{
		{"file-fed-id-node", "openshift-cluster-csi-drivers:azure-file-csi-driver-node-sa"},
		{"file-fed-id-operator", "openshift-cluster-csi-drivers:azure-file-csi-driver-operator"},
		{"file-fed-id-controller", "openshift-cluster-csi-drivers:azure-file-csi-driver-controller-sa"}}},
	{"imageRegistry", "image-registry", []Credential{
		{"image-registry-fed-id-registry", "openshift-image-registry:registry"},
		{"image-registry-fed-id-operator", "openshift-image-registry:cluster-image-registry-operator"}}},
	{"ingress", "ingress", []Credential{{"ingress-fed-id", "openshift-ingress-operator:ingress-operator"}}},
	{"cloudProvider", "cloud-provider", []Credential{{"cloud-provider-fed-id", "kube-system:azure-cloud-provider"}}},
	{"nodePoolManagement", "node-pool-mgmt", []Credential{{"node-pool-mgmt-fed-id", "kube-system:capi-provider"}}},
	{"network", "network", []Credential{{"network-fed-id", "openshift-cloud-network-config-controller:cloud-network-config-controller"}}},
	{"controlPlaneOperator", "control-plane-operator", []Credential{{"cpo-fed-id", "kube-system:control-plane-operator"}}},
	{"kms", "kms", []Credential{{"kms-fed-id", "kube-system:kms-provider"}}},
}

// Unused tells whether nothing signs in as the identity: it would only be one more that a token can be made for. The control-plane-operator
// has no calls to Azure without private endpoints. An identity of another tool, or of former times, is still given its roles and taken away.
func (c Component) Unused() bool { return c.Key == "controlPlaneOperator" }

// GuestFederation accepts the tokens of a service account of the hosted cluster, named namespace:name.
func GuestFederation(issuerURL, account string) Federation {
	return Federation{issuerURL, subjectPrefix + account, audience}
}

// Federation is whose tokens a federated credential accepts.
type Federation struct{ Issuer, Subject, Audience string }

func (f Federation) is(r *azure.Resource) bool {
	audiences, _ := r.Properties["audiences"].([]any)
	return r.Property("issuer") == f.Issuer && r.Property("subject") == f.Subject && len(audiences) == 1 && audiences[0] == f.Audience
}

// FederatedNode is the node of a federated credential.
func FederatedNode(s *azure.Session, id string, f Federation, nodeID, identityNode string) *stack.Node {
	n := node.Resource{Session: s, ID: id, API: node.APIIdentity,
		Body: func() azure.Resource {
			return azure.Resource{Properties: map[string]any{"issuer": f.Issuer, "subject": f.Subject, "audiences": []string{f.Audience}}}
		},
		Current: f.is,
	}.Node(nodeID, "federated credential", id[strings.LastIndex(id, "/")+1:], identityNode)
	// Azure refuses concurrent writes on one identity.
	n.Lane = id[:strings.LastIndex(id, "/federatedIdentityCredentials/")]
	return n
}

// Nearest tells how the credential that is most alike differs, "" when one is equal.
func (f Federation) Nearest(credentials []azure.Resource) string {
	if len(credentials) == 0 {
		return fmt.Sprintf("federated credentials of the identity: expected one with subject '%s', found none", f.Subject)
	}
	var best []string
	for i := range credentials {
		d := f.differences(&credentials[i])
		if len(d) == 0 {
			return ""
		}
		if i == 0 || len(d) < len(best) {
			best = d
		}
	}
	return strings.Join(best, ", ")
}

func (f Federation) differences(r *azure.Resource) []string {
	var out []string
	compare := func(field, expected, found string) {
		if expected != found {
			out = append(out, fmt.Sprintf("%s of federated credential %s: expected '%s' as in the token, found '%s'", field, r.Name, expected, found))
		}
	}
	audiences, _ := r.Properties["audiences"].([]any)
	compare("issuer", f.Issuer, r.Property("issuer"))
	compare("subject", f.Subject, r.Property("subject"))
	compare("audience", f.Audience, strings.Trim(fmt.Sprint(audiences), "[]"))
	return out
}
