package images

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/spf13/cobra"

	"github.com/hypershift-on-azure/hypershift/images"
	"github.com/hypershift-on-azure/hypershift/images/operators"
	"github.com/hypershift-on-azure/hypershift/images/registry"
	"github.com/hypershift-on-azure/hypershift/internal/cli/azureflags"
	"github.com/hypershift-on-azure/hypershift/internal/cli/printing"
	"github.com/hypershift-on-azure/hypershift/internal/cli/progress"
	"github.com/hypershift-on-azure/hypershift/internal/cli/registryflags"
	"github.com/hypershift-on-azure/hypershift/internal/provision/handoff"
	"github.com/hypershift-on-azure/hypershift/internal/version"
)

// publishFlags are the flags of images publish as typed.
type publishFlags struct {
	registryflags.Flags
	making
	to, from, output string
	dryRun           bool
	handoff          azureflags.HandoffFile
	signing          registryflags.Signing
}

func newPublishCommand() *cobra.Command {
	f := &publishFlags{}
	cmd := &cobra.Command{
		Use:   "publish",
		Short: "Publish the images of the operator, the control-plane-operator and ExternalDNS in a registry",
		Example: `  az acr login --name myregistry && hypershift images publish --to myregistry.azurecr.io
  hypershift images publish --to registry.example.com/team --auth-file auth.json --ca-file ca.pem --handoff demo.yaml
  hypershift images publish --to myregistry.azurecr.io --from hypershift-images.tar
  hypershift images publish --to myregistry.azurecr.io --dry-run -o yaml`,
		Long: `Publish the images of the operator, the control-plane-operator and ExternalDNS in a registry.

They are built from the source tree, or taken from the bundle of a release, and need no container engine. The names are
REGISTRY/hypershift-operator:VERSION, REGISTRY/control-plane-operator:VERSION and REGISTRY/external-dns:VERSION, where the version of the
first two is that of this program: 'hypershift install --image-registry REGISTRY' asks for them. The same source gives the same digests.
Each image has a bill of materials (CycloneDX) attached to it, which 'oras discover --platform linux/amd64 IMAGE' shows.

With --sign-key each image is signed as cosign does it, beside the image in REPOSITORY:sha256-DIGEST.sig.

The references are printed by digest. What the registry has already is not sent again.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.to, "to", "", "registry, with a path or without, that takes the images")
	flags.StringVar(&f.from, "from", "", "bundle to take the images from instead of building them: the file of 'images bundle', or an OCI layout")
	flags.BoolVar(&f.dryRun, "dry-run", false, "build, and print what would be published; nothing is sent or written to the hand-off file")
	flags.StringVarP(&f.output, "output", "o", "", "print the result as json or yaml")
	f.making.add(cmd)
	f.signing.Add(cmd, "sign-key", "the images")
	f.Flags.Add(cmd)
	f.handoff.AddWritten(cmd)
	cmd.MarkFlagsMutuallyExclusive("from", "source")
	cmd.MarkFlagsMutuallyExclusive("from", "platforms")
	return cmd
}

// result is what images publish prints.
type result struct {
	Registry string            `json:"registry"`
	Version  string            `json:"version"`
	Images   map[string]string `json:"images"` // name -> reference by digest
	DryRun   bool              `json:"dryRun,omitempty"`
}

// run checks everything that can be checked, then builds, then pushes.
func (f *publishFlags) run(cmd *cobra.Command) error {
	path, err := registryflags.Path("--to", f.to)
	if err != nil {
		return err
	}
	f.to = path
	if err := errors.Join(printing.CheckFormat(f.output), f.signing.Open(), f.handoff.OpenWritten()); err != nil {
		return err
	}
	if f.from == "" {
		if err := f.complete(); err != nil {
			return err
		}
	}
	client, err := f.Client()
	if err != nil {
		return err
	}
	if !f.dryRun {
		repository, err := name.NewRepository(f.to + "/" + operators.Operator)
		if err == nil {
			err = client.CheckWrite(repository)
		}
		if err != nil {
			return fmt.Errorf("--to %s: %w", f.to, err)
		}
	}
	list, done, err := f.images(cmd)
	defer done()
	if err != nil {
		return err
	}
	refs, out, err := f.plan(list)
	if err != nil {
		return err
	}
	if !f.dryRun {
		if err := f.push(cmd, client, refs, list, out); err != nil {
			return err
		}
	}
	return f.print(cmd, refs, out)
}

func (f *publishFlags) images(cmd *cobra.Command) (list []images.Artifact, done func(), err error) {
	if f.from != "" {
		return readBundle(f.from, cmd.ErrOrStderr())
	}
	list, err = f.build(cmd.Context(), registryflags.Building(cmd))
	return list, func() {}, err
}

// plan gives each image its reference.
func (f *publishFlags) plan(list []images.Artifact) ([]name.Reference, *result, error) {
	out := &result{Registry: f.to, Version: version.Version, Images: map[string]string{}, DryRun: f.dryRun}
	var refs []name.Reference
	for _, a := range list {
		ref, err := name.NewTag(f.to + "/" + a.Name)
		if err != nil {
			return nil, nil, fmt.Errorf("%s cannot be an image's name: %w", f.to+"/"+a.Name, err)
		}
		desc, err := a.Describe()
		if err != nil {
			return nil, nil, err
		}
		image, _, _ := strings.Cut(a.Name, ":")
		refs, out.Images[image] = append(refs, ref), ref.Context().Name()+"@"+desc.Digest.String()
	}
	return refs, out, nil
}

// push sends the images and writes the hand-off file.
func (f *publishFlags) push(cmd *cobra.Command, client *registry.Client, refs []name.Reference, list []images.Artifact, out *result) error {
	if err := f.handoff.Lock(); err != nil {
		return err
	}
	defer f.handoff.Release()
	say := progress.Line(cmd)
	if err := client.PushAll(cmd.Context(), refs, list, func(ref name.Reference) { say("published %s", ref) }); err != nil {
		return err
	}
	if err := f.sign(cmd.Context(), client, out); err != nil {
		return err
	}
	f.handoff.Images = &handoff.Images{Registry: out.Registry, Version: out.Version, References: out.Images}
	return f.handoff.Save(nil)
}

// sign signs each image by its digest, as cosign does.
func (f *publishFlags) sign(ctx context.Context, client *registry.Client, out *result) error {
	if !f.signing.Given() {
		return nil
	}
	for _, image := range slices.Sorted(maps.Keys(out.Images)) {
		ref, err := name.NewDigest(out.Images[image])
		if err == nil {
			_, err = f.signing.Sign(ctx, client, ref)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *publishFlags) print(cmd *cobra.Command, refs []name.Reference, out *result) error {
	w := cmd.OutOrStdout()
	if f.output != "" {
		return printing.Object(w, f.output, out)
	}
	for _, ref := range refs {
		image := ref.Context().Name()[strings.LastIndex(ref.Context().Name(), "/")+1:]
		if _, err := fmt.Fprintln(w, out.Images[image]); err != nil {
			return err
		}
	}
	return nil
}
