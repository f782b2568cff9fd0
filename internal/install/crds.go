package install

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/hypershift-on-azure/hypershift/config"
)

// providerPrefix is how the folders of Cluster API providers begin; what follows names the platform.
const providerPrefix = "cluster-api-provider-"

// CRDs returns the definitions to install, sorted by name: ours, Cluster API's, and those of the providers of the platforms
// asked for (of all providers when none is named).
func (o *Options) CRDs() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	var crds []*apiextensionsv1.CustomResourceDefinition
	err := fs.WalkDir(config.CRDs, "crd", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !o.wants(path.Base(path.Dir(file))) {
			return err
		}
		raw, err := config.CRDs.ReadFile(file)
		if err != nil {
			return err
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(raw, crd); err != nil {
			return fmt.Errorf("the embedded definition %s is malformed: %w", file, err)
		}
		crds = append(crds, crd)
		return nil
	})
	slices.SortFunc(crds, func(a, b *apiextensionsv1.CustomResourceDefinition) int { return strings.Compare(a.Name, b.Name) })
	return crds, err
}

func (o *Options) wants(source string) bool {
	platform, isProvider := strings.CutPrefix(source, providerPrefix)
	if !isProvider || len(o.Platforms) == 0 {
		return true
	}
	return slices.ContainsFunc(o.Platforms, func(p string) bool { return strings.EqualFold(p, platform) })
}
