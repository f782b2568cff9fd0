package v1beta1_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/hypershift-on-azure/hypershift/config"
)

// TestDefinitions compares what clients see of the kinds beside their fields. A column is HEADER=PATH, with a type in front when
// it is not text; a "+" marks the wide ones.
func TestDefinitions(t *testing.T) {
	const condition = `.status.conditions[?(@.type=="%s")].%s`
	status := func(kind string) string { return fmt.Sprintf(condition, kind, "status") }
	message := func(kind string) string { return fmt.Sprintf(condition, kind, "message") }
	for plural, want := range map[string]struct {
		short, subresources, categories string
		columns                         []string
	}{
		"hostedclusters": {"hc hcs", "status", "", []string{
			`Version=.status.version.history[?(@.state=="Completed")].version`,
			`CP Version=.status.controlPlaneVersion.history[?(@.state=="Completed")].version`,
			"KubeConfig=.status.kubeconfig.name",
			`Progress=.status.version.history[?(@.state!="")].state`,
			"Available=" + status("Available"), "Progressing=" + status("Progressing"), "Message=" + message("Available"),
			"+CP Progress=.status.controlPlaneVersion.history[0].state", "+DP Progress=.status.version.history[0].state",
		}},
		"nodepools": {"np nps", "status scale=.spec.replicas,.status.replicas", "", []string{
			"Cluster=.spec.clusterName", "integer Desired Nodes=.spec.replicas", "integer Current Nodes=.status.replicas",
			"Autoscaling=" + status("AutoscalingEnabled"), "Autorepair=" + status("AutorepairEnabled"), "Version=.status.version",
			"UpdatingVersion=" + status("UpdatingVersion"), "UpdatingConfig=" + status("UpdatingConfig"), "Message=" + message("Ready"),
		}},
		"hostedcontrolplanes": {"hcp hcps", "status", "cluster-api", nil},
		"controlplanecomponents": {"cpc cpcs", "status", "", []string{
			"Version=.status.version", "Available=" + status("Available"), "RolloutComplete=" + status("RolloutComplete"),
			"Message=" + message("Available"), "+RolloutCompleteMessage=" + message("RolloutComplete"),
		}},
		"azureprivatelinkservices": {"azpls", "status", "", []string{
			"PLS Alias=.status.privateLinkServiceAlias", "Endpoint IP=.status.privateEndpointIP",
			"Available=" + status("AzurePrivateLinkServiceAvailable"), "date Age=.metadata.creationTimestamp",
		}},
		"certificatesigningrequestapprovals": {"csra csras", "", "", nil},
	} {
		t.Run(plural, func(t *testing.T) {
			raw, err := config.CRDs.ReadFile("crd/hypershift/hypershift.openshift.io_" + plural + ".yaml")
			if err != nil {
				t.Fatal(err)
			}
			definition := &apiextensionsv1.CustomResourceDefinition{}
			if err := yaml.UnmarshalStrict(raw, definition); err != nil {
				t.Fatal(err)
			}
			names, version := definition.Spec.Names, definition.Spec.Versions[0]
			if len(definition.Spec.Versions) != 1 || version.Name != "v1beta1" || !version.Served || !version.Storage || definition.Spec.Scope != "Namespaced" {
				t.Errorf("versions %+v, scope %s", definition.Spec.Versions, definition.Spec.Scope)
			}
			if got := strings.Join(names.ShortNames, " "); got != want.short || strings.Join(names.Categories, " ") != want.categories {
				t.Errorf("short names %s, categories %s", got, names.Categories)
			}
			if got := subresources(version.Subresources); got != want.subresources {
				t.Errorf("subresources %s, want %s", got, want.subresources)
			}
			if got, want := strings.Join(columns(version), "\n"), strings.Join(want.columns, "\n"); got != want {
				t.Errorf("columns\n%s\nwant\n%s", got, want)
			}
			if definition.Annotations["release.openshift.io/feature-set"] != "Default" {
				t.Errorf("annotations %v", definition.Annotations)
			}
		})
	}
}

// TestCarriedKinds stores objects of the kinds that are only kept, with any content.
func TestCarriedKinds(t *testing.T) {
	cluster := connect(t, &server)
	ctx := context.Background()
	for _, kind := range []struct {
		group, plural, kind string
		namespaced          bool
	}{
		{"certificates", "certificatesigningrequestapprovals", "CertificateSigningRequestApproval", true},
		{"certificates", "certificaterevocationrequests", "CertificateRevocationRequest", true},
		{"scheduling", "clustersizingconfigurations", "ClusterSizingConfiguration", false},
		{"auditlogpersistence", "auditlogpersistenceconfigs", "AuditLogPersistenceConfig", false},
	} {
		version := schema.GroupVersion{Group: kind.group + ".hypershift.openshift.io", Version: "v1alpha1"}
		var resource dynamic.ResourceInterface = cluster.client.Resource(version.WithResource(kind.plural))
		if kind.namespaced {
			resource = cluster.client.Resource(version.WithResource(kind.plural)).Namespace("clusters")
		}
		obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"any": []any{"thing"}}}}
		obj.SetGroupVersionKind(version.WithKind(kind.kind))
		obj.SetName("cluster")
		stored, err := resource.Create(ctx, obj, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
		if err != nil {
			t.Errorf("%s: %v", kind.kind, err)
			continue
		}
		if losses := lost("", obj.Object, stored.Object); len(losses) > 0 {
			t.Errorf("%s loses %v", kind.kind, losses)
		}
	}
}

func subresources(all *apiextensionsv1.CustomResourceSubresources) string {
	var out []string
	if all != nil && all.Status != nil {
		out = append(out, "status")
	}
	if all != nil && all.Scale != nil {
		out = append(out, "scale="+all.Scale.SpecReplicasPath+","+all.Scale.StatusReplicasPath)
		if all.Scale.LabelSelectorPath != nil {
			out = append(out, "selector")
		}
	}
	return strings.Join(out, " ")
}

func columns(version apiextensionsv1.CustomResourceDefinitionVersion) []string {
	var out []string
	for _, column := range version.AdditionalPrinterColumns {
		text := column.Name + "=" + column.JSONPath
		if column.Type != "string" {
			text = column.Type + " " + text
		}
		if column.Priority > 0 {
			text = "+" + text
		}
		out = append(out, text)
	}
	return out
}
