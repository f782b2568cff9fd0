package twin

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	"sigs.k8s.io/yaml"
)

// shareDir is where images of a twin payload have what their programs render from.
var shareDir = "/usr/share/twin"

const (
	gateFile = "99_feature-gate.yaml"
	// profileAnnotation and setAnnotation say which clusters a manifest is for.
	profileAnnotation = "include.release.openshift.io/ibm-cloud-managed"
	setAnnotation     = "release.openshift.io/feature-set"
)

// render makes of the FeatureGate what the version has of it, and lays out the definitions that the image has for the set of features.
func render(output, manifests, release, given string) error {
	gate := configv1.FeatureGate{}
	raw, err := os.ReadFile(filepath.Join(manifests, gateFile))
	if err != nil {
		return fmt.Errorf("twin: %w", err)
	}
	if string(raw) != given {
		return fmt.Errorf("twin: %s is not what FEATURE_GATE_YAML says", gateFile)
	}
	if err := yaml.UnmarshalStrict(raw, &gate); err != nil {
		return fmt.Errorf("twin: %s: %w", gateFile, err)
	}
	if gate.Name != "cluster" || gate.Kind != "FeatureGate" || gate.APIVersion != configv1.GroupVersion.String() {
		return fmt.Errorf("twin: %s is %s %s %q, want the FeatureGate cluster", gateFile, gate.APIVersion, gate.Kind, gate.Name)
	}
	details, err := gatesOf(gate.Spec.FeatureGateSelection, release)
	if err != nil {
		return err
	}
	gate.Status.FeatureGates = []configv1.FeatureGateDetails{details}
	if raw, err = yaml.Marshal(gate); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(manifests, gateFile), raw, 0o644); err != nil { //nolint:gosec // another container of the pod reads it
		return fmt.Errorf("twin: %w", err)
	}
	return renderDefinitions(output)
}

func setName(set configv1.FeatureSet) string {
	if set == configv1.Default {
		return "Default"
	}
	return string(set)
}

// gatesOf are the gates of a set of features, by the list of OpenShift's API that the image has.
func gatesOf(selection configv1.FeatureGateSelection, release string) (configv1.FeatureGateDetails, error) {
	out := configv1.FeatureGateDetails{Version: release}
	set := setName(selection.FeatureSet)
	if selection.FeatureSet == configv1.CustomNoUpgrade {
		set = "Default"
	}
	raw, err := os.ReadFile(filepath.Join(shareDir, "featuregates", "featureGate-Hypershift-"+set+".yaml"))
	known := configv1.FeatureGate{}
	if err == nil {
		err = yaml.Unmarshal(raw, &known)
	}
	if err == nil && len(known.Status.FeatureGates) == 0 {
		err = errors.New("it lists no gates")
	}
	if err != nil {
		return out, fmt.Errorf("twin: gates of set %s: %w", set, err)
	}
	out.Enabled, out.Disabled = known.Status.FeatureGates[0].Enabled, known.Status.FeatureGates[0].Disabled
	if custom := selection.CustomNoUpgrade; selection.FeatureSet == configv1.CustomNoUpgrade && custom != nil {
		out.Enabled, out.Disabled = force(out.Enabled, custom.Enabled), force(out.Disabled, custom.Disabled)
		out.Enabled = slices.DeleteFunc(out.Enabled, func(g configv1.FeatureGateAttributes) bool { return slices.Contains(custom.Disabled, g.Name) })
		out.Disabled = slices.DeleteFunc(out.Disabled, func(g configv1.FeatureGateAttributes) bool { return slices.Contains(custom.Enabled, g.Name) })
	}
	byName := func(a, b configv1.FeatureGateAttributes) int { return strings.Compare(string(a.Name), string(b.Name)) }
	slices.SortFunc(out.Enabled, byName)
	slices.SortFunc(out.Disabled, byName)
	return out, nil
}

// force adds gates to a list that does not have them.
func force(list []configv1.FeatureGateAttributes, names []configv1.FeatureGateName) []configv1.FeatureGateAttributes {
	out := slices.Clone(list)
	for _, name := range names {
		if !slices.ContainsFunc(out, func(g configv1.FeatureGateAttributes) bool { return g.Name == name }) {
			out = append(out, configv1.FeatureGateAttributes{Name: name})
		}
	}
	return out
}

// aggregatedGroups are served by an aggregated API server of the twin: the community's API server serves no group both ways, as OpenShift's does.
var aggregatedGroups = []string{"authorization.openshift.io", "quota.openshift.io", "security.openshift.io"}

// renderDefinitions lays out the definitions of the image that are for hosted clusters. A twin has those of the default set of features alone.
func renderDefinitions(output string) error {
	folder := filepath.Join(shareDir, "bootstrap")
	entries, err := os.ReadDir(folder)
	if errors.Is(err, os.ErrNotExist) {
		return nil // an image without definitions
	}
	if err != nil {
		return fmt.Errorf("twin: %w", err)
	}
	for _, e := range entries {
		raw, err := os.ReadFile(filepath.Join(folder, e.Name()))
		var definition struct {
			Metadata struct {
				Annotations map[string]string `json:"annotations"`
			} `json:"metadata"`
			Spec struct {
				Group string `json:"group"`
			} `json:"spec"`
		}
		if err == nil {
			err = yaml.Unmarshal(raw, &definition)
		}
		if err != nil {
			return fmt.Errorf("twin: %s: %w", e.Name(), err)
		}
		annotations := definition.Metadata.Annotations
		sets := annotations[setAnnotation]
		if annotations[profileAnnotation] != "true" || annotations["release.openshift.io/bootstrap-required"] != "true" ||
			sets != "" && !slices.Contains(strings.Split(sets, ","), "Default") || slices.Contains(aggregatedGroups, definition.Spec.Group) {
			continue
		}
		if err := os.WriteFile(filepath.Join(output, e.Name()), raw, 0o644); err != nil { //nolint:gosec // another container of the pod reads it
			return fmt.Errorf("twin: %w", err)
		}
	}
	return nil
}
