// Package table is HyperShift's hosted control plane on Azure as data: its workloads, certificates and endpoints, and the objects in the guest, each with what is there, what differs, or why it is absent. Tests assert every row on a real API server, and
// docs/reference/control-plane.md is printed from it; no program reads it.
package table

import (
	"embed"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/yaml"
)

//go:embed *.yaml
var files embed.FS

// OpenShift and Payload are the two usual reasons for an absent row.
const (
	OpenShift = "openshift"
	Payload   = "payload"
)

// Row is what every row can say about itself.
type Row struct {
	// Absent is why nothing is there; OpenShift and Payload are printed at length.
	Absent string `json:"absent,omitempty"`
	// Differs is in which way, and why, something else is there than in HyperShift.
	Differs string `json:"differs,omitempty"`
	// Payload is the kind of payload with which it is there; empty means every kind.
	Payload string `json:"payload,omitempty"`
	// Since and Before are minor versions of the payload, such as 4.22: the first that has it, and the first that has it no more.
	Since  string `json:"since,omitempty"`
	Before string `json:"before,omitempty"`
}

// renumbered is the minor version of 4 that is 5.0.
const renumbered = 23

// Release is what rows depend on: the kind of a payload and its version.
type Release struct{ Kind, Version string }

// There tells whether the row is there with a payload.
func (r Row) There(with Release) bool {
	return r.Absent == "" && (r.Payload == "" || r.Payload == with.Kind) && with.reached(r.Since) && (r.Before == "" || !with.reached(r.Before))
}

// reached tells whether the payload is of the minor version or a newer one.
func (r Release) reached(minor string) bool {
	if minor == "" {
		return true
	}
	return minorOf(r.Version) >= minorOf(minor)
}

// minorOf counts minor versions; 5.0 is 4.23.
func minorOf(text string) uint {
	v := version.MustParseGeneric(text) // tests write it
	return v.Major()*renumbered + v.Minor()
}

// Reached are the things of all minor versions that the payload has reached, and those of the others.
func (r Release) Reached(since map[string][]string) (known, unknown []string) {
	for _, minor := range slices.Sorted(maps.Keys(since)) {
		if r.reached(minor) {
			known = append(known, since[minor]...)
		} else {
			unknown = append(unknown, since[minor]...)
		}
	}
	return known, unknown
}

// Workload is one component.
type Workload struct {
	Row
	Name string `json:"name"`
	// Kind defaults to Deployment.
	Kind string `json:"kind,omitempty"`
	// Replicas of a highly available control plane default to one; a single-replica one has one of each.
	Replicas int32 `json:"replicas,omitempty"`
	// Priority defaults to hypershift-control-plane.
	Priority string `json:"priority,omitempty"`
	// Grace is the termination grace period in seconds.
	Grace int64 `json:"grace,omitempty"`
	// Token mounts the pod's own service account token.
	Token bool `json:"token,omitempty"`
	// Disruption is a PodDisruptionBudget when highly available.
	Disruption bool `json:"disruption,omitempty"`
	// Waits is an argument of the init container that holds the others back.
	Waits string `json:"waits,omitempty"`
	// Mounts are Secrets and ConfigMaps, as kind/name.
	Mounts []string `json:"mounts,omitempty"`
	// MountsOf are those with a kind of payload.
	MountsOf map[string][]string `json:"mountsOf,omitempty"`
	// MountsSince are those from a minor version of the payload on; older ones have none of them.
	MountsSince map[string][]string `json:"mountsSince,omitempty"`
	// Images are those of the payload that the workload names to others, besides those of its containers.
	Images []string `json:"images,omitempty"`
	// Planes that have it; empty means all.
	Planes     []string    `json:"planes,omitempty"`
	Containers []Container `json:"containers"`
}

// Facts of a container that can be other than HyperShift's.
type Facts struct {
	Image    string  `json:"image,omitempty"`
	Requests string  `json:"requests,omitempty"`
	Ports    []int32 `json:"ports,omitempty"`
	Live     string  `json:"live,omitempty"`
	Ready    string  `json:"ready,omitempty"`
}

// Container of a workload.
type Container struct {
	Row
	Facts
	Name string `json:"name"`
	Init bool   `json:"init,omitempty"`
	// Ours replaces facts; Differs says why.
	Ours       Facts    `json:"ours,omitempty"`
	Args       []string `json:"args,omitempty"`
	ArgsHA     []string `json:"argsHA,omitempty"`
	ArgsSingle []string `json:"argsSingle,omitempty"`
	Planes     []string `json:"planes,omitempty"`
	// ArgsOf are those with a kind of payload.
	ArgsOf map[string][]string `json:"argsOf,omitempty"`
	// ArgsSince are those from a minor version of the payload on; older ones are told none of them.
	ArgsSince map[string][]string `json:"argsSince,omitempty"`
}

// Wanted are the facts of the container as it is made here.
func (c Container) Wanted() Facts {
	out := c.Facts
	for _, f := range []struct{ into, ours *string }{
		{&out.Image, &c.Ours.Image}, {&out.Requests, &c.Ours.Requests}, {&out.Live, &c.Ours.Live}, {&out.Ready, &c.Ours.Ready},
	} {
		if *f.ours != "" {
			*f.into = *f.ours
		}
	}
	if c.Ours.Ports != nil {
		out.Ports = c.Ours.Ports
	}
	return out
}

// Authority is a certificate authority.
type Authority struct {
	Row
	Secret string `json:"secret"`
	CN     string `json:"cn"`
	OU     string `json:"ou"`
	// Keys are those of the certificate and of the key; ca.crt and ca.key unless said.
	Keys    []string `json:"keys,omitempty"`
	Bundles []string `json:"bundles,omitempty"`
}

// Certificate is a leaf.
type Certificate struct {
	Row
	Secret string   `json:"secret"`
	Signer string   `json:"signer"`
	CN     string   `json:"cn"`
	Orgs   []string `json:"orgs,omitempty"`
	// Usage is client, server or both.
	Usage string   `json:"usage"`
	SANs  []string `json:"sans,omitempty"`
	Keys  []string `json:"keys,omitempty"`
	// Days are how long it is valid; 365 where nothing is said.
	Days int `json:"days,omitempty"`
}

// Kubeconfig is a Secret with a kubeconfig.
type Kubeconfig struct {
	Row
	Secret string `json:"secret"`
	Key    string `json:"key,omitempty"`
	// Server is service, localhost, external or custom.
	Server string `json:"server"`
	// Scope is the label that tells from where it works.
	Scope string `json:"scope"`
	// Client is the Secret of its certificate.
	Client string `json:"client"`
}

// Endpoint is a Service or Route.
type Endpoint struct {
	Row
	Kind        string            `json:"kind"`
	Name        string            `json:"name"`
	Type        string            `json:"type,omitempty"`
	Ports       []string          `json:"ports,omitempty"`
	Host        string            `json:"host,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	// Labels of a Route, all of them; of a Service, some.
	Labels map[string]string `json:"labels,omitempty"`
	// Sources are the ranges that a load balancer lets in.
	Sources []string `json:"sources,omitempty"`
	// Planes that have it; empty means all.
	Planes []string `json:"planes,omitempty"`
}

// Publishing is a way to publish a service.
type Publishing struct {
	Row
	Service string `json:"service"`
	Type    string `json:"type"`
	// Default: the command line chooses it.
	Default bool `json:"default,omitempty"`
	// Only is where it is allowed when that is not everywhere.
	Only  string `json:"only,omitempty"`
	Plane string `json:"plane,omitempty"`
	// Address is where it is then found.
	Address string `json:"address,omitempty"`
}

// Table is everything.
type Table struct {
	Workloads    []Workload
	Authorities  []Authority
	Certificates []Certificate
	Kubeconfigs  []Kubeconfig
	Endpoints    []Endpoint
	Publishing   []Publishing
	Guest        []GuestGroup
}

// Load reads the embedded files; an unknown field is an error.
func Load() (*Table, error) {
	t := &Table{}
	for name, into := range map[string]any{
		"workloads": &t.Workloads, "authorities": &t.Authorities, "certificates": &t.Certificates, "kubeconfigs": &t.Kubeconfigs,
		"endpoints": &t.Endpoints, "publishing": &t.Publishing, "guest": &t.Guest,
	} {
		raw, err := files.ReadFile(name + ".yaml")
		if err == nil {
			err = yaml.UnmarshalStrict(raw, into)
		}
		if err != nil {
			return nil, fmt.Errorf("read %s.yaml: %w", name, err)
		}
	}
	return t, nil
}
