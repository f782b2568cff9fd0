package install

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/hypershift-on-azure/hypershift/internal/buildinfo"
	"github.com/hypershift-on-azure/hypershift/internal/cli/progress"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/install"
)

func newInstallHelmCommand(flags *installFlags) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "helm",
		Short: "Write what install would apply as a Helm chart; needs no cluster",
		Long: `Writes a Helm chart. What its values leave empty is as the flags say. The namespace is the release's; definitions are not templates
in Helm, so that their conversion webhook stays in the namespace of --namespace: give the one that the release will have. Secrets
that come from files are in the chart.`,
		Example: `  hypershift install helm --output-dir chart --limit-crd-install Azure
  hypershift install helm --external-dns-provider=azure --external-dns-secret azure-config-file \
    --external-dns-domain-filter clusters.example.com --limit-crd-install Azure`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := flags.completeAlone(); err != nil {
				return err
			}
			files, err := chart(&flags.Options)
			if err != nil {
				return err
			}
			if err := writeChart(dir, files); err != nil {
				return err
			}
			say := progress.Line(cmd)
			if !flags.NoConversion || !flags.NoCAPIConversion {
				say("warning: definitions are converted by the operator in namespace %s; install the release there", flags.Namespace)
			}
			for _, name := range slices.Sorted(maps.Keys(files)) {
				if strings.HasPrefix(name, secretFiles) {
					say("warning: the chart holds a Secret, in %s", name)
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "output-dir", "./chart", "directory of the chart")
	return cmd
}

// secretFiles is how the paths of Secrets begin.
const secretFiles = "templates/secret-"

// chartValues are the values by parameter; those of no parameter are of other platforms and read by nothing.
var chartValues = map[string]string{
	install.ParameterImage:             "image",
	install.ParameterTag:               "imagetag",
	install.ParameterRegistryOverrides: "registryOverrides",
	install.ParameterKeyVaultClientID:  "azure.keyVault.clientId",
	install.ParameterDNSSecret:         "externaldns.credsSecret",
	install.ParameterDNSDomain:         "externaldns.domainFilter",
	install.ParameterDNSOwner:          "externaldns.txtOwnerId",
	install.ParameterDNSImage:          "externaldns.image",
	install.ParameterDNSInterval:       "externaldns.interval",
}

const emptyValues = `# Empty means what the chart was made with.
image: ""
imagetag: ""
registryOverrides: ""
azure:
  keyVault: {clientId: ""}
externaldns: {credsSecret: "", domainFilter: "", txtOwnerId: "", image: "", interval: "", googleProject: "", awsZonesCacheDuration: ""}
# Other platforms' values, which nothing in this chart reads.
oidc:
  s3: {name: "", region: "", credsSecret: "", credsSecretKey: ""}
aws:
  private: {region: "", credsSecret: "", credsSecretKey: ""}
`

// chart returns the files by their path.
func chart(o *install.Options) (map[string][]byte, error) {
	about, err := yaml.Marshal(map[string]any{
		"apiVersion": "v2", "name": contract.Operator, "type": "application", "version": "0.1.0", "appVersion": buildinfo.Get().Commit,
		"description": "The operator of hosted clusters",
	})
	if err != nil {
		return nil, fmt.Errorf("rendering Chart.yaml: %w", err)
	}
	files := map[string][]byte{"Chart.yaml": about, "values.yaml": []byte(emptyValues)}
	crds, err := definitions(o)
	if err != nil {
		return nil, err
	}
	parameterized, parameters := o.Parameterized()
	objs, err := toApply(parameterized.Objects())
	if err != nil {
		return nil, err
	}
	expand := helmExpressions(parameters)
	for folder, rendered := range map[string][]*unstructured.Unstructured{"crds": crds, "templates": objs} {
		for _, obj := range rendered {
			if obj.GetKind() == "Namespace" {
				continue
			}
			raw, err := yaml.Marshal(obj.Object)
			if err != nil {
				return nil, fmt.Errorf("rendering %s %s: %w", obj.GetKind(), obj.GetName(), err)
			}
			if folder == "templates" {
				raw = []byte(expand(string(raw)))
			}
			file := folder + "/" + strings.ToLower(obj.GetKind()) + "-" + obj.GetName() + ".yaml"
			if files[file] != nil {
				return nil, fmt.Errorf("two objects would be in %s of the chart; this is a mistake in this program", file)
			}
			files[file] = raw
		}
	}
	return files, nil
}

// helmExpressions replaces references to parameters by expressions, and keeps Helm away from what looks like its own.
func helmExpressions(parameters []install.Parameter) func(string) string {
	pairs := []string{"{{", `{{ "{{" }}`}
	for _, p := range parameters {
		expression := fmt.Sprintf(".Values.%s | default %q", chartValues[p.Name], p.Value)
		switch {
		case p.Name == install.ParameterNamespace:
			expression = ".Release.Namespace"
		case chartValues[p.Name] == "":
			continue
		}
		// Alone it is quoted: YAML takes a name of digits for a number.
		for _, before := range []string{": ", "- "} {
			pairs = append(pairs, before+p.Reference()+"\n", before+"{{ "+expression+" | quote }}\n")
		}
		pairs = append(pairs, p.Reference(), "{{ "+expression+" }}")
	}
	return strings.NewReplacer(pairs...).Replace
}

// writeChart refuses a directory with other files, whether they are somebody's or of a chart with more objects: Helm would apply them.
func writeChart(dir string, files map[string][]byte) error {
	var others []string
	for _, folder := range []string{"crds", "templates"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil { //nolint:gosec // a chart is for everybody
			return fmt.Errorf("cannot make --output-dir: %w", err)
		}
		entries, err := os.ReadDir(filepath.Join(dir, folder))
		if err != nil {
			return fmt.Errorf("cannot look into --output-dir: %w", err)
		}
		for _, entry := range entries {
			if name := folder + "/" + entry.Name(); files[name] == nil {
				others = append(others, name)
			}
		}
	}
	if len(others) > 0 {
		return fmt.Errorf("--output-dir %s has files that are not of this chart: %s; delete them or give another directory", dir, strings.Join(others, ", "))
	}
	for name, raw := range files {
		mode := fs.FileMode(0o644)
		if strings.HasPrefix(name, secretFiles) {
			mode = 0o600
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), raw, mode); err != nil {
			return fmt.Errorf("cannot write the chart: %w", err)
		}
	}
	return nil
}
