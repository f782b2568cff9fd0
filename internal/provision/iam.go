package provision

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

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

// IAMOptions describe the workload identities of one hosted cluster.
type IAMOptions struct {
	Name, InfraID string
	ResourceGroup string
	Location      string
	IssuerURL     string
	EnableKMS     bool
	Tags          map[string]string
	Roles         *RoleScopes // nil gives none
}

// Validate names the flag that is missing.
func (o IAMOptions) Validate() error {
	if err := missing([]flagValue{{"--name", o.Name}, {"--infra-id", o.InfraID}, {"--resource-group-name", o.ResourceGroup}, {"--oidc-issuer-url", o.IssuerURL}}); err != nil {
		return err
	}
	return firstError(checkClusterName(o.Name), checkInfraID(o.InfraID), checkGroup("--resource-group-name", o.ResourceGroup),
		checkIssuerURL("--oidc-issuer-url", o.IssuerURL), checkTags("--tags", o.Tags), o.Roles.validate())
}

// Identity is one member of the identities file.
type Identity struct {
	ClientID string `json:"clientID"`
}

// WorkloadIdentities is the content of workload-identities.json, members in its order.
type WorkloadIdentities struct {
	ImageRegistry        Identity  `json:"imageRegistry"`
	Ingress              Identity  `json:"ingress"`
	File                 Identity  `json:"file"`
	Disk                 Identity  `json:"disk"`
	NodePoolManagement   Identity  `json:"nodePoolManagement"`
	CloudProvider        Identity  `json:"cloudProvider"`
	Network              Identity  `json:"network"`
	ControlPlaneOperator *Identity `json:"controlPlaneOperator,omitempty"`
	KMSClientID          string    `json:"kmsClientID,omitempty"`
}

func (w *WorkloadIdentities) set(key, clientID string) {
	id := Identity{ClientID: clientID}
	switch key {
	case "imageRegistry":
		w.ImageRegistry = id
	case "ingress":
		w.Ingress = id
	case "file":
		w.File = id
	case "disk":
		w.Disk = id
	case "nodePoolManagement":
		w.NodePoolManagement = id
	case "cloudProvider":
		w.CloudProvider = id
	case "network":
		w.Network = id
	case "controlPlaneOperator":
		w.ControlPlaneOperator = &id
	case "kms":
		w.KMSClientID = clientID
	}
}

// Get returns the client id behind a member, "" when there is none.
func (w *WorkloadIdentities) Get(key string) string {
	members := map[string]string{
		"imageRegistry": w.ImageRegistry.ClientID, "ingress": w.Ingress.ClientID, "file": w.File.ClientID, "disk": w.Disk.ClientID,
		"nodePoolManagement": w.NodePoolManagement.ClientID, "cloudProvider": w.CloudProvider.ClientID, "network": w.Network.ClientID,
		"kms": w.KMSClientID,
	}
	if w.ControlPlaneOperator != nil {
		members["controlPlaneOperator"] = w.ControlPlaneOperator.ClientID
	}
	return members[key]
}

// required are the members that the API demands.
var required = []string{"imageRegistry", "ingress", "file", "disk", "nodePoolManagement", "cloudProvider", "network"}

// ParseWorkloadIdentities reads an identities file; the error names the member.
func ParseWorkloadIdentities(raw []byte) (*WorkloadIdentities, error) {
	var w WorkloadIdentities
	if err := json.Unmarshal(raw, &w); err != nil {
		return nil, fmt.Errorf("not a JSON object of identities: %w", err)
	}
	if err := w.validate(); err != nil {
		return nil, err
	}
	return &w, nil
}

func (w *WorkloadIdentities) validate() error {
	for _, key := range required {
		if !azure.IsUUID(w.Get(key)) {
			return fmt.Errorf("%s.clientID must be a valid UUID, it is %q", key, w.Get(key))
		}
	}
	if w.ControlPlaneOperator != nil && !azure.IsUUID(w.ControlPlaneOperator.ClientID) {
		return errors.New("controlPlaneOperator.clientID must be a valid UUID")
	}
	if w.KMSClientID != "" && !azure.IsUUID(w.KMSClientID) {
		return fmt.Errorf("kmsClientID must be a valid UUID, it is %q", w.KMSClientID)
	}
	return nil
}

// ReadWorkloadIdentities reads the file at path.
func ReadWorkloadIdentities(path string) (*WorkloadIdentities, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read --workload-identities-file: %w", err)
	}
	w, err := ParseWorkloadIdentities(raw)
	if err != nil {
		return nil, fmt.Errorf("--workload-identities-file %s: %w", path, err)
	}
	return w, nil
}

// CreateIAM makes the identities and their federated credentials: serial on one identity, parallel across.
func CreateIAM(ctx context.Context, s *azure.Session, o IAMOptions, progress func(stack.Event)) (*WorkloadIdentities, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	out := &WorkloadIdentities{}
	return out, stack.Create(ctx, guardedIAM(s, o, out), options(progress))
}

// PlanIAM says what CreateIAM would do.
func PlanIAM(ctx context.Context, s *azure.Session, o IAMOptions) ([]stack.Step, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return stack.Plan(ctx, guardedIAM(s, o, &WorkloadIdentities{}))
}

// guardedIAM are the nodes with what is asked before the first of them is written.
func guardedIAM(s *azure.Session, o IAMOptions, out *WorkloadIdentities) []*stack.Node {
	return guarded(s, o.Location, iamNodes(s, o, out), func() []*stack.Node { return iamNodes(s, o, &WorkloadIdentities{}) })
}

// DestroyIAM removes the roles of the identities, wherever they were given, the credentials and the identities; the group stays. A role
// that cannot be removed is reported, and does not hold up the rest: without its identity it gives nobody anything.
func DestroyIAM(ctx context.Context, s *azure.Session, o IAMOptions, progress func(stack.Event)) error {
	roles, err := iamRoles(ctx, s, o)
	if err != nil {
		return err
	}
	o.EnableKMS = true
	roleErr := stack.Destroy(ctx, roles, options(progress))
	return errors.Join(roleErr, stack.Destroy(ctx, iamNodes(s, o, &WorkloadIdentities{}), options(progress)))
}

// PlanDestroyIAM says what DestroyIAM would remove.
func PlanDestroyIAM(ctx context.Context, s *azure.Session, o IAMOptions) ([]stack.Step, error) {
	roles, err := iamRoles(ctx, s, o)
	if err != nil {
		return nil, err
	}
	o.EnableKMS = true
	return deletions(append(roles, iamNodes(s, o, &WorkloadIdentities{})...)), nil
}

func iamRoles(ctx context.Context, s *azure.Session, o IAMOptions) ([]*stack.Node, error) {
	known := []string{s.GroupID(MainGroup(o.Name, o.InfraID))}
	if o.Roles != nil {
		for _, group := range o.Roles.groups() {
			known = append(known, s.GroupID(group))
		}
	}
	return leftRoles(ctx, s, o.InfraID, known)
}

func iamNodes(s *azure.Session, o IAMOptions, out *WorkloadIdentities) []*stack.Node {
	nodes, who := iamNodesAndHolders(s, o, out)
	if o.Roles == nil {
		return nodes
	}
	nodes = append(nodes, o.Roles.nodes(s, o, who)...)
	gate(nodes)
	return nodes
}

// iamNodesAndHolders are the nodes, and the identities that they make, for those who give them roles in the same run.
func iamNodesAndHolders(s *azure.Session, o IAMOptions, out *WorkloadIdentities) ([]*stack.Node, map[string]holder) {
	var mu sync.Mutex
	principals, who := map[string]string{}, map[string]holder{}
	nodes := []*stack.Node{group(s, "group", o.ResourceGroup, o.Location, o.Tags, true)}
	for _, c := range components {
		if c.key == "kms" && !o.EnableKMS {
			continue
		}
		name := o.Name + "-" + c.part + "-" + o.InfraID
		id := identityID(s, o, c)
		nodes = append(nodes, resource{session: s, id: id, api: apiIdentity,
			body: func() azure.Resource {
				return azure.Resource{Location: o.Location, Tags: withTag(o.Tags, stackTag("iam", o.InfraID))}
			},
			found: func(r *azure.Resource) {
				mu.Lock()
				defer mu.Unlock()
				out.set(c.key, r.Property("clientId"))
				principals[c.key] = r.Property("principalId")
			},
		}.node(c.key, "managed identity", name, "group"))
		for _, f := range c.credentials {
			nodes = append(nodes, federated(s, o, id, c.key, f))
		}
		who[c.key] = holder{node: c.key, principal: func(context.Context) (string, error) {
			mu.Lock()
			defer mu.Unlock()
			return principals[c.key], nil
		}}
	}
	return nodes, who
}

func identityID(s *azure.Session, o IAMOptions, c component) string {
	return s.ResourceID(o.ResourceGroup, typeIdentity, o.Name+"-"+c.part+"-"+o.InfraID)
}

func credentialID(identityID string, o IAMOptions, f credential) string {
	return identityID + "/federatedIdentityCredentials/" + o.Name + "-" + f.suffix
}

func federated(s *azure.Session, o IAMOptions, identityID, key string, f credential) *stack.Node {
	n := federatedNode(s, credentialID(identityID, o, f), federation{o.IssuerURL, subjectPrefix + f.subject, audience}, f.suffix, key)
	n.Name = o.Name + "-" + f.suffix
	return n
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
