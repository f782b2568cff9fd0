package ignitionserver

import (
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/featuregates"
	"github.com/hypershift-on-azure/hypershift/internal/kube/rbac"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

const (
	// programsImage has the machine-config programs and the libraries that they need, which the control-plane-operator's image has not.
	programsImage = contract.ImageMachineConfig

	program     = "/programs/control-plane-operator"
	workDir     = "/payloads"
	gateFile    = "/shared/99_feature-gate.yaml"
	writeGate   = `printf '%s' "$FEATURE_GATE_YAML" >` + gateFile
	copyCommand = contract.CommandCopyProgram
)

// OpenShiftComponent is the ignition server of payloads whose own programs configure machines: it runs them.
func OpenShiftComponent() component.Component {
	c := common()
	c.Kind, c.ImageKeys, c.Objects = release.KindOpenShift, []string{programsImage, contract.ImageConfigAPI}, openShiftObjects
	return c
}

func openShiftObjects(ctx *component.Context) ([]client.Object, error) {
	env, err := featuregates.Environment(ctx)
	if err != nil {
		return nil, err
	}
	d := deployment(ctx)
	spec := &d.Spec.Template.Spec
	spec.InitContainers = append(spec.InitContainers,
		corev1.Container{
			Name: "fetch-feature-gate", Image: ctx.Image(contract.ImageConfigAPI), Command: []string{"/bin/bash", "-c", writeGate}, Env: env,
			Resources: component.Requests("10m", "10Mi"), VolumeMounts: []corev1.VolumeMount{{Name: "shared", MountPath: "/shared"}},
		},
		corev1.Container{
			Name: copyCommand, Image: ctx.Settings.Image, Command: []string{component.Binary, copyCommand, "--to=" + program},
			Resources: component.Requests("10m", "10Mi"), VolumeMounts: []corev1.VolumeMount{{Name: "programs", MountPath: "/programs"}},
		})
	server := &spec.Containers[0]
	server.Image = ctx.Image(programsImage)
	server.Command[0] = program
	server.Command = append(server.Command, "--work-dir="+workDir, "--feature-gate-manifest="+gateFile)
	server.VolumeMounts = append(server.VolumeMounts, component.Mount("programs:/programs"), component.Mount("shared:/shared"), corev1.VolumeMount{Name: "payloads", MountPath: workDir})
	spec.Volumes = append(spec.Volumes, component.EmptyDirVolume("programs"), component.EmptyDirVolume("shared"), component.EmptyDirVolume("payloads"))
	return append(rights(ctx, rbac.Rule("hypershift.openshift.io", "update", "hostedcontrolplanes/status")), d), nil
}
