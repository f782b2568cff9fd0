// Package payload has the commands that build, publish, inspect, sign and verify release payloads of plain Kubernetes.
package payload

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/spf13/cobra"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/images"
	"github.com/hypershift-on-azure/hypershift/images/registry"
	"github.com/hypershift-on-azure/hypershift/internal/cli/command"
	"github.com/hypershift-on-azure/hypershift/internal/cli/flagfile"
	"github.com/hypershift-on-azure/hypershift/internal/cli/printing"
	"github.com/hypershift-on-azure/hypershift/internal/cli/registryflags"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/release/signature"
	"github.com/hypershift-on-azure/hypershift/payload"
)

// NewCommand is payload with all its commands.
func NewCommand() *cobra.Command {
	return command.Parent("payload", "Build, publish, inspect, sign and verify release payloads of plain Kubernetes",
		newBuildCommand(), newPublishCommand(), newInspectCommand(), newSignCommand(), newVerifyCommand())
}

// reference reads the reference of a release image.
func reference(text string) (name.Reference, error) {
	ref, err := name.ParseReference(text, name.StrictValidation)
	if err != nil {
		return nil, fmt.Errorf("%q is neither a payload's directory nor a reference such as registry.example.com/release:4.21.0: %w", text, err)
	}
	return ref, nil
}

// open reads a payload from the directory of a layout or from a registry.
func open(ctx context.Context, client *registry.Client, from string) (*payload.Payload, error) {
	if images.IsLayout(from) {
		return payload.ReadLayout(from)
	}
	ref, err := reference(from)
	if err != nil {
		return nil, err
	}
	return payload.Read(ctx, client, ref, onlyKubernetes)
}

func newPublishCommand() *cobra.Command {
	f := &publishFlags{}
	cmd := &cobra.Command{
		Use:   "publish",
		Short: "Copy a payload that is built or published to a registry of your own",
		Example: `  hypershift payload publish --from payload-4.21.0 --to myregistry.azurecr.io
  hypershift payload publish --from registry.example.com/release:4.21.0 --to myregistry.azurecr.io/team --dry-run -o yaml`,
		Long: `Copy a payload that is built or published to a registry of your own.

The component images go to REGISTRY/release-images, by digest and with their bills of materials, and the release image, which names them
there, to REGISTRY/release:VERSION. That is the reference for --release-image. What the registry has already is not sent again.

With --sign-key the release image is signed by its digest, which covers the images that it names, as cosign does it: the signature lies in
REGISTRY/release:sha256-DIGEST.sig. A copy names its images in its own place and so has another digest: sign it anew.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	cmd.Flags().StringVar(&f.from, "from", "", "payload: the directory of 'payload build', or a reference of a registry")
	cmd.Flags().StringVar(&f.to, "to", "", "registry, with a path or without, that takes the payload")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "print what would be published; nothing is sent")
	registryflags.AddCache(cmd, &f.cache)
	f.signing.Add(cmd, "sign-key", "the release image")
	f.add(cmd)
	_ = cmd.MarkFlagRequired("from")
	return cmd
}

// common are the flags of commands that ask registries and print a result.
type common struct {
	registryflags.Flags
	output string
}

func (f *common) add(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "print the result as json or yaml")
	f.Flags.Add(cmd)
}

func newInspectCommand() *cobra.Command {
	f := &common{}
	cmd := &cobra.Command{
		Use:   "inspect REFERENCE",
		Short: "Print what a payload is: version, kind, Kubernetes, images, architectures, size",
		Example: `  hypershift payload inspect myregistry.azurecr.io/release:4.21.0
  hypershift payload inspect payload-4.21.0 -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := printing.CheckFormat(f.output); err != nil {
				return err
			}
			client, err := f.Client()
			if err != nil {
				return err
			}
			out, err := inspect(cmd.Context(), client, args[0])
			if err != nil {
				return err
			}
			if f.output != "" {
				return printing.Object(cmd.OutOrStdout(), f.output, out)
			}
			return out.print(cmd.OutOrStdout())
		},
	}
	f.add(cmd)
	return cmd
}

// inspected is what payload inspect prints.
type inspected struct {
	Image         string            `json:"image"`
	Digest        string            `json:"digest"`
	Version       string            `json:"version"`
	Kind          release.Kind      `json:"kind"`
	Kubernetes    string            `json:"kubernetes,omitempty"`
	Architectures []string          `json:"architectures"`
	SizeBytes     int64             `json:"sizeBytes,omitempty"` // of the component images; 0 when it is not known
	SizeUnknown   string            `json:"sizeUnknown,omitempty"`
	Images        map[string]string `json:"images"`
}

func inspect(ctx context.Context, client *registry.Client, from string) (*inspected, error) {
	read := payload.FactsIn
	if !images.IsLayout(from) {
		ref, err := reference(from)
		if err != nil {
			return nil, err
		}
		read = func(string) (*payload.Facts, images.Artifact, error) { return payload.FactsOf(ctx, client, ref) }
	}
	facts, of, err := read(from)
	if err != nil {
		return nil, err
	}
	desc, err := of.Describe()
	if err != nil {
		return nil, err
	}
	out := &inspected{Image: from, Digest: desc.Digest.String(), Version: facts.Version, Kind: release.KindOf(facts.Images), Kubernetes: facts.Kubernetes,
		Architectures: facts.Archs, Images: facts.Images}
	// What the release image says is told also where its components are out of reach.
	if out.SizeBytes, err = facts.Size(ctx, client, from); err != nil {
		out.SizeUnknown = printing.OneLine(err)
	}
	return out, ctx.Err()
}

func (i *inspected) print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "Image:\t%s\nDigest:\t%s\nVersion:\t%s\nKind:\t%s\n", i.Image, i.Digest, i.Version, i.Kind)
	if i.Kubernetes != "" {
		fmt.Fprintf(t, "Kubernetes:\t%s\n", i.Kubernetes)
	}
	size := fmt.Sprintf("%.0f MB", float64(i.SizeBytes)/1e6)
	if i.SizeUnknown != "" {
		size = "unknown: " + printing.Shorten(i.SizeUnknown)
	}
	fmt.Fprintf(t, "Architectures:\t%s\nSize:\t%s\n\n", strings.Join(i.Architectures, ", "), size)
	fmt.Fprintln(t, "KEY\tIMAGE")
	for _, key := range slices.Sorted(maps.Keys(i.Images)) {
		fmt.Fprintf(t, "%s\t%s\n", key, i.Images[key])
	}
	return t.Flush()
}

// verifyFlags are the flags of payload verify as typed.
type verifyFlags struct {
	common
	key string
}

func newVerifyCommand() *cobra.Command {
	f := &verifyFlags{}
	cmd := &cobra.Command{
		Use:   "verify REFERENCE",
		Short: "Check that everything a payload names is there; the exit status is 1 if not",
		Example: `  hypershift payload verify myregistry.azurecr.io/release:4.21.0
  hypershift payload verify myregistry.azurecr.io/release:4.21.0 --auth-file pull-secret.json -o json
  hypershift payload verify myregistry.azurecr.io/release:4.21.0 --key release.pub`,
		Long: `Check that everything a payload names is there; the exit status is 1 if not.

Every image has to be named by digest and to exist with its configuration and its layers for each architecture of the payload. A payload
of plain Kubernetes needs an image for each key without which a control plane or its nodes do not start, and a Marketplace image for the
machines of each architecture. No layer is downloaded. With --key one of the file's public keys must have signed the release image.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := printing.CheckFormat(f.output); err != nil {
				return err
			}
			return f.run(cmd, args[0])
		},
	}
	cmd.Flags().StringVar(&f.key, "key", "", "PEM file with public keys, of which one must have signed the release image")
	f.add(cmd)
	return cmd
}

func (f *verifyFlags) run(cmd *cobra.Command, image string) error {
	ref, err := reference(image)
	if err != nil {
		return err
	}
	keys, err := f.keys()
	if err != nil {
		return err
	}
	client, err := f.Client()
	if err != nil {
		return err
	}
	facts, findings, err := payload.Verify(cmd.Context(), client, ref, required)
	if err != nil {
		return err
	}
	if keys != nil {
		head, err := client.Head(cmd.Context(), ref)
		if err == nil {
			err = registryflags.CheckSigned(cmd.Context(), client, ref.Context().Digest(head.Digest.String()), keys)
		}
		if err != nil {
			findings = append(findings, payload.Finding{Problem: err.Error()})
		}
	}
	return f.judge(cmd.OutOrStdout(), image, facts, findings)
}

func (f *verifyFlags) keys() (*signature.Keys, error) {
	if f.key == "" {
		return nil, nil
	}
	text, err := flagfile.Read("--key", f.key)
	if err != nil {
		return nil, err
	}
	keys, err := signature.ParseKeys(text)
	if err != nil {
		return nil, fmt.Errorf("the file of --key, %s, cannot be used: %w", f.key, err)
	}
	return keys, nil
}

// nodeKeys are what nodes of plain Kubernetes run beside what every control plane on Azure needs.
var nodeKeys = []string{contract.ImageNetworkPlugins, contract.KubeProxy}

// required are the keys without which a cluster does not start.
func required(facts *payload.Facts) []string {
	keys := release.Required(hyperv1.AzurePlatform)
	if release.KindOf(facts.Images) == release.KindKubernetes {
		keys = append(keys, nodeKeys...)
	}
	slices.Sort(keys)
	return keys
}

// verified is what payload verify prints.
type verified struct {
	Image    string            `json:"image"`
	Version  string            `json:"version"`
	Kind     release.Kind      `json:"kind"`
	Images   int               `json:"images"`
	Findings []payload.Finding `json:"findings"`
}

func (f *common) judge(w io.Writer, image string, facts *payload.Facts, findings []payload.Finding) error {
	out := verified{Image: image, Version: facts.Version, Kind: release.KindOf(facts.Images), Images: len(facts.Images), Findings: append([]payload.Finding{}, findings...)}
	if f.output != "" {
		if err := printing.Object(w, f.output, out); err != nil {
			return err
		}
	} else {
		for _, finding := range findings {
			fmt.Fprintln(w, finding)
		}
	}
	if len(findings) > 0 {
		return fmt.Errorf("the payload %s cannot be used: %d findings: publish it again, or repair what they name", image, len(findings))
	}
	if f.output == "" {
		fmt.Fprintf(w, "%s: %s payload %s, %d images for %s: all there\n", image, release.KindOf(facts.Images), facts.Version, len(facts.Images), strings.Join(facts.Archs, ", "))
	}
	return nil
}
