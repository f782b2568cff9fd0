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
	"github.com/hypershift-on-azure/hypershift/internal/conversion/wire"
)

// providerPrefix is how the folders of Cluster API providers begin; what follows names the platform.
const providerPrefix = "cluster-api-provider-"

// Groups whose definitions get a conversion webhook.
const hypershiftGroup = "hypershift.openshift.io"

// core and addons of Cluster API; its providers have one version each.
var capiGroups = []string{"cluster.x-k8s.io", "addons.cluster.x-k8s.io", "ipam.cluster.x-k8s.io"}

const (
	storedVersion = "v1beta2"
	formerVersion = "v1beta1"
)

// CRDs returns the definitions to install, sorted by name: ours, Cluster API's, those of the providers of the platforms asked for
// (of all providers when none is named), and Route's with our router.
func (o *Options) CRDs() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	var crds []*apiextensionsv1.CustomResourceDefinition
	err := fs.WalkDir(config.CRDs, "crd", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !o.wants(file) {
			return err
		}
		raw, err := config.CRDs.ReadFile(file)
		if err != nil {
			return err
		}
		crd, err := o.definition(raw)
		if err != nil {
			return fmt.Errorf("the embedded definition %s is malformed: %w", file, err)
		}
		crds = append(crds, crd)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if o.TechPreview {
		if crds, err = o.previews(crds); err != nil {
			return nil, err
		}
	}
	if o.Router {
		route, err := o.definition(config.Route)
		if err != nil {
			return nil, fmt.Errorf("the embedded definition of Route is malformed: %w", err)
		}
		crds = append(crds, route)
	}
	crds = slices.DeleteFunc(crds, func(crd *apiextensionsv1.CustomResourceDefinition) bool { return slices.Contains(o.SkipCRDs, crd.Name) })
	slices.SortFunc(crds, func(a, b *apiextensionsv1.CustomResourceDefinition) int { return strings.Compare(a.Name, b.Name) })
	return crds, nil
}

// previews puts the variants with technology previews in the place of the definitions of their names.
func (o *Options) previews(crds []*apiextensionsv1.CustomResourceDefinition) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	files, err := fs.Glob(config.TechPreview, "techpreview/*.yaml")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		if !o.wants(file) {
			continue
		}
		raw, err := config.TechPreview.ReadFile(file)
		if err != nil {
			return nil, err
		}
		variant, err := o.definition(raw)
		if err != nil {
			return nil, fmt.Errorf("the embedded definition %s is malformed: %w", file, err)
		}
		crds = slices.DeleteFunc(crds, func(crd *apiextensionsv1.CustomResourceDefinition) bool { return crd.Name == variant.Name })
		crds = append(crds, variant)
	}
	return crds, nil
}

// privateLinks is the part of a file's name that tells of Azure's private connectivity.
const privateLinks = "azureprivatelink"

func (o *Options) wants(file string) bool {
	if o.ExcludeEtcd && strings.Contains(file, "etcd") {
		return false
	}
	if strings.Contains(file, privateLinks) && len(o.Platforms) > 0 && !slices.Contains(o.Platforms, "Azure") {
		return false
	}
	platform, isProvider := strings.CutPrefix(path.Base(path.Dir(file)), providerPrefix)
	if !isProvider || len(o.Platforms) == 0 {
		return true
	}
	return slices.ContainsFunc(o.Platforms, func(p string) bool { return strings.EqualFold(p, platform) })
}

// definition reads one and decides which of its versions are served, which is stored, and who converts between them.
func (o *Options) definition(raw []byte) (*apiextensionsv1.CustomResourceDefinition, error) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(raw, crd); err != nil {
		return nil, err
	}
	if crd.Labels == nil {
		crd.Labels = map[string]string{}
	}
	crd.Labels[wire.InstalledLabel] = wire.InstalledValue
	if crd.Spec.Conversion == nil {
		// Said, so that a webhook of a former installation goes.
		crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
	}
	switch {
	case crd.Spec.Group == hypershiftGroup && !o.NoConversion:
		crd.Spec.Conversion = o.webhookConversion()
	case slices.Contains(capiGroups, crd.Spec.Group):
		o.versions(crd)
	}
	return crd, nil
}

// versions without a webhook are the stored one alone: the others have other fields, and the API server would drop them.
func (o *Options) versions(crd *apiextensionsv1.CustomResourceDefinition) {
	stored := storedVersion
	if o.NoCAPIMigration {
		stored = formerVersion
	}
	for i := range crd.Spec.Versions {
		version := &crd.Spec.Versions[i]
		version.Storage = version.Name == stored
		version.Served = version.Storage || !o.NoCAPIConversion
	}
	if !o.NoCAPIConversion {
		crd.Spec.Conversion = o.webhookConversion()
	}
}

// webhookConversion leads to the operator, which adds the authority to trust.
func (o *Options) webhookConversion() *apiextensionsv1.CustomResourceConversion {
	return &apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook: &apiextensionsv1.WebhookConversion{
			ClientConfig: &apiextensionsv1.WebhookClientConfig{Service: &apiextensionsv1.ServiceReference{
				Namespace: o.Namespace, Name: wire.ServiceName, Path: new(wire.Path), Port: new(int32(wire.ServicePort)),
			}},
			// Versions of the question, not of the objects: the API server takes the first that it knows.
			ConversionReviewVersions: []string{"v1", "v1beta1"},
		},
	}
}
