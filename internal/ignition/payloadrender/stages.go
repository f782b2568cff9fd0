package payloadrender

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// Programs of the payload.
const (
	operatorProgram   = contract.ImageMachineConfig
	controllerProgram = "machine-config-controller"
	serverProgram     = contract.MachineConfigServer
	gatesProgram      = "render"
	// oldGatesProgram renders feature gates in releases before 4.15.
	oldGatesProgram = "cluster-config-operator"
)

var machineConfigPrograms = []string{operatorProgram, controllerProgram, serverProgram}

// Files that several stages name, below the work directory.
const (
	featureGateFile = "99_feature-gate.yaml"
	cloudConfigFile = "mco/cloud.conf.configmap.yaml"
	pullSecretFile  = "config/pull-secret.yaml"
	references      = "config/" + referencesFile
	templates       = "mcc/" + templatesDir
	kubeconfigFile  = "mcs/kubeconfig"
)

// path of a file of the work directory.
func (r *render) path(file string) string { return filepath.Join(r.dir, file) }

// knowsRender: feature gates are rendered by the program that releases have since 4.15.
func (r *render) knowsRender() (bool, error) { return release.AtLeast(r.Version, 4, 15) }

// extract takes programs, templates and the payload's list of images.
func (r *render) extract(ctx context.Context) error {
	for _, dir := range []string{"bin", "mco", "mcc", "mcs", "config", "tmp"} {
		if err := os.Mkdir(r.path(dir), 0o700); err != nil {
			return err
		}
	}
	if err := r.checkPayload(); err != nil {
		return err
	}
	programs, err := r.images.get(ctx, r.Images[contract.ImageMachineConfig], r.Access, machineConfigFiles())
	if err != nil {
		return err
	}
	for _, name := range machineConfigPrograms {
		if err := r.place(programs, name); err != nil {
			return err
		}
	}
	if err := copyTree(filepath.Join(programs.dir, "templates"), r.path(templates)); err != nil {
		return err
	}
	if err := r.extractGates(ctx); err != nil {
		return err
	}
	root, err := os.OpenRoot(r.path("config"))
	if err != nil {
		return err
	}
	defer root.Close()
	return r.Unpacker.Unpack(ctx, r.ReleaseImage, r.Access, root, release.Taken{From: referencesFile, To: referencesFile, Mode: 0o600})
}

// checkPayload refuses a payload whose programs are other ones than those that are run here.
func (r *render) checkPayload() error {
	known, err := release.AtLeast(r.Version, 4, 14)
	if err != nil {
		return err
	}
	if !known {
		return fmt.Errorf("release %s is older than 4.14, and its machine-config programs are called otherwise; use a newer release", r.Version)
	}
	if r.Images[contract.ImageMachineConfig] == "" {
		return fmt.Errorf("release %s has no image %s, whose programs configure machines; use a complete payload", r.Version, contract.ImageMachineConfig)
	}
	return nil
}

func (r *render) extractGates(ctx context.Context) error {
	key, from, name := contract.ImageConfigAPI, "usr/bin/render", gatesProgram
	if newer, err := r.knowsRender(); err != nil {
		return err
	} else if !newer {
		key, from, name = imageConfigOperator, "usr/bin/cluster-config-operator", oldGatesProgram
	}
	image := r.Images[key]
	if image == "" {
		return fmt.Errorf("release %s has no image %s, whose program renders feature gates; use a complete payload", r.Version, key)
	}
	wanted := append(programFiles(from, name), release.Taken{From: osReleaseFile, To: "os-release", Mode: 0o600, Optional: true})
	program, err := r.images.get(ctx, image, r.Access, wanted)
	if err != nil {
		return err
	}
	return r.place(program, name)
}

// place gives the work directory a program of an image.
func (r *render) place(from *unpacked, name string) error {
	found, err := r.images.program(from, name)
	if err != nil {
		return err
	}
	return os.Link(found, r.path("bin/"+name))
}

// renderFeatureGates is stage A: the user's FeatureGate gets a status with what it means for the version.
func (r *render) renderFeatureGates(ctx context.Context) error {
	newer, err := r.knowsRender()
	if err != nil {
		return err
	}
	tree := "cca"
	if !newer {
		tree = "cco"
	}
	for _, dir := range []string{"input", "output", "manifests"} {
		if err := os.MkdirAll(r.path(tree+"/"+dir), 0o700); err != nil {
			return err
		}
	}
	gate := r.path(tree + "/manifests/" + featureGateFile)
	if err := copyFile(r.FeatureGate, gate); err != nil {
		return err
	}
	name, args := gatesProgram, r.gatesArgs(tree)
	if !newer {
		name, args = oldGatesProgram, r.oldGatesArgs(tree)
	}
	if err := r.runProgram(ctx, name, args...); err != nil {
		return err
	}
	return copyFile(gate, r.path("mcc/"+featureGateFile))
}

func (r *render) gatesArgs(tree string) []string {
	return []string{
		"--asset-output-dir", r.path(tree + "/output"), "--image-manifests", r.path(tree + "/input"),
		"--rendered-manifest-dir", r.path(tree + "/manifests"), "--cluster-profile", contract.ClusterProfile, "--payload-version", r.Version,
	}
}

func (r *render) oldGatesArgs(tree string) []string {
	return []string{
		"render", "--config-output-file", r.path(tree + "/config"), "--asset-input-dir", r.path(tree + "/input"), "--asset-output-dir", r.path(tree + "/output"),
		"--rendered-manifest-files", r.path(tree + "/manifests"), "--payload-version", r.Version,
	}
}

// bootstrapOperator is stage B: what the machine-config-controller reads.
func (r *render) bootstrapOperator(ctx context.Context) error {
	if err := r.runProgram(ctx, operatorProgram, r.operatorArgs()...); err != nil {
		return err
	}
	if err := copyTree(r.path("mco/bootstrap/manifests"), r.path("mcc")); err != nil {
		return err
	}
	for _, file := range []string{"master.machineconfigpool.yaml", "worker.machineconfigpool.yaml", "cluster-apiserver-config.yaml", "image-config.yaml"} {
		if err := copyFile(r.path("config/"+file), r.path("mcc/"+file)); err != nil {
			return err
		}
	}
	return r.writeStream()
}

func (r *render) operatorArgs() []string {
	args := []string{
		"bootstrap",
		"--root-ca", r.path("config/root-ca.crt"), "--kube-ca", r.path("config/signer-ca.crt"),
		"--infra-config-file", r.path("config/cluster-infrastructure-02-config.yaml"),
		"--network-config-file", r.path("config/cluster-network-02-config.yaml"),
		"--proxy-config-file", r.path("config/cluster-proxy-01-config.yaml"),
		"--dns-config-file", r.path("config/cluster-dns-02-config.yaml"),
		"--config-file", r.path("config/install-config.yaml"),
		"--pull-secret", r.path(pullSecretFile),
		"--additional-trust-bundle-config-file", r.path("config/" + TrustBundleFile),
		"--dest-dir", r.path("mco"),
		"--release-image", r.ReleaseImage, "--payload-version", r.Version,
		"--image-references", r.path(references),
	}
	if image := r.Images["mdns-publisher"]; image != "" {
		args = append(args, "--mdns-publisher-image", image)
	}
	if r.CloudConfig != nil {
		args = append(args, "--cloud-config-file", r.path(cloudConfigFile))
	}
	return args
}

// bootstrapController is stage C: machine configurations, merged.
func (r *render) bootstrapController(ctx context.Context) error {
	return r.runProgram(ctx, controllerProgram, r.controllerArgs()...)
}

func (r *render) controllerArgs() []string {
	return []string{
		"bootstrap", "--manifest-dir", r.path("mcc"), "--templates", r.path(templates),
		"--pull-secret", r.path("mcc/machineconfigcontroller-pull-secret"), "--dest-dir", r.path("mcs"), "--payload-version", r.Version,
	}
}

func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o600)
}

// copyTree copies the regular files below a directory.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		name, err := filepath.Rel(from, file)
		if err != nil {
			return err
		}
		return copyFile(file, filepath.Join(to, name))
	})
}
