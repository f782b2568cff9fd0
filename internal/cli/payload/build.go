package payload

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/hypershift-on-azure/hypershift/images/operators"
	"github.com/hypershift-on-azure/hypershift/internal/cli/flagfile"
	"github.com/hypershift-on-azure/hypershift/internal/cli/printing"
	"github.com/hypershift-on-azure/hypershift/internal/cli/registryflags"
	"github.com/hypershift-on-azure/hypershift/internal/version"
	"github.com/hypershift-on-azure/hypershift/parts/build"
	"github.com/hypershift-on-azure/hypershift/payload"
)

// buildFlags are the flags of payload build as typed.
type buildFlags struct {
	common
	release, versions, out, source, cache string
	archs                                 []string
	images                                map[string]string
	dryRun                                bool
}

func newBuildCommand() *cobra.Command {
	f := &buildFlags{}
	cmd := &cobra.Command{
		Use:   "build",
		Short: "Build a release payload of plain Kubernetes from source",
		Example: `  hypershift payload build --release 4.21.0 --out payload-4.21.0
  hypershift payload build --versions versions.yaml --arch amd64 --out payload \
    --image cluster-autoscaler=registry.k8s.io/autoscaling/cluster-autoscaler:v1.34.1
  hypershift payload build --release 4.21.1 --dry-run -o yaml`,
		Long: `Build a release payload of plain Kubernetes from source.

The programs are compiled from modules of the Go module proxy, whose checksums come with this program, and Debian's packages are fetched
with apt, which verifies them: so it needs the go command and Debian, and neither root nor a container engine. The result is the directory
of an OCI layout for 'payload publish'. Building for the first time takes from ten minutes to an hour; what is built is kept.

A versions file says what the payload is made of. 'payload build --dry-run' prints that of a release that comes with this program.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.release, "release", "", "release whose versions come with this program: "+strings.Join(payload.BuiltIn(), ", "))
	flags.StringVar(&f.versions, "versions", "", "versions file to build from instead")
	flags.StringVar(&f.out, "out", "", "directory to write, empty or not there")
	flags.StringSliceVar(&f.archs, "arch", payload.Architectures, "architectures of the payload: amd64, arm64")
	flags.StringToStringVar(&f.images, "image", nil, "published images that the payload takes as they are, as KEY=REFERENCE")
	flags.StringVar(&f.source, "source", "", "source tree of this project, whose control-plane-operator the payload gets; without it the operator's image runs the control planes")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print what would be built; nothing is fetched or built")
	registryflags.AddCache(cmd, &f.cache)
	f.add(cmd)
	cmd.MarkFlagsOneRequired("release", "versions")
	cmd.MarkFlagsMutuallyExclusive("release", "versions")
	return cmd
}

// plan is what payload build --dry-run prints.
type plan struct {
	Versions      *payload.Versions `json:"versions"`
	Architectures []string          `json:"architectures"`
	Programs      map[string]string `json:"programs"` // name -> version
	Out           string            `json:"out,omitempty"`
}

// built is what payload build prints.
type built struct {
	Release       string            `json:"release"`
	Kubernetes    string            `json:"kubernetes"`
	Architectures []string          `json:"architectures"`
	Out           string            `json:"out"`
	Images        map[string]string `json:"images"` // key -> digest
}

// check reads everything that was typed; nothing is fetched or built yet.
func (f *buildFlags) check() (*payload.Versions, error) {
	archs, err := registryflags.Archs("--arch", f.archs, payload.Architectures)
	if err != nil {
		return nil, err
	}
	f.archs, f.cache = archs, cmp.Or(f.cache, build.DefaultCache())
	if err := printing.CheckFormat(f.output); err != nil {
		return nil, err
	}
	if !f.dryRun {
		if err := f.checkOut(); err != nil {
			return nil, err
		}
	}
	if f.source != "" {
		if err := operators.IsSource(f.source); err != nil {
			return nil, fmt.Errorf("--source: %w", err)
		}
	}
	versions, err := f.read()
	if err != nil {
		return nil, err
	}
	if versions, err = versions.With(f.images); err != nil {
		return nil, fmt.Errorf("--image: %w", err)
	}
	return versions, versions.ServesMachines(f.archs)
}

func (f *buildFlags) read() (*payload.Versions, error) {
	if f.release != "" {
		versions, err := payload.Of(f.release)
		if err != nil {
			return nil, fmt.Errorf("--release: %w", err)
		}
		return versions, nil
	}
	raw, err := flagfile.Read("--versions", f.versions)
	if err != nil {
		return nil, err
	}
	versions, err := payload.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("--versions %s: %w", f.versions, err)
	}
	return versions, nil
}

func (f *buildFlags) checkOut() error {
	if f.out == "" {
		return errors.New("--out is required: name the directory to write")
	}
	if err := flagfile.CheckNewFolder("--out", f.out); err != nil {
		return err
	}
	if entries, err := os.ReadDir(f.out); err == nil && len(entries) > 0 {
		return fmt.Errorf("--out %s: the directory is not empty; name one that is, or that does not exist", f.out)
	}
	return nil
}

func (f *buildFlags) run(cmd *cobra.Command) error {
	versions, err := f.check()
	if err != nil {
		return err
	}
	if f.dryRun {
		return f.printPlan(cmd.OutOrStdout(), versions)
	}
	client, err := f.Client()
	if err != nil {
		return err
	}
	if f.source == "" {
		fmt.Fprintln(cmd.ErrOrStderr(), "The payload gets no image for key hypershift (--source): the operator's own image runs its control planes.")
	}
	store := registryflags.Store(f.cache)
	made, err := payload.Build(cmd.Context(), payload.Config{Versions: versions, Archs: f.archs, OwnVersion: version.Version, Source: f.source,
		Cache: f.cache, Store: store, Registry: client, Event: registryflags.Building(cmd)})
	if err != nil {
		return err
	}
	if err := made.WriteLayout(store, f.out); err != nil {
		return err
	}
	return f.printBuilt(cmd.OutOrStdout(), made)
}

func (f *buildFlags) printPlan(w io.Writer, versions *payload.Versions) error {
	out := plan{Versions: versions, Architectures: f.archs, Programs: payload.Programs(versions), Out: f.out}
	if f.output != "" {
		return printing.Object(w, f.output, out)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "Release:\t%s\nKubernetes:\t%s\nArchitectures:\t%s\n\n", versions.Release, versions.Kubernetes, strings.Join(f.archs, ", "))
	fmt.Fprintln(t, "PROGRAM\tVERSION")
	for _, program := range slices.Sorted(maps.Keys(out.Programs)) {
		fmt.Fprintf(t, "%s\t%s\n", program, out.Programs[program])
	}
	for _, key := range slices.Sorted(maps.Keys(versions.Images)) {
		fmt.Fprintf(t, "%s\t%s\n", key, versions.Images[key])
	}
	return t.Flush()
}

func (f *buildFlags) printBuilt(w io.Writer, made *payload.Payload) error {
	if f.output == "" {
		_, err := fmt.Fprintln(w, f.out)
		return err
	}
	out := built{Release: made.Version, Kubernetes: made.Kubernetes, Architectures: made.Archs, Out: f.out, Images: map[string]string{}}
	for key, component := range made.Components {
		desc, err := component.Describe()
		if err != nil {
			return err
		}
		out.Images[key] = desc.Digest.String()
	}
	return printing.Object(w, f.output, out)
}
