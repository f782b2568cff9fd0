package controlplane

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/table"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

func (f *fixture) checkEndpoints(rows *table.Table, plane string, more ...string) {
	f.Helper()
	services, routes := &corev1.ServiceList{}, &unstructured.UnstructuredList{}
	routes.SetGroupVersionKind(publish.RouteKind)
	f.list(services)
	f.list(routes)
	live := map[string]table.Endpoint{}
	for i := range services.Items {
		live["Service/"+services.Items[i].Name] = endpointOfService(&services.Items[i])
	}
	for i := range routes.Items {
		r := &routes.Items[i]
		host, _, _ := unstructured.NestedString(r.Object, "spec", "host")
		termination, _, _ := unstructured.NestedString(r.Object, "spec", "tls", "termination")
		f.same("termination of Route "+r.GetName(), termination, "passthrough")
		live["Route/"+r.GetName()] = table.Endpoint{Host: host, Annotations: r.GetAnnotations(), Labels: r.GetLabels()}
	}
	wanted := map[string]bool{}
	for _, row := range rows.Endpoints {
		if !row.There(f.payload) || !exists(row.Planes, plane) && !slices.ContainsFunc(more, func(also string) bool { return exists(row.Planes, also) }) {
			continue
		}
		key := row.Kind + "/" + row.Name
		wanted[key] = true
		have, made := live[key]
		if !made {
			f.Errorf("plane %s: %s is missing", plane, key)
			continue
		}
		f.checkEndpoint(key, have, row)
	}
	for key := range live {
		if !wanted[key] {
			f.Errorf("plane %s: %s is there, and the table does not say so", plane, key)
		}
	}
}

func (f *fixture) checkEndpoint(key string, have, row table.Endpoint) {
	f.Helper()
	f.same("type of "+key, have.Type, row.Type)
	f.same("host of "+key, have.Host, f.fill(row.Host))
	f.sameSet("ports of "+key, have.Ports, row.Ports)
	f.sameSet("source ranges of "+key, have.Sources, row.Sources)
	for name, value := range row.Annotations {
		f.same("annotation "+name+" of "+key, have.Annotations[name], f.fill(value))
	}
	labels := map[string]string{}
	for name, value := range row.Labels {
		labels[name] = f.fill(value)
	}
	if row.Kind == "Service" {
		maps.DeleteFunc(have.Labels, func(name, _ string) bool { return labels[name] == "" })
	}
	if len(labels)+len(have.Labels) > 0 && !maps.Equal(have.Labels, labels) {
		f.Errorf("labels of %s are %v, the table says %v", key, have.Labels, labels)
	}
	if _, dns := have.Annotations[hyperv1.ExternalDNSHostnameAnnotation]; dns && row.Annotations[hyperv1.ExternalDNSHostnameAnnotation] == "" {
		f.Errorf("%s asks for a DNS record, and the table does not say so", key)
	}
}

func endpointOfService(s *corev1.Service) table.Endpoint {
	e := table.Endpoint{Type: string(s.Spec.Type), Annotations: s.Annotations, Labels: s.Labels, Sources: s.Spec.LoadBalancerSourceRanges}
	if s.Spec.ClusterIP == corev1.ClusterIPNone {
		e.Type = "headless"
	}
	for _, p := range s.Spec.Ports {
		e.Ports = append(e.Ports, fmt.Sprintf("%d>%s", p.Port, p.TargetPort.String()))
	}
	return e
}

func (f *fixture) checkPublishing(rows *table.Table, plane string) {
	f.Helper()
	endpoints, err := publish.Read(context.Background(), f.client, f.hcp)
	if err != nil {
		f.Fatal(err)
	}
	where := map[string]publish.Endpoint{"APIServer": endpoints.APIServer, "Konnectivity": endpoints.Konnectivity, "Ignition": endpoints.Ignition}
	if f.payload.Kind == string(release.KindOpenShift) {
		login, waiting, err := publish.ReadLogin(context.Background(), f.client, f.hcp)
		if err != nil || waiting != "" {
			f.Errorf("plane %s: where users log in: %s, %v", plane, waiting, err)
		}
		where["OAuthServer"] = login
	}
	for _, row := range rows.Publishing {
		if row.There(f.payload) && row.Plane == plane {
			e := where[row.Service]
			f.same(row.Service+" by "+row.Type, fmt.Sprintf("%s:%d", e.Host, e.Port), f.fill(row.Address))
		}
	}
	if e := f.hcp.Status.ControlPlaneEndpoint; e.Host != endpoints.APIServer.Host || e.Port != endpoints.APIServer.Port {
		f.Errorf("plane %s: the status tells %+v, the API server is at %+v", plane, e, endpoints.APIServer)
	}
}
