package install

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/hypershift-on-azure/hypershift/internal/install"
)

// rendered are options of an installation whose parameters all have a value.
func rendered(t *testing.T) *install.Options {
	t.Helper()
	o := install.Everything("4711")
	o.Image, o.ImagePullPolicy, o.RegistryOverrides, o.KeyVaultClientID = "registry:5000/operator@sha256:0123", "IfNotPresent", "quay.io=mirror", "id"
	o.ExternalDNS.Image, o.ExternalDNS.TXTOwnerID, o.ExternalDNS.Interval = "dns:1", "owner", "2m"
	return o
}

func objectsOf(t *testing.T, o *install.Options) map[string]map[string]any {
	t.Helper()
	objs, err := toApply(o.Objects())
	if err != nil {
		t.Fatal(err)
	}
	crds, err := definitions(o)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]any{}
	for _, obj := range append(objs, crds...) {
		out[kindAndName(obj)] = normal(t, obj.Object)
	}
	return out
}

// normal is the object as one reads it from a file.
func normal(t *testing.T, v any) map[string]any {
	t.Helper()
	raw, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]any{}
	if err := yaml.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// process does what OpenShift does with a Template: ${NAME} is replaced within a text, ${{NAME}} replaces the text by a value.
func process(t *testing.T, raw []byte, values map[string]string) []*unstructured.Unstructured {
	t.Helper()
	var file struct {
		Kind       string
		Metadata   struct{ Name string }
		Objects    []map[string]any
		Parameters []struct{ Name, Description, Value string }
	}
	if err := yaml.UnmarshalStrict(bytes.ReplaceAll(raw, []byte("apiVersion: template.openshift.io/v1\n"), nil), &file); err != nil {
		t.Fatal(err)
	}
	if file.Kind != "Template" || file.Metadata.Name != "hypershift-operator-template" {
		t.Errorf("it is a %s %q", file.Kind, file.Metadata.Name)
	}
	declared := map[string]string{}
	for _, p := range file.Parameters {
		if p.Description == "" {
			t.Errorf("parameter %s is not described", p.Name)
		}
		declared[p.Name] = p.Value
	}
	maps.Copy(declared, values)
	used := map[string]bool{}
	replace := func(match string) string {
		name := strings.Trim(match, "${}\"'")
		value, known := declared[name]
		if !known {
			t.Errorf("the parameter %s is not declared", name)
		}
		used[name] = true
		return value
	}
	var out []*unstructured.Unstructured
	for _, object := range file.Objects {
		text, err := yaml.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		text = regexp.MustCompile(`["']?\$\{\{[A-Z0-9_]+\}\}["']?`).ReplaceAllFunc(text, func(m []byte) []byte { return []byte(replace(string(m))) })
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(text, &u.Object); err != nil {
			t.Fatal(err)
		}
		u.Object = eachText(u.Object, func(s string) string { return regexp.MustCompile(`\$\{[A-Z0-9_]+\}`).ReplaceAllStringFunc(s, replace) }).(map[string]any)
		out = append(out, u)
	}
	for name := range declared {
		if !used[name] {
			t.Errorf("the parameter %s is declared and not used", name)
		}
	}
	return out
}

func eachText(v any, change func(string) string) any {
	switch v := v.(type) {
	case string:
		return change(v)
	case []any:
		for i := range v {
			v[i] = eachText(v[i], change)
		}
	case map[string]any:
		for name := range v {
			v[name] = eachText(v[name], change)
		}
	}
	return v
}

func TestTemplate(t *testing.T) {
	r := installRender{format: "yaml", outputs: "all", template: true}
	if _, err := r.render(rendered(t)); err == nil || !strings.Contains(err.Error(), "--render-sensitive") {
		t.Errorf("without Secrets: %v", err)
	}
	r.sensitive = true
	raw, err := r.render(rendered(t))
	if err != nil {
		t.Fatal(err)
	}
	want := objectsOf(t, rendered(t))
	processed := process(t, raw, nil)
	definitionsBegin := slices.IndexFunc(processed, func(u *unstructured.Unstructured) bool { return u.GetKind() == "CustomResourceDefinition" })
	for i, u := range processed {
		if (u.GetKind() == "CustomResourceDefinition") != (i >= definitionsBegin) {
			t.Errorf("object %d, %s: the definitions are not last", i, kindAndName(u))
		}
		expected := want[kindAndName(u)]
		if kindAndName(u) == "Deployment 4711/operator" {
			unstructured.RemoveNestedField(expected, "metadata", "annotations")
		}
		if got := normal(t, u.Object); !reflect.DeepEqual(got, expected) {
			t.Errorf("%s:\n got %v\nwant %v", kindAndName(u), got, expected)
		}
	}
	if len(processed) != len(want) {
		t.Errorf("%d objects, want %d", len(processed), len(want))
	}

	// What whoever processes it decides.
	for _, u := range process(t, raw, map[string]string{"OPERATOR_IMG": "mine", "IMAGE_TAG": "v2", "NAMESPACE": "other", "OPERATOR_REPLICAS": "3", "EXTERNAL_DNS_INTERVAL": "9m"}) {
		text := fmt.Sprint(u.Object)
		if strings.Contains(text, "4711") {
			t.Errorf("%s still names the namespace", kindAndName(u))
		}
		if replicas, _, _ := unstructured.NestedFieldNoCopy(u.Object, "spec", "replicas"); kindAndName(u) == "Deployment other/operator" && (!strings.Contains(text, "image:mine:v2 ") || fmt.Sprint(replicas) != "3") {
			t.Errorf("image or replicas: %s", text)
		}
		if kindAndName(u) == "Deployment other/external-dns" && !strings.Contains(text, "--interval=9m") {
			t.Errorf("interval: %s", text)
		}
	}
}

// helm does what Helm does with a chart.
func helm(t *testing.T, dir, namespace, set string) map[string]map[string]any {
	t.Helper()
	values, release := map[string]any{}, map[string]any{"Namespace": namespace}
	raw, err := os.ReadFile(filepath.Join(dir, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(raw, &values); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(set), &values); err != nil {
		t.Fatal(err)
	}
	functions := template.FuncMap{
		"quote": func(s string) string { return fmt.Sprintf("%q", s) },
		"default": func(otherwise, given string) string {
			if given == "" {
				return otherwise
			}
			return given
		},
	}
	out := map[string]map[string]any{}
	for _, folder := range []string{"crds", "templates"} {
		files, err := filepath.Glob(filepath.Join(dir, folder, "*.yaml"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s is empty: %v", folder, err)
		}
		for _, file := range files {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var text bytes.Buffer
			text.Write(raw)
			if folder == "templates" {
				parsed, err := template.New(filepath.Base(file)).Option("missingkey=error").Funcs(functions).Parse(string(raw))
				if err != nil {
					t.Fatal(err)
				}
				text.Reset()
				if err := parsed.Execute(&text, map[string]any{"Values": values, "Release": release}); err != nil {
					t.Fatal(err)
				}
			}
			u := &unstructured.Unstructured{}
			if err := yaml.Unmarshal(text.Bytes(), &u.Object); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if want := strings.ToLower(u.GetKind()) + "-" + u.GetName() + ".yaml"; filepath.Base(file) != want {
				t.Errorf("%s holds what belongs into %s", file, want)
			}
			out[kindAndName(u)] = normal(t, u.Object)
		}
	}
	return out
}

func TestChart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "chart")
	files, err := chart(rendered(t))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := writeChart(dir, files); err != nil {
			t.Fatal(err)
		}
	}
	want := objectsOf(t, rendered(t))
	delete(want, "Namespace 4711")
	got := helm(t, dir, "4711", "")
	for name := range want {
		if !reflect.DeepEqual(got[name], want[name]) {
			t.Errorf("%s:\n got %v\nwant %v", name, got[name], want[name])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d objects, want %d", len(got), len(want))
	}
	changed := helm(t, dir, "other", "{image: mine, imagetag: v2, externaldns: {credsSecret: s, domainFilter: d.example, txtOwnerId: me, image: 'dns:2', interval: 9m}}")
	if text := fmt.Sprint(changed["Deployment other/operator"]); !strings.Contains(text, "image:mine:v2 ") {
		t.Errorf("values change nothing: %s", text)
	}
	if text := fmt.Sprint(changed["Deployment other/external-dns"]); !strings.Contains(text, "secretName:s]") || !strings.Contains(text, "--domain-filter=d.example") || !strings.Contains(text, "image:dns:2 ") {
		t.Errorf("values change nothing: %s", text)
	}
	if info, err := os.Stat(filepath.Join(dir, "templates", "secret-pull-secret.yaml")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the Secret's file: %v, %v", info, err)
	}

	// A file of somebody else's would be applied by Helm.
	if err := os.WriteFile(filepath.Join(dir, "templates", "mine.yaml"), []byte("a: b"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeChart(dir, files); err == nil || !strings.Contains(err.Error(), "templates/mine.yaml") {
		t.Errorf("a stranger's file: %v", err)
	}
}
