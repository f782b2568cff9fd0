package v1beta1_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/config"
	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
)

var server kubetest.Server

func TestMain(m *testing.M) {
	code := m.Run()
	if err := server.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// rule is one entry of testdata/rules.yaml, where the members are explained.
type rule struct {
	Rule   string           `json:"rule"`
	Base   string           `json:"base"`
	Cue    string           `json:"cue"`
	Status bool             `json:"status"`
	Stored map[string]any   `json:"stored"`
	Accept []map[string]any `json:"accept"`
	Refuse []map[string]any `json:"refuse"`
}

// TestRules tries every rule of the API on a real API server.
func TestRules(t *testing.T) {
	refusals := tryRules(t, connect(t, &server), "testdata/rules.yaml")
	const unreachable = "Arch is required once set" // the default fills it in before the rule looks
	for _, message := range messages(t) {
		if message != unreachable && !strings.Contains(refusals, message) {
			t.Errorf("no refused case of rules.yaml shows %q", message)
		}
	}
}

// tryRules tries the rules of a file and returns what refused cases were told.
func tryRules(t *testing.T, cluster cluster, file string) string {
	t.Helper()
	var bases map[string]map[string]any
	load(t, "testdata/bases.yaml", yamlToJSON, &bases)
	var rules []rule
	load(t, file, yaml.YAMLToJSONStrict, &rules)
	var refusals strings.Builder
	for i, r := range rules {
		t.Run(r.Base+": "+r.Rule, func(t *testing.T) {
			base := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(bases[r.Base])}
			base.SetName("rule-" + strconv.Itoa(i))
			try := cluster.creation(t, base)
			if r.Stored != nil || r.Status {
				try = cluster.update(t, base, r)
			}
			for _, change := range r.Accept {
				if err := try(change); err != nil {
					t.Errorf("%v is refused: %v", change, err)
				}
			}
			for _, change := range r.Refuse {
				err := try(change)
				fmt.Fprintln(&refusals, err)
				if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), r.Cue) {
					t.Errorf("%v: error %v, want a refusal that contains %q", change, err, r.Cue)
				}
			}
		})
	}
	return refusals.String()
}

// messages are the texts of all rules in our definitions, but for those borrowed from OpenShift's.
func messages(t *testing.T) []string {
	t.Helper()
	files, err := fs.Glob(config.CRDs, "crd/hypershift/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no definitions: %v", err)
	}
	var all []string
	for _, file := range files {
		raw, err := config.CRDs.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var definition map[string]any
		if err := yaml.Unmarshal(raw, &definition); err != nil {
			t.Fatal(err)
		}
		all = append(all, messagesBelow(definition)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func messagesBelow(node any) []string {
	var all []string
	switch node := node.(type) {
	case []any:
		for _, item := range node {
			all = append(all, messagesBelow(item)...)
		}
	case map[string]any:
		for key, value := range node {
			rules, isRules := value.([]any)
			switch {
			case isRules && key == "x-kubernetes-validations":
				for _, r := range rules {
					if message, ok := r.(map[string]any)["message"].(string); ok {
						all = append(all, message)
					}
				}
			case key == "configuration", key == "endpointPublishingStrategy":
				own := maps.Clone(value.(map[string]any))
				delete(own, "properties")
				all = append(all, messagesBelow(own)...)
			default:
				all = append(all, messagesBelow(value)...)
			}
		}
	}
	return all
}

type cluster struct{ client dynamic.Interface }

func connect(t *testing.T, server *kubetest.Server) cluster {
	t.Helper()
	config := rest.CopyConfig(server.Config(t))
	config.QPS = -1 // hundreds of requests in a row
	config.WarningHandler = rest.NoWarnings{}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	c := cluster{client: client}
	namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "clusters"}}}
	namespaces := client.Resource(namespace.GroupVersionKind().GroupVersion().WithResource("namespaces"))
	if _, err := namespaces.Create(context.Background(), namespace, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	return c
}

func (c cluster) resource(kind string) dynamic.ResourceInterface {
	return c.client.Resource(hyperv1.GroupVersion.WithResource(strings.ToLower(kind) + "s")).Namespace("clusters")
}

// creation tries changes on an object that does not exist yet.
func (c cluster) creation(t *testing.T, base *unstructured.Unstructured) func(map[string]any) error {
	return func(change map[string]any) error {
		obj := changed(t, base, "spec", change)
		_, err := c.resource(base.GetKind()).Create(context.Background(), obj, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
}

// update tries changes on a stored object, of its status where the rule is about that.
func (c cluster) update(t *testing.T, base *unstructured.Unstructured, r rule) func(map[string]any) error {
	t.Helper()
	ctx := context.Background()
	stored, err := c.resource(base.GetKind()).Create(ctx, changed(t, base, "spec", r.Stored), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	part, subresources := "spec", []string(nil)
	if r.Status {
		part, subresources = "status", []string{"status"}
	}
	return func(change map[string]any) error {
		_, err := c.resource(base.GetKind()).Update(ctx, changed(t, stored, part, change), metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}}, subresources...)
		return err
	}
}

// changed returns a copy of the object with the changes made below the part.
func changed(t *testing.T, base *unstructured.Unstructured, part string, changes map[string]any) *unstructured.Unstructured {
	t.Helper()
	obj := base.DeepCopy()
	for _, path := range slices.Sorted(maps.Keys(changes)) {
		keys := []string{part}
		if path != "." {
			keys = append(keys, strings.Split(path, ".")...)
		}
		set(t, obj.Object, keys, value(runtime.DeepCopyJSONValue(changes[path])))
	}
	return obj
}

// set makes the value the one at the path; nil removes the member.
func set(t *testing.T, node any, path []string, value any) {
	t.Helper()
	switch node := node.(type) {
	case map[string]any:
		switch {
		case len(path) > 1:
			if node[path[0]] == nil {
				node[path[0]] = map[string]any{}
			}
			set(t, node[path[0]], path[1:], value)
		case value == nil:
			delete(node, path[0])
		case value == null:
			node[path[0]] = nil
		default:
			node[path[0]] = value
		}
	case []any:
		index, err := strconv.Atoi(path[0])
		if err != nil || index >= len(node) || len(path) == 1 {
			t.Fatalf("no element at %v of %v", path, node)
		}
		set(t, node[index], path[1:], value)
	default:
		t.Fatalf("cannot set %v of %v", path, node)
	}
}

// null stands for a member whose value is null, as opposed to one that is removed.
const null = "\x00null"

// value expands {repeat|list|map: text, times: n} and {"null": true}, at any depth.
func value(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = value(v[i])
		}
	case map[string]any:
		if v["null"] == true {
			return null
		}
		times, _ := v["times"].(int64)
		if text, ok := v["repeat"].(string); ok {
			return strings.Repeat(text, int(times))
		}
		if text, ok := v["list"].(string); ok {
			var list []any
			for i := range times {
				list = append(list, strings.ReplaceAll(text, "%d", strconv.FormatInt(i, 10)))
			}
			return list
		}
		if text, ok := v["map"].(string); ok {
			entries := map[string]any{}
			for i := range times {
				entries[strings.ReplaceAll(text, "%d", strconv.FormatInt(i, 10))] = "v"
			}
			return entries
		}
		for key := range v {
			if expanded := value(v[key]); expanded == null {
				v[key] = nil
			} else {
				v[key] = expanded
			}
		}
	}
	return v
}

func load(t *testing.T, file string, toJSON func([]byte) ([]byte, error), into any) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	asJSON, err := toJSON(raw)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	// Unstructured objects hold int64, not float64, which the standard library makes.
	if err := utiljson.Unmarshal(asJSON, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

func documents(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var objects []*unstructured.Unstructured
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(raw), 4096)
	for {
		obj := &unstructured.Unstructured{}
		err := decoder.Decode(obj)
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		objects = append(objects, obj)
	}
}

// yamlToJSON is not strict: bases override what they merge.
func yamlToJSON(raw []byte) ([]byte, error) { return yaml.YAMLToJSON(raw) }
