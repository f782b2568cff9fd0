package payload

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hypershift-on-azure/hypershift/internal/cli/registryflags"
)

// signFlags are the flags of payload sign as typed.
type signFlags struct {
	registryflags.Flags
	signing registryflags.Signing
}

func newSignCommand() *cobra.Command {
	f := &signFlags{}
	cmd := &cobra.Command{
		Use:   "sign REFERENCE",
		Short: "Sign a payload that a registry has, as cosign does",
		Example: `  hypershift payload sign myregistry.azurecr.io/release:4.21.0 --key release.key
  hypershift payload sign myregistry.azurecr.io/ocp/release@sha256:… --key cosign.key`,
		Long: `Sign a payload that a registry has, as cosign does.

The digest of the release image is signed, which covers the images that it names by digest. The signature is added to those that lie in
REPOSITORY:sha256-DIGEST.sig; one by the same key is not added twice. 'install --release-signature-keys' takes the public key.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	f.signing.Add(cmd, "key", "the release image")
	f.Add(cmd)
	_ = cmd.MarkFlagRequired("key")
	return cmd
}

// run prints the reference by digest, which is what an installation with keys takes.
func (f *signFlags) run(cmd *cobra.Command, image string) error {
	ref, err := reference(image)
	if err != nil {
		return err
	}
	if err := f.signing.Open(); err != nil {
		return err
	}
	client, err := f.Client()
	if err != nil {
		return err
	}
	head, err := client.Head(cmd.Context(), ref)
	if err != nil {
		return err
	}
	signed := ref.Context().Digest(head.Digest.String())
	if _, err := f.signing.Sign(cmd.Context(), client, signed); err != nil {
		return err
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), signed)
	return err
}
