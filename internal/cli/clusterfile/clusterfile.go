// Package clusterfile is the file that says how a hosted cluster is to be, in place of flags: its members are the flags' names, so that a thing
// has one name.
package clusterfile

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

	"github.com/hypershift-on-azure/hypershift/internal/cli/printing"
)

// The head of the file; a reader refuses every other version.
const (
	APIVersion = "cli.hypershift.openshift.io/v1"
	Kind       = "AzureCluster"
)

// File is the file as it is written.
type File struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Spec       map[string]any `json:"spec"`
}

// ofARun are the flags that say how a command runs, or what it prints, and not how the cluster is to be.
var ofARun = []string{"file", "from", "help", "dry-run", "output", "wait", "timeout", "render", "render-sensitive", "render-into", "skip-preflight", "kubeconfig", "version-check", "strict", "dns-resolver", "interactive"}

// Paths are the members that name files; one that is relative begins at the folder of the file that names it.
var Paths = []string{
	"azure-creds", "pull-secret", "ssh-key", "additional-trust-bundle", "image-content-sources", "infra-json", "sa-token-issuer-private-key-path", "workload-identities-file",
	"managed-identities-file", "data-plane-identities-file", "encryption-key-file", "restore-snapshot-url-file",
}

// IsMember tells whether the flag has a member of its name.
func IsMember(f *pflag.Flag) bool { return !f.Hidden && !slices.Contains(ofARun, f.Name) }

// Fill sets the flags that nobody has typed to what the file says, and returns their names. The error names the file and the member.
func Fill(flags *pflag.FlagSet, path string) ([]string, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the file of --file: %w", err)
	}
	spec, err := Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("--file %s: %w", path, err)
	}
	var filled []string
	for _, name := range slices.Sorted(maps.Keys(spec)) {
		if flag := flags.Lookup(name); flag != nil && IsMember(flag) && flag.Changed {
			continue
		}
		if err := Set(flags, name, spec[name], filepath.Dir(path)); err != nil {
			return nil, fmt.Errorf("--file %s: %w", path, err)
		}
		filled = append(filled, name)
	}
	return filled, nil
}

// Set sets the flag of a member to its value; a path that is relative begins at the folder. The error names the member.
func Set(flags *pflag.FlagSet, name string, value any, folder string) error {
	flag := flags.Lookup(name)
	if flag == nil || !IsMember(flag) {
		return fmt.Errorf("there is no member spec.%s%s", name, suggestion(flags, name))
	}
	texts, err := textsOf(flag, value)
	if err != nil {
		return fmt.Errorf("spec.%s %w", name, err)
	}
	for _, text := range texts {
		if slices.Contains(Paths, name) && text != "" && !filepath.IsAbs(text) {
			text = filepath.Join(folder, text)
		}
		if err := flags.Set(name, text); err != nil {
			return fmt.Errorf("spec.%s: %w", name, err)
		}
	}
	return nil
}

// Parse reads the members of a file.
func Parse(raw []byte) (map[string]any, error) {
	var file File
	if err := yaml.UnmarshalStrict(raw, &file); err != nil {
		return nil, fmt.Errorf("is no file of apiVersion %s, kind %s: %w", APIVersion, Kind, err)
	}
	if file.APIVersion != APIVersion || file.Kind != Kind {
		return nil, fmt.Errorf("apiVersion %q, kind %q: this program reads %s, %s", file.APIVersion, file.Kind, APIVersion, Kind)
	}
	return file.Spec, nil
}

func suggestion(flags *pflag.FlagSet, name string) string {
	var known []string
	flags.VisitAll(func(f *pflag.Flag) {
		if IsMember(f) {
			known = append(known, f.Name)
		}
	})
	if meant := printing.Suggest(name, known); meant != "" {
		return meant
	}
	return "; docs/reference/cluster-file.md has them all"
}

// textsOf are what the flag is set to, one after the other.
func textsOf(flag *pflag.Flag, value any) ([]string, error) {
	kind := kindOf(flag)
	switch v := value.(type) {
	case string:
		if kind == "string" {
			return []string{v}, nil
		}
	case bool:
		if kind == "boolean" {
			return []string{fmt.Sprint(v)}, nil
		}
	case float64:
		if kind == "integer" && v == float64(int64(v)) {
			return []string{fmt.Sprint(int64(v))}, nil
		}
	case []any:
		if kind == "array" {
			return list(flag, v)
		}
	case map[string]any:
		if kind == "object" {
			return pairs(v)
		}
	}
	return nil, fmt.Errorf("has the wrong type: it is of type %s", map[string]string{"string": "string", "boolean": "boolean", "integer": "integer", "array": "list of strings", "object": "map of strings"}[kind])
}

func list(flag *pflag.Flag, values []any) ([]string, error) {
	texts := make([]string, 0, len(values))
	for _, value := range values {
		text, ok := value.(string)
		if !ok {
			return nil, fmt.Errorf("has an entry that is no string: %v", value)
		}
		if flag.Value.Type() == "stringSlice" {
			text = quoted(text)
		}
		texts = append(texts, text)
	}
	return texts, nil
}

func pairs(values map[string]any) ([]string, error) {
	texts := make([]string, 0, len(values))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		text, ok := values[key].(string)
		if !ok {
			return nil, fmt.Errorf("has a value that is no string: %s: %v", key, values[key])
		}
		texts = append(texts, quoted(key+"="+text))
	}
	return texts, nil
}

// quoted is a text as a flag that splits at commas keeps it whole.
func quoted(text string) string {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	_ = w.Write([]string{text}) // a Buffer takes everything
	w.Flush()
	return strings.TrimSuffix(b.String(), "\n")
}

// kindOf is the type of a member, as a schema names it.
func kindOf(flag *pflag.Flag) string {
	switch flag.Value.Type() {
	case "bool":
		return "boolean"
	case "int", "int32", "int64":
		return "integer"
	case "stringSlice", "stringArray":
		return "array"
	case "stringToString":
		return "object"
	}
	return "string"
}

// Schema is the JSON schema of the file, for editors and checks.
func Schema(flags *pflag.FlagSet) ([]byte, error) {
	members := map[string]any{}
	flags.VisitAll(func(f *pflag.Flag) {
		if !IsMember(f) {
			return
		}
		member := map[string]any{"type": kindOf(f), "description": f.Usage}
		switch kindOf(f) {
		case "array":
			member["items"] = map[string]any{"type": "string"}
		case "object":
			member["additionalProperties"] = map[string]any{"type": "string"}
		}
		members[f.Name] = member
	})
	return json.MarshalIndent(map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": Kind + " of " + APIVersion, "type": "object", "additionalProperties": false, "required": []string{"apiVersion", "kind", "spec"},
		"properties": map[string]any{
			"apiVersion": map[string]any{"const": APIVersion}, "kind": map[string]any{"const": Kind},
			"spec": map[string]any{"type": "object", "additionalProperties": false, "properties": members},
		}}, "", "  ")
}

// Markdown is the page of the file's members.
func Markdown(flags *pflag.FlagSet) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# The cluster file\n\n`hypershift create cluster azure --file FILE` (and `preflight cluster --file FILE`) reads how a hosted cluster is to be from a file; a flag that is typed wins over it, and\n"+
		"`--dry-run` prints where each value comes from. Members have the names of the flags; one that there is not, and one of another type, is refused. Those that name files are relative to the\n"+
		"file's folder. `hypershift export cluster NAME` writes the file from a cluster that is there, and names what of it no\n"+
		"member says. [The schema](azurecluster.schema.json) is for editors:\n"+
		"`# yaml-language-server: $schema=azurecluster.schema.json` as the first line.\n\n```yaml\napiVersion: %s\nkind: %s\nspec:\n  name: demo\n  azure-creds: azure-credentials.json\n  pull-secret: pull-secret.json\n  base-domain: example.com\n"+
		"  location: eastus\n  node-pool-replicas: 2\n  cluster-cidr: [10.132.0.0/14]\n  resource-group-tags: {team: a}\n```\n\n| Member | Type | Is |\n|---|---|---|\n", APIVersion, Kind)
	flags.VisitAll(func(f *pflag.Flag) {
		if IsMember(f) {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.Name, kindOf(f), strings.ReplaceAll(f.Usage, "|", "\\|"))
		}
	})
	return b.String()
}
