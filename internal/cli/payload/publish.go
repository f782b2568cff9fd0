package payload

import (
	"cmp"
	"context"
	"fmt"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/spf13/cobra"

	"github.com/hypershift-on-azure/hypershift/images/registry"

	"github.com/hypershift-on-azure/hypershift/internal/cli/printing"
	"github.com/hypershift-on-azure/hypershift/internal/cli/progress"
	"github.com/hypershift-on-azure/hypershift/internal/cli/registryflags"
	"github.com/hypershift-on-azure/hypershift/internal/release/signature"
	"github.com/hypershift-on-azure/hypershift/parts/build"
	"github.com/hypershift-on-azure/hypershift/payload"
)

// publishFlags are the flags of payload publish as typed.
type publishFlags struct {
	common
	from, to, cache string
	dryRun          bool
	signing         registryflags.Signing
}

func (f *publishFlags) run(cmd *cobra.Command) error {
	path, err := registryflags.Path("--to", f.to)
	if err != nil {
		return err
	}
	if err := printing.CheckFormat(f.output); err != nil {
		return err
	}
	if err := f.signing.Open(); err != nil {
		return err
	}
	client, err := f.Client()
	if err != nil {
		return err
	}
	read, err := open(cmd.Context(), client, f.from)
	if err != nil {
		return err
	}
	store, place := registryflags.Store(cmp.Or(f.cache, build.DefaultCache())), payload.At(path, read.Version)
	var out *payload.Published
	if f.dryRun {
		out, err = read.Plan(store, place)
	} else {
		say := progress.Line(cmd)
		out, err = read.Publish(cmd.Context(), client, store, place, func(key string) { say("published %s", key) })
	}
	if err == nil && f.signing.Given() {
		err = f.sign(cmd.Context(), client, out, place)
	}
	if err != nil {
		return err
	}
	if f.output != "" {
		return printing.Object(cmd.OutOrStdout(), f.output, out)
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), out.ReleaseImage)
	return err
}

// sign signs the release image by its digest, and with it the digests of the images that it names.
func (f *publishFlags) sign(ctx context.Context, client *registry.Client, out *payload.Published, place payload.Place) error {
	image, err := name.NewDigest(place.Write + "/" + place.Release + "@" + out.Digest)
	if err != nil {
		return err
	}
	at := signature.Tag(image)
	if !f.dryRun {
		if at, err = f.signing.Sign(ctx, client, image); err != nil {
			return err
		}
	}
	out.Signatures = at.String()
	return nil
}
