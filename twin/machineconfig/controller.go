package machineconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_4"
	"github.com/coreos/ignition/v2/config/v3_4/types"
	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"
)

const roleLabel = "machineconfiguration.openshift.io/role"

// kinds that the controller reads, by group.
var kinds = map[string][]string{
	"machineconfiguration.openshift.io": {"ControllerConfig", "MachineConfigPool", "MachineConfig", "KubeletConfig", "ContainerRuntimeConfig", "MachineOSConfig",
		"OSImageStream", "InternalReleaseImage"},
	"config.openshift.io":   {"FeatureGate", "ImageDigestMirrorSet", "ImageTagMirrorSet", "Image", "ClusterImagePolicy", "ImagePolicy", "Node", "APIServer"},
	"operator.openshift.io": {"ImageContentSourcePolicy"},
	"image.openshift.io":    {"ImageStream"},
}

// document is one of the manifests.
type document struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   metadata `json:"metadata"`
	Spec       map[string]any
	raw        []byte
}

func (d document) group() string {
	group, _, found := strings.Cut(d.APIVersion, "/")
	if !found {
		return ""
	}
	return group
}

// Rendered is the merged MachineConfig of a pool, as the server reads it.
type Rendered struct {
	// Name of the MachineConfig, Sources of those that it was made of, in their order.
	Name    string   `json:"name"`
	Sources []string `json:"sources"`
	// Config is their Ignition configuration.
	Config types.Config `json:"config"`
	// What travels in the MachineConfig and not in its Ignition configuration.
	KernelArguments []string `json:"kernelArguments,omitempty"`
	Extensions      []string `json:"extensions,omitempty"`
	FIPS            bool     `json:"fips,omitempty"`
	KernelType      string   `json:"kernelType,omitempty"`
	OSImageURL      string   `json:"osImageURL,omitempty"`
	// Others are the documents of other kinds, as kind and name.
	Others []string `json:"others,omitempty"`
	// Stream of the operating system; empty for the payload's own.
	Stream string `json:"stream,omitempty"`
	// KubeletCA is what the machine's kubelet trusts.
	KubeletCA string `json:"kubeletCA"`
}

// controller merges the machine configurations of each pool.
func controller(args []string, _ io.Writer) error {
	f := newFlags(nil, "manifest-dir", "templates", "pull-secret", "dest-dir", "payload-version")
	if err := f.parse("bootstrap", args); err != nil {
		return err
	}
	err := f.check(flagCheck{"payload-version", isVersion}, flagCheck{"manifest-dir", isDirectory}, flagCheck{"dest-dir", isDirectory},
		flagCheck{"templates", checkTemplates}, flagCheck{"pull-secret", checkPullSecret})
	if err != nil {
		return err
	}
	documents, err := readManifests(f.get("manifest-dir"))
	if err != nil {
		return err
	}
	config, err := one(documents, "ControllerConfig", "")
	if err != nil {
		return err
	}
	if made := config.Metadata.Annotations[versionAnnotation]; made != f.get("payload-version") {
		return fmt.Errorf("the ControllerConfig was made by version %q, this is %s", made, f.get("payload-version"))
	}
	if err := checkGate(documents, f.get("payload-version")); err != nil {
		return err
	}
	for _, pool := range []string{"master", "worker"} {
		rendered, err := renderPool(documents, config, pool)
		if err != nil {
			return err
		}
		if err := writeYAML(filepath.Join(f.get("dest-dir"), "machine-pools", pool+".yaml"), map[string]any{"name": pool, "configuration": rendered.Name}); err != nil {
			return err
		}
		if err := writeYAML(filepath.Join(f.get("dest-dir"), "machine-configs", rendered.Name+".yaml"), rendered); err != nil {
			return err
		}
	}
	return nil
}

func checkTemplates(dir string) error {
	for _, needed := range []string{"common", "azure", "worker"} {
		if err := isDirectory(filepath.Join(dir, needed)); err != nil {
			return err
		}
	}
	return nil
}

// checkGate: there is one, and it says what its gates mean for the version.
func checkGate(documents []document, version string) error {
	found, err := one(documents, "FeatureGate", "cluster")
	if err != nil {
		return err
	}
	gate := &configv1.FeatureGate{}
	if err := sigsyaml.UnmarshalStrict(found.raw, gate); err != nil {
		return fmt.Errorf("FeatureGate cluster: %w", err)
	}
	if !slices.ContainsFunc(gate.Status.FeatureGates, func(d configv1.FeatureGateDetails) bool { return d.Version == version }) {
		return fmt.Errorf("FeatureGate cluster has no status for version %s", version)
	}
	return nil
}

func one(documents []document, kind, name string) (document, error) {
	var found []document
	for _, d := range documents {
		if d.Kind == kind && (name == "" || d.Metadata.Name == name) {
			found = append(found, d)
		}
	}
	if len(found) != 1 {
		return document{}, fmt.Errorf("there are %d objects %s %s, and not one", len(found), kind, name)
	}
	return found[0], nil
}

// readManifests reads all documents below a directory; those of unknown groups say nothing.
func readManifests(dir string) ([]document, error) {
	var documents []document
	err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if file != dir { // the templates are below it
				return filepath.SkipDir
			}
			return nil
		}
		raw, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		found, err := documentsOf(raw)
		if err != nil {
			return fmt.Errorf("%s: %w", entry.Name(), err)
		}
		documents = append(documents, found...)
		return nil
	})
	return documents, err
}

func documentsOf(raw []byte) ([]document, error) {
	var documents []document
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(raw), 4096)
	for {
		var content json.RawMessage
		if err := decoder.Decode(&content); errors.Is(err, io.EOF) {
			return documents, nil
		} else if err != nil {
			return nil, err
		}
		if len(content) == 0 || string(content) == "null" {
			continue
		}
		d := document{raw: content}
		if err := json.Unmarshal(content, &d); err != nil {
			return nil, err
		}
		known := kinds[d.group()]
		switch {
		case d.group() == "" && d.Kind == "Secret":
		case known == nil:
			continue
		case !slices.Contains(known, d.Kind):
			return nil, fmt.Errorf("%s %s is nothing that the controller reads", d.APIVersion, d.Kind)
		}
		if d.Metadata.Name == "" && d.Kind != corev1.SchemeGroupVersion.String() {
			return nil, fmt.Errorf("a %s has no name", d.Kind)
		}
		documents = append(documents, d)
	}
}

// renderPool merges what the pool's file selects.
func renderPool(documents []document, config document, name string) (*Rendered, error) {
	pool, err := one(documents, "MachineConfigPool", name)
	if err != nil {
		return nil, err
	}
	selector, _ := pool.Spec["machineConfigSelector"].(map[string]any)
	labels, _ := selector["matchLabels"].(map[string]any)
	role, _ := labels[roleLabel].(string)
	if role == "" {
		return nil, fmt.Errorf("MachineConfigPool %s selects no role", name)
	}
	kubeletCA, _ := config.Spec["kubeAPIServerServingCAData"].(string)
	osImage, _ := config.Spec["baseOSContainerImage"].(string)
	rendered := &Rendered{Name: "rendered-" + name, KubeletCA: kubeletCA, OSImageURL: osImage, Config: types.Config{Ignition: types.Ignition{Version: "3.2.0"}}}
	slices.SortStableFunc(documents, func(a, b document) int { return strings.Compare(a.Metadata.Name, b.Metadata.Name) })
	for _, d := range documents {
		if err := rendered.add(d, role); err != nil {
			return nil, fmt.Errorf("%s %s: %w", d.Kind, d.Metadata.Name, err)
		}
	}
	if rendered.Stream != "" && rendered.OSImageURL != osImage {
		return nil, errors.New("osImageURL of a MachineConfig and an OSImageStream contradict each other")
	}
	return rendered, nil
}

// add takes a document in; those of kinds that are no MachineConfig are listed.
func (r *Rendered) add(d document, role string) error {
	switch {
	case d.Kind == "OSImageStream":
		r.Stream, _ = d.Spec["defaultStream"].(string)
		return nil
	case d.Kind != "MachineConfig":
		if !slices.Contains([]string{"ControllerConfig", "MachineConfigPool", "Secret"}, d.Kind) {
			r.Others = append(r.Others, d.Kind+"/"+d.Metadata.Name)
		}
		return nil
	case d.Metadata.Labels[roleLabel] != role:
		return nil
	}
	spec := struct {
		Config          json.RawMessage `json:"config"`
		KernelArguments []string        `json:"kernelArguments"`
		Extensions      []string        `json:"extensions"`
		FIPS            bool            `json:"fips"`
		KernelType      string          `json:"kernelType"`
		OSImageURL      string          `json:"osImageURL"`
	}{}
	raw, err := json.Marshal(d.Spec)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, &spec); err != nil {
		return err
	}
	if len(spec.Config) > 0 {
		config, report, err := v3_4.ParseCompatibleVersion(spec.Config)
		if err != nil {
			return fmt.Errorf("%w: %s", err, report.String())
		}
		r.Config = v3_4.Merge(r.Config, config)
		r.Config.Ignition.Version = "3.2.0"
	}
	r.Sources = append(r.Sources, d.Metadata.Name)
	r.KernelArguments, r.Extensions = append(r.KernelArguments, spec.KernelArguments...), append(r.Extensions, spec.Extensions...)
	r.FIPS = r.FIPS || spec.FIPS
	if spec.KernelType != "" {
		r.KernelType = spec.KernelType
	}
	if spec.OSImageURL != "" {
		r.OSImageURL = spec.OSImageURL
	}
	return nil
}
