// Package pkioperator gives access to a hosted cluster in emergencies: it keeps two signers of administrators' certificates, signs the requests
// that somebody has approved, and revokes all that a signer has signed. The API server trusts the signers by client-ca.
package pkioperator

import (
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/kube/rbac"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// Name of the component, its Deployment and the subcommand.
const Name = contract.PKIOperator

const metricsPort = 8443

// Component is the program of the control-plane-operator's image.
func Component() component.Component {
	return component.Component{
		Name: Name,
		Kind: release.KindOpenShift,
		Enabled: func(ctx *component.Context) bool {
			_, off := ctx.HCP.Annotations[hyperv1.DisablePKIReconciliationAnnotation]
			return !off
		},
		Traits:  component.Traits{ManagementAccess: true, Recreate: true},
		Objects: objects,
	}
}

func objects(ctx *component.Context) ([]client.Object, error) {
	rights := component.Access(Name, ctx.Namespace(),
		rbac.Rule("hypershift.openshift.io", "get", "hostedcontrolplanes"),
		rbac.Rule("", "get,create,update", "configmaps", "secrets"),
		rbac.Rule("", "list", "pods"),
		rbac.Rule(groupVersion.Group, rbac.Read, "certificatesigningrequestapprovals", "certificaterevocationrequests"),
		rbac.Rule(groupVersion.Group, "patch", "certificaterevocationrequests/status"),
	)
	var env []corev1.EnvVar
	if scale := ctx.Settings.CertificateScale; scale != "" {
		env = component.Environment(contract.CertificateScaleEnv, scale)
	}
	spec := corev1.PodSpec{Containers: []corev1.Container{{
		Name: Name, Image: ctx.Settings.Image,
		Command:   []string{component.Binary, Name, "--namespace=" + ctx.Namespace(), "--name=" + ctx.HCP.Name, "--metrics-addr=0.0.0.0:8443"},
		Env:       env,
		Ports:     []corev1.ContainerPort{component.TCPPort("metrics", metricsPort)},
		Resources: component.Requests("10m", "80Mi"),
	}}}
	return append(rights, component.NewDeployment(Name, spec)), nil
}
