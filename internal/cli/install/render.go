package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/hypershift-on-azure/hypershift/internal/cli/printing"
	"github.com/hypershift-on-azure/hypershift/internal/install"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

type installRender struct {
	format, outputs, file string
	sensitive, template   bool
	byDigest              bool
}

func newInstallRenderCommand(flags *installFlags) *cobra.Command {
	var r installRender
	cmd := &cobra.Command{
		Use:   "render",
		Short: "Print what install would apply; needs no cluster",
		Example: `  hypershift install render --limit-crd-install Azure > install.yaml
  hypershift install render --outputs resources --format json --pull-secret pull-secret.json --render-sensitive
  hypershift install render --template --render-sensitive --limit-crd-install Azure > template.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := flags.completeAlone(); err != nil {
				return err
			}
			if r.byDigest {
				if err := flags.pinAll(cmd.Context(), describeImage(&flags.Options)); err != nil {
					return err
				}
			}
			raw, err := r.render(&flags.Options)
			if err != nil {
				return err
			}
			if r.file == "" {
				_, err = cmd.OutOrStdout().Write(raw)
				return err
			}
			if err := os.WriteFile(r.file, raw, 0o600); err != nil {
				return fmt.Errorf("cannot write --output-file: %w", err)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&r.format, "format", "yaml", "yaml or json")
	cmd.Flags().StringVar(&r.outputs, "outputs", "all", "all, crds or resources")
	cmd.Flags().StringVar(&r.file, "output-file", "", "file to write to instead of stdout")
	cmd.Flags().BoolVar(&r.sensitive, "render-sensitive", false, "include Secrets")
	cmd.Flags().BoolVar(&r.template, "template", false, "print an OpenShift Template with parameters; needs --render-sensitive")
	cmd.Flags().BoolVar(&r.byDigest, "resolve-images", false, "ask the registries, and print images by digest instead of by tag")
	cmd.MarkFlagsMutuallyExclusive("template", "outputs")
	return cmd
}

// completeAlone is complete, and what install would take from the cluster.
func (f *installFlags) completeAlone() error {
	if err := f.complete(); err != nil {
		return err
	}
	f.Router = f.IngressDomain != ""
	if f.ExternalDNS.Provider != "" && f.ExternalDNS.TXTOwnerID == "" {
		f.ExternalDNS.TXTOwnerID = uuid.NewString()
	}
	return nil
}

func (r *installRender) render(o *install.Options) ([]byte, error) {
	if !slices.Contains([]string{"yaml", "json"}, r.format) {
		return nil, fmt.Errorf("--format %q is unknown; use yaml or json%s", r.format, printing.Suggest(r.format, []string{"yaml", "json"}))
	}
	if !slices.Contains([]string{"all", "crds", "resources"}, r.outputs) {
		return nil, fmt.Errorf("--outputs %q is unknown; use all, crds or resources%s", r.outputs, printing.Suggest(r.outputs, []string{"all", "crds", "resources"}))
	}
	render := r.objects
	if r.template {
		render = r.asTemplate
	}
	objs, err := render(o)
	if err != nil {
		return nil, err
	}
	if r.format == "json" {
		return renderJSON(objs)
	}
	return renderYAML(objs)
}

func (r *installRender) objects(o *install.Options) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	if r.outputs != "resources" {
		crds, err := definitions(o)
		if err != nil {
			return nil, err
		}
		out = crds
	}
	if r.outputs != "crds" {
		objs, err := toApply(o.Objects())
		if err != nil {
			return nil, err
		}
		out = append(out, objs...)
	}
	if r.sensitive {
		return out, nil
	}
	return slices.DeleteFunc(out, func(obj *unstructured.Unstructured) bool { return obj.GetKind() == "Secret" }), nil
}

// asTemplate has the definitions last: a template is processed whole.
func (r *installRender) asTemplate(o *install.Options) ([]*unstructured.Unstructured, error) {
	if !r.sensitive {
		return nil, errors.New("--template needs --render-sensitive: a template without its Secrets installs something that does not run")
	}
	parameterized, parameters := o.Parameterized()
	objs, err := toApply(parameterized.Objects())
	if err != nil {
		return nil, err
	}
	crds, err := definitions(parameterized)
	if err != nil {
		return nil, err
	}
	return []*unstructured.Unstructured{install.Template(append(objs, crds...), parameters)}, nil
}

func definitions(o *install.Options) ([]*unstructured.Unstructured, error) {
	crds, err := o.CRDs()
	if err != nil {
		return nil, err
	}
	var objs []client.Object
	for _, crd := range crds {
		objs = append(objs, crd)
	}
	return toApply(objs)
}

// toApply leaves out what only an API server writes.
func toApply(objs []client.Object) ([]*unstructured.Unstructured, error) {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(apiextensionsv1.AddToScheme(scheme))
	var out []*unstructured.Unstructured
	for _, obj := range objs {
		u, err := kube.ToApply(scheme, obj)
		if err != nil {
			return nil, err
		}
		out = append(out, u)
	}
	return out, nil
}

// renderYAML separates documents, so that the output is neither begun nor ended by a separator.
func renderYAML(objs []*unstructured.Unstructured) ([]byte, error) {
	var out bytes.Buffer
	for i, obj := range objs {
		if i > 0 {
			out.WriteString("---\n")
		}
		raw, err := yaml.Marshal(obj.Object)
		if err != nil {
			return nil, fmt.Errorf("rendering %s: %w", kube.Describe(obj), err)
		}
		out.Write(raw)
	}
	return out.Bytes(), nil
}

// renderJSON prints a List, or the object itself when there is only one.
func renderJSON(objs []*unstructured.Unstructured) ([]byte, error) {
	var doc any = map[string]any{"apiVersion": "v1", "kind": "List", "items": objs}
	if len(objs) == 1 {
		doc = objs[0]
	}
	raw, err := json.MarshalIndent(doc, "", "  ")
	return append(raw, '\n'), err
}
