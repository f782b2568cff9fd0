package machines

import (
	"flag"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/hypershift-on-azure/hypershift/internal/clusterconfig"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/imagetest"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/planetest"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/table"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

var update = flag.Bool("update", false, "rewrite the table of images")

// TestImages: the images of the managers of machines have their rows.
func TestImages(t *testing.T) {
	images := imagetest.Payload(table.ControlPlaneRelease, release.KeyClusterAPI, release.KeyAzureProvider)
	uses := map[string][]table.ImageUse{}
	for _, kind := range []release.Kind{release.KindKubernetes, release.KindOpenShift} {
		own, provider := deployments(Payload{Core: images[release.KeyClusterAPI], Provider: images[release.KeyAzureProvider], Kind: kind, Version: "5.0.0"})
		uses[string(kind)] = append(imagetest.Pod("Deployment/"+own.Name, own.Spec.Template.Spec), imagetest.Pod("Deployment/"+provider.Name, provider.Spec.Template.Spec)...)
	}
	imagetest.Check(t, "../../controlplane/table/images-machines.yaml", imagetest.Merge(uses), *update)
}

func deployments(payload Payload) (own, provider *appsv1.Deployment) {
	return coreDeployment("clusters-demo", payload), providerDeployment("clusters-demo", payload, "quay.io/helper@sha256:1", planetest.Plane().Spec.Platform.Azure)
}

// TestOpenShiftManagers: OpenShift's programs are started by their images, and told what their version knows and nothing more.
func TestOpenShiftManagers(t *testing.T) {
	core := slices.Concat([]string{"--namespace=clusters-demo", "--v=4"}, electionFlags)
	provider := slices.Concat([]string{"--namespace=clusters-demo"}, electionFlags,
		[]string{"--feature-gates=MachinePool=false,ASOAPI=false", "--disable-controllers-or-webhooks=DisableASOSecretController"})
	const unchecked, left = "--feature-gates=MachineSetPreflightChecks=false", "--skip-crd-migration-phases=StorageVersionMigration,CleanupManagedFields"
	for version, more := range map[string][2][]string{
		"4.18.30": {}, "4.19.0": {{unchecked}}, "4.20.1": {{unchecked, left}}, "4.22.0": {{unchecked, left}},
		"5.0.0": {{unchecked, left, "--tls-min-version=VersionTLS13"}, {"--tls-min-version=VersionTLS13"}},
	} {
		own, azure := deployments(Payload{Core: "core", Provider: "provider", Kind: release.KindOpenShift, Version: version, TLS: clusterconfig.TLS{MinVersion: "VersionTLS13"}})
		for i, test := range []struct {
			d     *appsv1.Deployment
			image string
			args  []string
		}{{own, "core", core}, {azure, "provider", provider}} {
			c := test.d.Spec.Template.Spec.Containers[0]
			if want := slices.Concat(test.args, more[i]); c.Image != test.image || len(c.Command) > 0 || !slices.Equal(c.Args, want) {
				t.Errorf("%s: %s %v %v, want %v", version, c.Image, c.Command, c.Args, want)
			}
			if c.VolumeMounts[0].MountPath != openShiftCertDir {
				t.Errorf("%s: certificates at %s", version, c.VolumeMounts[0].MountPath)
			}
		}
	}
}
