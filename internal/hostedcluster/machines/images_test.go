package machines

import (
	"flag"
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/controlplane/imagetest"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/planetest"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/table"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

var update = flag.Bool("update", false, "rewrite the table of images")

// TestImages: the images of the managers of machines have their rows.
func TestImages(t *testing.T) {
	images := imagetest.Payload(table.ControlPlaneRelease, release.KeyClusterAPI, release.KeyAzureProvider)
	azure := planetest.Plane().Spec.Platform.Azure
	own := coreDeployment("clusters-demo", images[release.KeyClusterAPI])
	provider := providerDeployment("clusters-demo", images[release.KeyAzureProvider], "quay.io/helper@sha256:1", azure)
	uses := append(imagetest.Pod("Deployment/"+own.Name, own.Spec.Template.Spec), imagetest.Pod("Deployment/"+provider.Name, provider.Spec.Template.Spec)...)
	imagetest.Check(t, "../../controlplane/table/images-machines.yaml", imagetest.Merge(map[string][]table.ImageUse{"": uses}), *update)
}
