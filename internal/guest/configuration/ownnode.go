package configuration

import (
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
)

const (
	// ownNode holds programs of nodes to the Node of the machine that they run on.
	ownNode = "own-node"
	// OwnNodeMessage says why a program of a node is refused.
	OwnNodeMessage = "a program of a node changes the Node that it runs on, and no other"

	// nodeOfToken is where Kubernetes tells on which node the pod of a token runs.
	nodeOfToken = "authentication.kubernetes.io/node-name"
)

// nodePrograms are the accounts of DaemonSets that write their Node: who takes over a machine has their tokens.
var nodePrograms = []string{inside.NodeManagerName, inside.FlannelName}

// ownNodes does for the accounts of programs on nodes what NodeRestriction does for kubelets: a token is of a pod, and the pod's node is
// the one that it may change.
func ownNodes(*inside.Facts) []*unstructured.Unstructured {
	all := &metav1.LabelSelector{}
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: ownNode},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: ptr.To(admissionv1.Fail),
			MatchConstraints: &admissionv1.MatchResources{
				MatchPolicy: ptr.To(admissionv1.Equivalent), NamespaceSelector: all, ObjectSelector: all,
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Update},
					Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"*"}, Resources: []string{"nodes", "nodes/status"}, Scope: ptr.To(admissionv1.ClusterScope)},
				}}},
			},
			MatchConditions: []admissionv1.MatchCondition{{Name: "programs-of-nodes",
				Expression: "request.userInfo.username in ['system:serviceaccount:" + inside.KubeSystem + ":" +
					strings.Join(nodePrograms, "', 'system:serviceaccount:"+inside.KubeSystem+":") + "']"}},
			Validations: []admissionv1.Validation{{
				Expression: "has(request.userInfo.extra) && '" + nodeOfToken + "' in request.userInfo.extra && request.name in request.userInfo.extra['" + nodeOfToken + "']",
				Message:    OwnNodeMessage,
			}},
		},
	}
	return []*unstructured.Unstructured{admission("ValidatingAdmissionPolicy", policy), admission("ValidatingAdmissionPolicyBinding", guardBinding(ownNode))}
}
