package controlplane

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// plainKinds are the kinds of which a control plane of plain Kubernetes is made, besides Secrets.
var plainKinds = []schema.GroupVersionKind{
	appsv1.SchemeGroupVersion.WithKind("Deployment"), appsv1.SchemeGroupVersion.WithKind("StatefulSet"),
	corev1.SchemeGroupVersion.WithKind("Service"), corev1.SchemeGroupVersion.WithKind("ConfigMap"), corev1.SchemeGroupVersion.WithKind("ServiceAccount"),
	rbacv1.SchemeGroupVersion.WithKind("Role"), rbacv1.SchemeGroupVersion.WithKind("RoleBinding"),
}

// checkPlain compares all that a payload of plain Kubernetes makes with what it made when the golden files were written: what is there
// for OpenShift's payloads changes nothing of it.
func (f *fixture) checkPlain() {
	f.Helper()
	f.checkObjects("plain", plainKinds...)
	var names []string
	for name, data := range f.secrets() {
		for key := range data {
			names = append(names, name+" "+key)
		}
	}
	slices.Sort(names)
	f.golden("plain/secret.txt", []byte(strings.Join(names, "\n")+"\n"))
}

// checkObjects compares the objects of some kinds with golden files of a directory.
func (f *fixture) checkObjects(dir string, kinds ...schema.GroupVersionKind) {
	f.Helper()
	for _, kind := range kinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		f.list(list)
		slices.SortFunc(list.Items, func(a, b unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
		var text bytes.Buffer
		for i := range list.Items {
			one, err := yaml.Marshal(lasting(list.Items[i].Object))
			if err != nil {
				f.Fatal(err)
			}
			text.WriteString("---\n")
			text.Write(one)
		}
		f.golden(dir+"/"+strings.ToLower(kind.Kind)+".yaml", text.Bytes())
	}
}

func (f *fixture) golden(name string, got []byte) {
	f.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			f.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		before, after := strings.Split(string(want), "\n"), strings.Split(string(got), "\n")
		line := 0
		for line < min(len(before), len(after)) && before[line] == after[line] {
			line++
		}
		f.Errorf("the payload makes something else than %s from line %d on; if that is meant, run with -update and look at the difference:\n%s",
			path, line+1, strings.Join(after[line:min(len(after), line+12)], "\n"))
	}
}

// lasting is what of an object is the same in every run: neither the server's own nor what follows from keys.
func lasting(object map[string]any) map[string]any {
	out := map[string]any{}
	for key, value := range object {
		switch key {
		case "status", "apiVersion", "kind":
		case "metadata":
			metadata := value.(map[string]any)
			out[key] = map[string]any{"name": metadata["name"], "labels": metadata["labels"], "annotations": withoutKeys(metadata["annotations"])}
		default:
			out[key] = withoutKeys(value)
		}
	}
	for _, path := range [][]string{{"spec", "clusterIP"}, {"spec", "clusterIPs"}} {
		unstructured.RemoveNestedField(out, path...)
	}
	return out
}

// withoutKeys replaces what follows from keys, and times.
func withoutKeys(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, member := range v {
			if strings.HasSuffix(key, "-hash") || strings.HasPrefix(key, "desired-hash.") || key == "nodePort" || key == "creationTimestamp" {
				member = "-"
			}
			out[key] = withoutKeys(member)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, member := range v {
			out[i] = withoutKeys(member)
		}
		return out
	case string:
		if strings.Contains(v, "BEGIN CERTIFICATE") {
			return "certificates"
		}
	}
	return value
}
