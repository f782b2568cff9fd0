package clusterfile_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/hypershift-on-azure/hypershift/internal/cli/clusterfile"
)

// flags of every type.
func flags() *pflag.FlagSet {
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.String("name", "", "a")
	f.String("pull-secret", "", "a")
	f.Duration("node-drain-timeout", 0, "a")
	f.Int32("node-pool-replicas", 0, "a")
	f.Bool("fips", false, "a")
	f.StringArray("cluster-cidr", []string{"10.132.0.0/14"}, "a")
	f.StringSlice("availability-zones", nil, "a")
	f.StringToString("node-selector", nil, "a")
	f.Bool("wait", false, "a")
	f.Bool("interactive", false, "a")
	f.String("alias", "", "a")
	_ = f.MarkHidden("alias")
	return f
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cluster.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const head = "apiVersion: cli.hypershift.openshift.io/v1\nkind: AzureCluster\n"

// What the file says is as if it were typed; what is typed wins; paths begin at the file.
func TestFill(t *testing.T) {
	path := write(t, head+`spec:
  name: of the file
  pull-secret: secrets/pull.json
  node-drain-timeout: 3m
  node-pool-replicas: 2
  fips: true
  cluster-cidr: [10.1.0.0/16, 10.2.0.0/16]
  availability-zones: ["1", "a,b"]
  node-selector: {a: "b,c=d", e: f}
`)
	f := flags()
	if err := f.Parse([]string{"--name", "typed"}); err != nil {
		t.Fatal(err)
	}
	filled, err := clusterfile.Fill(f, path)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"availability-zones", "cluster-cidr", "fips", "node-drain-timeout", "node-pool-replicas", "node-selector", "pull-secret"}; !slices.Equal(filled, want) {
		t.Errorf("filled %v", filled)
	}
	zones, _ := f.GetStringSlice("availability-zones")
	ranges, _ := f.GetStringArray("cluster-cidr")
	selector, _ := f.GetStringToString("node-selector")
	for name, want := range map[string]string{"name": "typed", "pull-secret": filepath.Join(filepath.Dir(path), "secrets/pull.json"), "node-drain-timeout": "3m0s", "node-pool-replicas": "2", "fips": "true"} {
		if got := f.Lookup(name).Value.String(); got != want || !f.Changed(name) {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if !slices.Equal(zones, []string{"1", "a,b"}) || !slices.Equal(ranges, []string{"10.1.0.0/16", "10.2.0.0/16"}) || len(selector) != 2 || selector["a"] != "b,c=d" {
		t.Errorf("%v %v %v", zones, ranges, selector)
	}
}

// Every member has an origin, one that is false, 0 or empty by default, too; what says how a command runs has none.
func TestOrigins(t *testing.T) {
	f := flags()
	if err := f.Parse([]string{"--name", "typed", "--pull-secret", "answered", "--wait"}); err != nil {
		t.Fatal(err)
	}
	got := clusterfile.Origins(f, map[string]string{"pull-secret": "asked", "fips": "nobody"})
	want := []clusterfile.Origin{
		{Flag: "availability-zones", Value: "[]", From: "default"}, {Flag: "cluster-cidr", Value: "[10.132.0.0/14]", From: "default"},
		{Flag: "fips", Value: "false", From: "default"}, {Flag: "name", Value: "typed", From: "flag"},
		{Flag: "node-drain-timeout", Value: "0s", From: "default"}, {Flag: "node-pool-replicas", Value: "0", From: "default"},
		{Flag: "node-selector", Value: "[]", From: "default"}, {Flag: "pull-secret", Value: "answered", From: "asked"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}

// Whatever is not meant is refused, with the member.
func TestFillRefuses(t *testing.T) {
	for text, word := range map[string]string{
		"kind: AzureCluster\n": `apiVersion ""`,
		"apiVersion: cli.hypershift.openshift.io/v2\nkind: AzureCluster\n": "this program reads cli.hypershift.openshift.io/v1",
		head + "specs: {}\n":                         "specs",
		head + "spec: {name: a, name: b}\n":          "name",
		head + "spec: {namme: a}\n":                  "no member spec.namme; did you mean name?",
		head + "spec: {wait: true}\n":                "no member spec.wait",
		head + "spec: {alias: a}\n":                  "no member spec.alias",
		head + "spec: {name: 3}\n":                   "spec.name has the wrong type: it is of type string",
		head + "spec: {node-pool-replicas: two}\n":   "of type integer",
		head + "spec: {node-pool-replicas: 2.5}\n":   "of type integer",
		head + "spec: {fips: \"true\"}\n":            "of type boolean",
		head + "spec: {cluster-cidr: 10.0.0.0/16}\n": "of type list of strings",
		head + "spec: {cluster-cidr: [1]}\n":         "an entry that is no string",
		head + "spec: {node-selector: [a]}\n":        "of type map of strings",
		head + "spec: {node-selector: {a: 1}}\n":     "a value that is no string",
		head + "spec: {node-drain-timeout: soon}\n":  "spec.node-drain-timeout",
	} {
		if _, err := clusterfile.Fill(flags(), write(t, text)); err == nil || !strings.Contains(err.Error(), word) || !strings.Contains(err.Error(), "--file") {
			t.Errorf("%q: %v, want %q", text, err, word)
		}
	}
	if _, err := clusterfile.Fill(flags(), "absent.yaml"); err == nil || !strings.Contains(err.Error(), "absent.yaml") {
		t.Error(err)
	}
}

func TestSchema(t *testing.T) {
	raw, err := clusterfile.Schema(flags())
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Properties struct {
			Spec struct {
				AdditionalProperties bool                             `json:"additionalProperties"`
				Properties           map[string]struct{ Type string } `json:"properties"`
			} `json:"spec"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatal(err)
	}
	spec := schema.Properties.Spec
	for name, kind := range map[string]string{"name": "string", "node-drain-timeout": "string", "node-pool-replicas": "integer", "fips": "boolean", "cluster-cidr": "array", "node-selector": "object", "wait": "", "interactive": "", "alias": ""} {
		if spec.Properties[name].Type != kind {
			t.Errorf("%s is of type %q", name, spec.Properties[name].Type)
		}
	}
	if spec.AdditionalProperties || !strings.Contains(clusterfile.Markdown(flags()), "| `fips` | boolean |") {
		t.Error("the schema or the page says too little")
	}
}
