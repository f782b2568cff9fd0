package configuration

import (
	"encoding/base64"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
)

// aggregatedGroups are the API groups of each of OpenShift's aggregated API servers.
var aggregatedGroups = map[string][]string{
	contract.OpenShiftAPIServer: {"apps.openshift.io", "authorization.openshift.io", "build.openshift.io", "image.openshift.io", "quota.openshift.io",
		"route.openshift.io", "security.openshift.io", "template.openshift.io", "project.openshift.io"},
	contract.OAuthAPIServer: {"oauth.openshift.io", "user.openshift.io"},
	contract.PackageServer:  {"packages.operators.coreos.com"},
}

// aggregatedAPIs have the guest's API server ask the aggregated ones, whose certificates are of the control plane's authority.
func aggregatedAPIs(facts *inside.Facts) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for server := range facts.Aggregated {
		// Groups of OpenShift's come before definitions of the same name; packages do not.
		priority := int64(9900)
		if server == contract.PackageServer {
			priority = 2000
		}
		for _, group := range aggregatedGroups[server] {
			out = append(out, apiService(facts, group, "v1", priority, 15, map[string]any{"namespace": metav1.NamespaceDefault, "name": server, "port": int64(443)}))
		}
	}
	return out
}

// apiService is a group that a Service of the guest serves, with a certificate of the control plane's authority.
func apiService(facts *inside.Facts, group, version string, groupPriority, priority int64, service map[string]any) *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"group": group, "version": version, "groupPriorityMinimum": groupPriority, "versionPriority": priority,
		"caBundle": base64.StdEncoding.EncodeToString([]byte(facts.RootCA)), "service": service,
	}}}
	out.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"})
	out.SetName(version + "." + group)
	return out
}
