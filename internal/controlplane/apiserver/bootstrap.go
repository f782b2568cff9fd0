package apiserver

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/featuregates"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

const (
	authenticationImage = contract.ImageAuthentication
	bootstrapVolume     = "bootstrap-manifests"
	bootstrapDir        = "/work"

	makeFolder = `mkdir -p "$1"
`
	// takeRendered keeps what a program has rendered below $1.
	takeRendered = `find "$1/output" "$1/manifests" -type f -name '*.yaml' -exec cp {} ` + bootstrapDir + `/ \;
`
	// firstRights are those of the program that applies what was rendered, and of the config operator.
	firstRights = `administers() {
  cat >` + bootstrapDir + `/"$1" <<END
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: $2
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: cluster-admin
subjects:
- apiGroup: rbac.authorization.k8s.io
  kind: User
  name: $3
END
}
administers 00_kas-bootstrap-container-rolebinding.yaml kas-bootstrap-container-cluster-admin system:kas-bootstrap-container
administers hcco-rolebinding.yaml hcco-cluster-admin system:hosted-cluster-config
`
	// renderAuthentication is featuregates.Render by the program that has OAuth's own definition. The FeatureGate is the other one's.
	renderAuthentication = `set -euo pipefail
cd "$1"
mkdir -p output manifests
printf '%s' "$FEATURE_GATE_YAML" >manifests/99_feature-gate.yaml
/usr/bin/authentication-operator render --asset-output-dir "$1/output" --rendered-manifest-dir="$1/manifests" --cluster-profile=ibm-cloud-managed --payload-version="$PAYLOAD_VERSION"
rm -f manifests/99_feature-gate.yaml
`
)

// addBootstrap has programs of an OpenShift payload render the definitions and the FeatureGate that everything else in the guest begins with,
// and one of this project's apply them to the pod's own server.
func addBootstrap(ctx *component.Context, pod *corev1.PodSpec) error {
	if ctx.Payload != release.KindOpenShift {
		return nil
	}
	env, err := featuregates.Environment(ctx)
	if err != nil {
		return err
	}
	render := func(name, image, dir, script string) corev1.Container {
		return corev1.Container{
			Name: name, Image: ctx.Image(image), Command: []string{"/bin/bash", "-c", makeFolder + script, "render", dir},
			Env: env, Resources: component.Requests("30m", "50Mi"), VolumeMounts: []corev1.VolumeMount{{Name: bootstrapVolume, MountPath: bootstrapDir}},
		}
	}
	pod.InitContainers = append(pod.InitContainers, render("init-bootstrap-render", contract.ImageConfigAPI, "/tmp/bootstrap", featuregates.Render+takeRendered+firstRights))
	// Before 4.20 the first program has OAuth's definition too, and the other one renders nothing.
	if ctx.LogsUsersIn() && ctx.AtLeast(4, 20) {
		pod.InitContainers = append(pod.InitContainers, render("init-auth-bootstrap-render", authenticationImage, "/tmp/auth-bootstrap", renderAuthentication+takeRendered))
	}
	own, local := "/var/secrets/"+pki.APIBootstrapKubeconfig, "/var/secrets/"+localKubeconfig
	pod.Containers = append(pod.Containers, corev1.Container{
		Name: "bootstrap", Image: ctx.Settings.Image, Command: []string{component.Binary, contract.CommandBootstrap, "--resources-path", bootstrapDir},
		Env:       component.Environment("KUBECONFIG", own+"/kubeconfig", contract.AdminKubeconfigEnv, local+"/kubeconfig"),
		Resources: component.Requests("10m", "10Mi"),
		VolumeMounts: []corev1.VolumeMount{component.Mount(bootstrapVolume + ":" + bootstrapDir),
			component.Mount("bootstrap-kubeconfig:" + own), component.Mount("bootstrap-admin:" + local)},
	})
	pod.Volumes = append(pod.Volumes, component.EmptyDirVolume(bootstrapVolume),
		component.SecretVolume("bootstrap-kubeconfig", pki.APIBootstrapKubeconfig), component.SecretVolume("bootstrap-admin", localKubeconfig))
	return nil
}
