package provision

import (
	"fmt"
	"strings"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// audience of every federated credential.
const audience = "openshift"

// component is one workload identity: the member of the identities file, the part of its name, and who may use it.
type component struct {
	key         string
	part        string
	credentials []credential
}

// credential binds a guest service account; suffix completes "<name>-".
type credential struct{ suffix, subject string }

const subjectPrefix = "system:serviceaccount:"

var components = []component{
	{"disk", "disk", []credential{
		{"disk-fed-id-node", "openshift-cluster-csi-drivers:azure-disk-csi-driver-node-sa"},
		{"disk-fed-id-operator", "openshift-cluster-csi-drivers:azure-disk-csi-driver-operator"},
		{"disk-fed-id-controller", "openshift-cluster-csi-drivers:azure-disk-csi-driver-controller-sa"}}},
	{"file", "file", []credential{
		{"file-fed-id-node", "openshift-cluster-csi-drivers:azure-file-csi-driver-node-sa"},
		{"file-fed-id-operator", "openshift-cluster-csi-drivers:azure-file-csi-driver-operator"},
		{"file-fed-id-controller", "openshift-cluster-csi-drivers:azure-file-csi-driver-controller-sa"}}},
	{"imageRegistry", "image-registry", []credential{
		{"image-registry-fed-id-registry", "openshift-image-registry:registry"},
		{"image-registry-fed-id-operator", "openshift-image-registry:cluster-image-registry-operator"}}},
	{"ingress", "ingress", []credential{{"ingress-fed-id", "openshift-ingress-operator:ingress-operator"}}},
	{"cloudProvider", "cloud-provider", []credential{{"cloud-provider-fed-id", "kube-system:azure-cloud-provider"}}},
	{"nodePoolManagement", "node-pool-mgmt", []credential{{"node-pool-mgmt-fed-id", "kube-system:capi-provider"}}},
	{"network", "network", []credential{{"network-fed-id", "openshift-cloud-network-config-controller:cloud-network-config-controller"}}},
	{"controlPlaneOperator", "control-plane-operator", []credential{{"cpo-fed-id", "kube-system:control-plane-operator"}}},
	{"kms", "kms", []credential{{"kms-fed-id", "kube-system:kms-provider"}}},
}

// guestFederation accepts the tokens of a service account of the hosted cluster, named namespace:name.
func guestFederation(issuerURL, account string) federation {
	return federation{issuerURL, subjectPrefix + account, audience}
}

// federation is whose tokens a federated credential accepts.
type federation struct{ issuer, subject, audience string }

func (f federation) is(r *azure.Resource) bool {
	audiences, _ := r.Properties["audiences"].([]any)
	return r.Property("issuer") == f.issuer && r.Property("subject") == f.subject && len(audiences) == 1 && audiences[0] == f.audience
}

func federatedNode(s *azure.Session, id string, f federation, nodeID, identityNode string) *stack.Node {
	n := resource{session: s, id: id, api: apiIdentity,
		body: func() azure.Resource {
			return azure.Resource{Properties: map[string]any{"issuer": f.issuer, "subject": f.subject, "audiences": []string{f.audience}}}
		},
		current: f.is,
	}.node(nodeID, "federated credential", id[strings.LastIndex(id, "/")+1:], identityNode)
	// Azure refuses concurrent writes on one identity.
	n.Lane = id[:strings.LastIndex(id, "/federatedIdentityCredentials/")]
	return n
}

// nearest tells how the credential that is most alike differs, "" when one is equal.
func (f federation) nearest(credentials []azure.Resource) string {
	if len(credentials) == 0 {
		return fmt.Sprintf("federated credentials of the identity: expected one with subject '%s', found none", f.subject)
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

func (f federation) differences(r *azure.Resource) []string {
	var out []string
	compare := func(field, expected, found string) {
		if expected != found {
			out = append(out, fmt.Sprintf("%s of federated credential %s: expected '%s' as in the token, found '%s'", field, r.Name, expected, found))
		}
	}
	audiences, _ := r.Properties["audiences"].([]any)
	compare("issuer", f.issuer, r.Property("issuer"))
	compare("subject", f.subject, r.Property("subject"))
	compare("audience", f.audience, strings.Trim(fmt.Sprint(audiences), "[]"))
	return out
}
