package table

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// GuestGroup is a paragraph of the list of objects that the config operator keeps inside a hosted cluster.
type GuestGroup struct {
	Group   string        `json:"group"`
	Objects []GuestObject `json:"objects"`
}

// GuestObject is one of them.
type GuestObject struct {
	Row
	// Object is kind[.group]/[namespace/]name.
	Object string `json:"object"`
	// Guests of the test that have it, all where empty; When says to a person what those have in common.
	Guests []string `json:"guests,omitempty"`
	When   string   `json:"when,omitempty"`
	// Content is what the object holds at least; a list holds as many items. Data of Secrets is in clear text, null is nothing.
	Content map[string]any `json:"content,omitempty"`
	// Image is the payload's key of all containers, Images those of each where they differ; Args are arguments of one of them.
	Image  string   `json:"image,omitempty"`
	Images []string `json:"images,omitempty"`
	Args   []string `json:"args,omitempty"`
}

// ImageOf is the payload's key of a container, by its place.
func (o GuestObject) ImageOf(container int) string {
	if container < len(o.Images) {
		return o.Images[container]
	}
	return o.Image
}

// Reference takes the object's name apart.
func (o GuestObject) Reference() (kind, group, namespace, name string) {
	kind, name, _ = strings.Cut(o.Object, "/")
	kind, group, _ = strings.Cut(kind, ".")
	if before, after, found := strings.Cut(name, "/"); found {
		namespace, name = before, after
	}
	return kind, group, namespace, name
}

// GuestOpenShift is the guest of the test with a payload of OpenShift's, on Azure.
const GuestOpenShift = "openshift"

// Here tells whether the guest of the test has the object, with a release of the version.
func (o GuestObject) Here(guest, version string) bool {
	with, like := Release{"Kubernetes", version}, guest
	if guest == GuestOpenShift {
		with.Kind, like = "OpenShift", "azure"
	}
	return o.There(with) && (len(o.Guests) == 0 || slices.Contains(o.Guests, like))
}

func (t *Table) guestRows() []Row {
	var out []Row
	for _, group := range t.Guest {
		out = append(out, rowsOf(group.Objects, func(o GuestObject) Row { return o.Row })...)
	}
	return out
}

const guestHead = `
What hosted-cluster-config-operator keeps inside a hosted cluster, and repairs when somebody there changes it. Asserted by internal/guest on a real API server, on Azure and on platform None.
**OpenShift**: what only OpenShift's own programs read; its place are the lists ` + "`addons`" + ` of ` + "`internal/guest/addons`" + ` and ` + "`configuration`" + ` of ` + "`internal/guest/configuration`" + `.
`

func (t *Table) printGuest(b *strings.Builder) {
	fmt.Fprintf(b, "\n## Objects in the guest\n%s\n", guestHead)
	columns(b, "Group", "Object", "When", "Content", "There")
	for _, group := range t.Guest {
		name := group.Group
		for _, o := range group.Objects {
			line(b, name, code(o.Object), o.When, o.summary(), o.status())
			name = ""
		}
	}
}

// summary of the content: paths and values.
func (o GuestObject) summary() string {
	var out []string
	if o.Image != "" {
		out = append(out, "image "+code(o.Image))
	}
	for _, image := range o.Images {
		out = append(out, "image "+code(image))
	}
	for _, arg := range o.Args {
		out = append(out, code(arg))
	}
	for _, path := range flat("", o.Content) {
		out = append(out, code(path))
	}
	return strings.Join(out, " ")
}

func flat(path string, value any) []string {
	fields, isMap := value.(map[string]any)
	if !isMap {
		encoded, err := json.Marshal(value)
		if err != nil { // it was decoded from YAML
			panic(err)
		}
		unescaped := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(encoded))
		return []string{path + "=" + strings.Trim(unescaped, `"`)}
	}
	var out []string
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		out = append(out, flat(strings.TrimPrefix(path+"."+key, "."), fields[key])...)
	}
	return out
}
