package kubetest

import (
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/hypershift-on-azure/hypershift/config"
)

// InstallRoutes adds the one API of OpenShift's that the controllers use, with any content.
func InstallRoutes(t testing.TB, restConfig *rest.Config) {
	t.Helper()
	install(t, restConfig, "route.openshift.io", "Route", "routes")
}

// InstallPodMonitors adds the API of the Prometheus operator that control planes use, with any content.
func InstallPodMonitors(t testing.TB, restConfig *rest.Config) {
	t.Helper()
	install(t, restConfig, "monitoring.coreos.com", "PodMonitor", "podmonitors")
}

// InstallTechPreview puts the definitions of technology previews in the place of the others.
func InstallTechPreview(t testing.TB, restConfig *rest.Config) {
	t.Helper()
	if _, err := envtest.InstallCRDs(restConfig, envtest.CRDInstallOptions{CRDs: read(t, config.TechPreview)}); err != nil {
		t.Fatalf("install the definitions of technology previews: %v", err)
	}
}

func install(t testing.TB, restConfig *rest.Config, group, kind, plural string) {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: kind, ListKind: kind + "List", Plural: plural, Singular: strings.ToLower(kind)},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: ptr.To(true),
				}},
			}},
		},
	}
	if _, err := envtest.InstallCRDs(restConfig, envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{crd}}); err != nil {
		t.Fatalf("install the definition of %s: %v", plural, err)
	}
}
