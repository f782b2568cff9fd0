// Package imagetest finds in what components make who uses an image of the payload, and compares it with the table of images.
package imagetest

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/hypershift-on-azure/hypershift/internal/controlplane/table"
)

// repositories of the images that tests give to the two releases.
var repositories = map[string]string{
	table.ControlPlaneRelease: "quay.io/control-plane@sha256:",
	table.GuestRelease:        "quay.io/hosted-cluster@sha256:",
}

// Payload is the images of a release, by their keys.
func Payload(release string, keys ...string) map[string]string {
	out := map[string]string{}
	for _, key := range keys {
		out[key] = repositories[release] + key
	}
	return out
}

var reference = regexp.MustCompile(`quay\.io/(control-plane|hosted-cluster)@sha256:([a-z0-9-]+)`)

// found are the images in a text.
func found(text string) []table.ImageUse {
	var uses []table.ImageUse
	for _, match := range reference.FindAllStringSubmatch(text, -1) {
		uses = append(uses, table.ImageUse{Key: match[2], Release: strings.ReplaceAll(match[1], "-", " ")})
	}
	return uses
}

// Pod finds what the pods of a workload run, and what they are told of.
func Pod(workload string, spec corev1.PodSpec) []table.ImageUse {
	var uses []table.ImageUse
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		user := workload + "/" + c.Name
		for _, use := range found(c.Image) {
			use.User, use.Start = user, started(c)
			uses = append(uses, use)
		}
		for _, env := range c.Env {
			uses = append(uses, named(user, env.Name, env.Value)...)
		}
		for _, arg := range slices.Concat(c.Command, c.Args) {
			name, _, _ := strings.Cut(arg, "=")
			uses = append(uses, named(user, name, arg)...)
		}
	}
	return uses
}

// ConfigMap finds what its files name.
func ConfigMap(m corev1.ConfigMap) []table.ImageUse {
	var uses []table.ImageUse
	for file, text := range m.Data {
		uses = append(uses, named("ConfigMap/"+m.Name, file, text)...)
	}
	return uses
}

func named(user, by, text string) []table.ImageUse {
	uses := found(text)
	for i := range uses {
		uses[i].User, uses[i].Names = user, by
	}
	return uses
}

// started is the program of a container up to its first flag; a shell's is said as such.
func started(c corev1.Container) string {
	words := c.Command
	if len(words) == 0 {
		words = []string{"entry point"}
	}
	if slices.Contains(words, "-c") {
		return words[0] + " with a script"
	}
	words = slices.Concat(words, c.Args)
	if flag := slices.IndexFunc(words, func(word string) bool { return strings.HasPrefix(word, "-") || strings.HasPrefix(word, "$") }); flag >= 0 {
		words = words[:flag]
	}
	return strings.Join(words, " ")
}

// Merge puts together what payloads of several kinds make: what every kind has names none.
func Merge(byKind map[string][]table.ImageUse) []table.ImageUse {
	kinds := map[table.ImageUse][]string{}
	for kind, uses := range byKind {
		for _, use := range uses {
			if !slices.Contains(kinds[use], kind) {
				kinds[use] = append(kinds[use], kind)
			}
		}
	}
	var out []table.ImageUse
	for use, have := range kinds {
		if len(have) < len(byKind) {
			use.Payload = have[0]
		}
		out = append(out, use)
	}
	slices.SortFunc(out, table.ImageUse.Compare)
	return out
}

// Check compares the uses with the rows of a file of the table, or rewrites it.
func Check(t *testing.T, path string, uses []table.ImageUse, rewrite bool) {
	t.Helper()
	var text bytes.Buffer
	text.WriteString("# Written by the test with -update.\n")
	for _, use := range uses {
		one, err := yaml.Marshal([]table.ImageUse{use})
		if err != nil {
			t.Fatal(err)
		}
		text.Write(one)
	}
	if rewrite {
		if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var rows []table.ImageUse
	if err := yaml.UnmarshalStrict(raw, &rows); err != nil {
		t.Fatal(err)
	}
	for _, use := range uses {
		if !slices.Contains(rows, use) {
			t.Errorf("image %s of the %s's release is used by %s (%s%s, payload %q), and has no row in %s: run with -update and look at the difference",
				use.Key, use.Release, use.User, use.Start, use.Names, use.Payload, path)
		}
	}
	for _, row := range rows {
		if !slices.Contains(uses, row) {
			t.Errorf("%s says of image %s what is not so: %+v", path, row.Key, row)
		}
	}
}
