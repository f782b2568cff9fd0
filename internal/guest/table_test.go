package guest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/table"
	"github.com/hypershift-on-azure/hypershift/internal/guest/access"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
)

// Guests of the table: one on Azure with everything that is there without being asked for, and one on platform None whose user
// configured what can be, with fewer capabilities.
const (
	guestAzure = "azure"
	guestNone  = "none"
)

var guarded = []any{"apiservers", "authentications", "dnses", "featuregates", "images", "imagecontentpolicies", "networks", "oauths", "proxies", "schedulers"}

// factsOfRows are what <x> means in the table, for each guest.
var factsOfRows = map[string]map[string]any{
	guestAzure: {
		"hcp": "demo", "infraID": "demo-x1", "clusterID": testClusterID, "domain": "demo.example.com", "api": "api.demo.example.com:443", "konnectivity": "konnectivity.example.com",
		"resource group": "group", "subscription": "subscription", "tenant": "tenant", "services": "10.0.0.0/24", "name service": "10.0.0.10", "infrastructure replicas": 2, "infrastructure topology": "HighlyAvailable",
		"disk identity": identityOf("disk"), "file identity": identityOf("file"), "registry identity": identityOf("registry"), "ingress identity": identityOf("ingress"),
		"ingress domain": "apps.demo.example.com", "authentication type": nil, "registry sources": nil, "proxy": nil, "no proxy": nil, "all no proxy": nil,
		"apps domain": nil, "public zone": "/subscriptions/s/zone", "trusted": nil, "tls profile": nil,
		"guarded": slices.Concat(guarded, []any{"ingresses", "operatorhubs"}),
		"install configuration": `apiVersion: v1
baseDomain: example.com
controlPlane:
  name: master
  replicas: 3
credentialsMode: Manual
metadata:
  name: demo
networking:
  clusterNetwork:
  - cidr: 10.132.0.0/14
    hostPrefix: 24
  networkType: OVNKubernetes
  serviceNetwork:
  - 10.0.0.0/24
platform:
  azure:
    cloudName: AzurePublicCloud
    region: eastus
    resourceGroupName: group
publish: External
`,
	},
	guestNone: {
		"hcp": "demo", "infraID": "demo-x1", "clusterID": testClusterID, "domain": "demo.example.com", "api": "api.demo.example.com:443", "konnectivity": "konnectivity.example.com",
		"services": "10.0.0.0/24", "name service": "10.0.0.10", "infrastructure replicas": 1, "infrastructure topology": "SingleReplica", "ingress domain": "apps.chosen.example.com", "authentication type": "OIDC",
		"registry sources": map[string]any{"insecureRegistries": []any{"r.example.com"}},
		"proxy":            "http://proxy:3128", "no proxy": "internal.example.com",
		"all no proxy": ".cluster.local,.local,.svc,10.0.0.0/24,10.132.0.0/14,127.0.0.1,internal.example.com,localhost",
		"apps domain":  "apps.mine.example.com", "public zone": "/subscriptions/s/zone", "trusted": map[string]any{"name": proxyTrust},
		"tls profile": map[string]any{"type": "Modern", "modern": map[string]any{}},
		"guarded":     slices.Concat(guarded, []any{"operatorhubs"}),
		"install configuration": `apiVersion: v1
baseDomain: example.com
controlPlane:
  name: master
  replicas: 3
metadata:
  name: demo
networking:
  clusterNetwork:
  - cidr: 10.132.0.0/14
    hostPrefix: 24
  networkType: OVNKubernetes
  serviceNetwork:
  - 10.0.0.0/24
platform:
  none: {}
publish: External
`,
	},
}

// namesOfUsers are objects whose names users choose.
var namesOfUsers = strings.NewReplacer("<trusted CA>", proxyTrust, "<image trusted CA>", imageTrust, "<issuer CA>", issuerTrust, "<client secret>", oidcSecret,
	"<kubelet configuration>", "any")

// TestGuestOnAzure asserts the table for a guest on Azure, and whose Nodes it keeps; TestGuestConfiguration does for the other one.
func TestGuestOnAzure(t *testing.T) {
	s := startOperator(t, azureGuest())
	s.checkTable(guestAzure)
	s.changesOwnNode()
	s.nodesOfOtherClusters()
}

// guestTable asserts the rows of one guest.
type guestTable struct {
	*server
	guest string
	// byKind are the resources that the API server has, by kind.
	byKind map[string][]schema.GroupVersionKind
}

// checkTable waits until every row that the guest has is as the table says, then looks for what should not be there.
func (s *server) checkTable(guest string) {
	s.t.Helper()
	rows, err := table.Load()
	s.must(err)
	c, version := &guestTable{server: s, guest: guest}, versionOf(s.plane().Spec.ReleaseImage)
	s.eventually(func() error {
		if hcp := s.plane(); hcp.Status.VersionStatus == nil || hcp.Status.VersionStatus.Desired.Version != version || !apimeta.IsStatusConditionTrue(hcp.Status.Conditions, hyperv1.ConfigOperatorReconcileSucceeded) {
			return errors.New("the hosted control plane does not know the version, or the operator fails")
		}
		c.discover()
		var failed []error
		for _, row := range rowsOf(rows) {
			if _, group, _, _ := row.Reference(); row.Here(guest, version) && !aggregated[group] {
				failed = append(failed, c.there(row))
			}
		}
		return errors.Join(failed...)
	})
	known := map[string]bool{}
	for _, row := range rowsOf(rows) {
		if row.Here(guest, version) {
			known[c.key(row)] = true
		}
	}
	for _, row := range rowsOf(rows) {
		if len(row.Guests) > 0 && row.When == "" || row.Guests == nil && row.When != "" {
			s.t.Errorf("%s: guests and when belong together", row.Object)
		}
		if !known[c.key(row)] {
			c.notThere(row)
		}
	}
	c.noOthers(known)
}

// aggregated are groups that another API server answers for, of which none runs here.
var aggregated = func() map[string]bool {
	out := map[string]bool{"metrics.k8s.io": true, "packages.operators.coreos.com": true}
	for _, group := range []string{"apps", "authorization", "build", "image", "oauth", "project", "quota", "route", "security", "template", "user"} {
		out[group+".openshift.io"] = true
	}
	return out
}()

func rowsOf(rows *table.Table) []table.GuestObject {
	var out []table.GuestObject
	for _, group := range rows.Guest {
		out = append(out, group.Objects...)
	}
	return out
}

func (c *guestTable) discover() {
	c.t.Helper()
	found, err := discovery.NewDiscoveryClientForConfig(c.config)
	c.must(err)
	groups, err := found.ServerGroups()
	c.must(err)
	c.byKind = map[string][]schema.GroupVersionKind{}
	for _, group := range groups.Groups {
		// The API server plays the management cluster too; no guest has its kinds.
		if aggregated[group.Name] || strings.HasSuffix(group.Name, "cluster.x-k8s.io") || group.Name == hyperv1.GroupVersion.Group {
			continue
		}
		list, err := found.ServerResourcesForGroupVersion(group.PreferredVersion.GroupVersion)
		c.must(err)
		for _, resource := range list.APIResources {
			if slices.Contains(resource.Verbs, "list") {
				c.byKind[resource.Kind] = append(c.byKind[resource.Kind], schema.FromAPIVersionAndKind(list.GroupVersion, resource.Kind))
			}
		}
	}
}

// kindOf is what a row's kind is on the API server, which may not have it.
func (c *guestTable) kindOf(row table.GuestObject) (schema.GroupVersionKind, bool) {
	kind, group, _, _ := row.Reference()
	for _, gvk := range c.byKind[kind] {
		if group == gvk.Group || group == "" && !strings.HasSuffix(gvk.Group, ".openshift.io") {
			return gvk, true
		}
	}
	return schema.GroupVersionKind{}, false
}

func (c *guestTable) key(row table.GuestObject) string {
	gvk, _ := c.kindOf(row)
	_, _, namespace, name := row.Reference()
	return gvk.GroupKind().String() + "/" + namespace + "/" + namesOfUsers.Replace(name)
}

func (c *guestTable) get(row table.GuestObject) (*unstructured.Unstructured, error) {
	gvk, served := c.kindOf(row)
	if !served {
		return nil, &apimeta.NoKindMatchError{}
	}
	_, _, namespace, name := row.Reference()
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(gvk)
	return obj, c.client.Get(c.t.Context(), client.ObjectKey{Namespace: namespace, Name: namesOfUsers.Replace(name)}, obj)
}

// there tells what an object lacks of its row.
func (c *guestTable) there(row table.GuestObject) error {
	obj, err := c.get(row)
	if err != nil {
		return fmt.Errorf("%s: %w", row.Object, err)
	}
	if obj.GetKind() == "Secret" {
		inClear(obj)
	}
	return errors.Join(within(c.fill(row.Content), obj.Object, row.Object), c.containers(row, obj))
}

func inClear(obj *unstructured.Unstructured) {
	secret := &corev1.Secret{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, secret); err != nil {
		panic(err)
	}
	data := map[string]any{}
	for key, value := range secret.Data {
		data[key] = string(value)
	}
	obj.Object["data"] = data
}

func (c *guestTable) containers(row table.GuestObject, obj *unstructured.Unstructured) error {
	if row.Image == "" && obj.GetKind() != "Deployment" && obj.GetKind() != "DaemonSet" {
		return nil
	}
	workload := &appsv1.Deployment{} // a DaemonSet's template is at the same place
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, workload); err != nil {
		return err
	}
	spec := workload.Spec.Template.Spec
	var args []string
	var failed []error
	for i, container := range slices.Concat(spec.InitContainers, spec.Containers) {
		args = append(args, container.Args...)
		key := row.ImageOf(i)
		if want := c.images[key]; container.Image != want || want == "" {
			failed = append(failed, fmt.Errorf("%s: container %s has image %q, the table says %q", row.Object, container.Name, container.Image, key))
		}
	}
	for _, arg := range row.Args {
		if !slices.Contains(args, fmt.Sprint(c.fill(arg))) {
			failed = append(failed, fmt.Errorf("%s has no argument %s", row.Object, arg))
		}
	}
	return errors.Join(failed...)
}

// fill puts the guest's facts where the table has <x>.
func (c *guestTable) fill(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, item := range v {
			out[key] = c.fill(item)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = c.fill(v[i])
		}
		return out
	case string:
		v = strings.ReplaceAll(v, "<version>", versionOf(c.plane().Spec.ReleaseImage))
		for name, fact := range factsOfRows[c.guest] {
			if v == "<"+name+">" {
				return fact
			}
			v = strings.ReplaceAll(v, "<"+name+">", fmt.Sprint(fact))
		}
		return v
	}
	return value
}

func (c *guestTable) notThere(row table.GuestObject) {
	c.t.Helper()
	if _, err := c.get(row); !apierrors.IsNotFound(err) && !apimeta.IsNoMatchError(err) {
		c.t.Errorf("%s is there in guest %s (%v), the table says %q", row.Object, c.guest, err, row.When+row.Absent)
	}
}

// noOthers: whatever the operator, or the rights it starts with, brought into the guest has a row.
func (c *guestTable) noOthers(known map[string]bool) {
	c.t.Helper()
	for _, gvk := range slices.Concat(values(c.byKind)...) {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		c.must(c.client.List(c.t.Context(), list))
		for i := range list.Items {
			obj := &list.Items[i]
			ours := obj.Labels[hyperv1.ManagedByLabel] == inside.ManagedBy || slices.ContainsFunc(obj.ManagedFields, func(m metav1.ManagedFieldsEntry) bool {
				return m.Manager == inside.FieldManager || m.Manager == access.BootstrapManager
			})
			key := gvk.GroupKind().String() + "/" + obj.Namespace + "/" + obj.Name
			if ours && obj.Namespace != testNamespace && !known[key] {
				c.t.Errorf("guest %s: %s is in no row: add it to internal/controlplane/table/guest.yaml", c.guest, key)
			}
		}
	}
}

func values[K comparable, V any](m map[K]V) []V {
	var out []V
	for _, v := range m {
		out = append(out, v)
	}
	return out
}

// within tells in what got is other than want, which may say less.
func within(want, got any, path string) error {
	switch w := want.(type) {
	case map[string]any:
		have, _ := got.(map[string]any)
		for key, value := range w {
			if err := within(value, have[key], path+"."+key); err != nil {
				return err
			}
		}
		return nil
	case []any:
		have, _ := got.([]any)
		if len(have) == len(w) {
			for i := range w {
				if err := within(w[i], have[i], fmt.Sprintf("%s[%d]", path, i)); err != nil {
					return err
				}
			}
			return nil
		}
	}
	a, _ := json.Marshal(want)
	b, _ := json.Marshal(got)
	if string(a) != string(b) {
		return fmt.Errorf("%s is %s, want %s", path, b, a)
	}
	return nil
}
