package machineconfig

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	configv1 "github.com/openshift/api/config/v1"
)

// Gate is a feature gate that every version of the twin has.
const Gate = "TwinGate"

// render fills the status of the FeatureGate in its directory of manifests.
func render(args []string, out io.Writer) error {
	f := newFlags(nil, "asset-output-dir", "image-manifests", "rendered-manifest-dir", "cluster-profile", "payload-version")
	if err := f.parse("", args); err != nil {
		return err
	}
	err := f.check(flagCheck{"asset-output-dir", isDirectory}, flagCheck{"image-manifests", isDirectory}, flagCheck{"rendered-manifest-dir", isDirectory},
		flagCheck{"payload-version", isVersion}, flagCheck{"cluster-profile", func(value string) error {
			if value != "ibm-cloud-managed" {
				return errors.New("not the profile of hosted clusters")
			}
			return nil
		}})
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "feature gates of", f.get("payload-version"))
	return fillGate(f.get("rendered-manifest-dir"), f.get("payload-version"))
}

func oldRender(args []string, _ io.Writer) error {
	f := newFlags(nil, "config-output-file", "asset-input-dir", "asset-output-dir", "rendered-manifest-files", "payload-version")
	if err := f.parse("render", args); err != nil {
		return err
	}
	err := f.check(flagCheck{"asset-input-dir", isDirectory}, flagCheck{"asset-output-dir", isDirectory}, flagCheck{"rendered-manifest-files", isDirectory},
		flagCheck{"payload-version", isVersion})
	if err != nil {
		return err
	}
	return fillGate(f.get("rendered-manifest-files"), f.get("payload-version"))
}

func fillGate(dir, version string) error {
	file := filepath.Join(dir, "99_feature-gate.yaml")
	gate := &configv1.FeatureGate{}
	if err := decode(file, gate); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if gate.Kind != "FeatureGate" || gate.APIVersion != configv1.GroupVersion.String() || gate.Name != "cluster" {
		return fmt.Errorf("%s has %s %s %q, and no FeatureGate cluster", file, gate.APIVersion, gate.Kind, gate.Name)
	}
	gate.Status.FeatureGates = []configv1.FeatureGateDetails{{Version: version, Enabled: []configv1.FeatureGateAttributes{{Name: Gate}}}}
	return writeYAML(file, gate)
}
