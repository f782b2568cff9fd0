// Package payloadrender has the configuration of a pool's machines rendered by the machine-config programs of the pool's own release payload:
// it takes them out of the payload's images, gives them what they read in a work directory of their own, and fetches what they serve.
package payloadrender

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hypershift-on-azure/hypershift/internal/ignition"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// Payload keys of images with programs that are run here.
const (
	// imageConfigOperator is where releases before 4.15 have the program that renders feature gates.
	imageConfigOperator = "cluster-config-operator"
)

// Ports of the machine-config-server, while it runs.
const (
	securePort   = 22625
	insecurePort = 22626
)

// workPrefix begins the names of work directories.
const workPrefix = "get-payload"

// Options of a Renderer.
type Options struct {
	// WorkDir is a directory of its own: images are kept in it, and each render has a directory in it while it lasts.
	WorkDir string
	// FeatureGate is the file with the FeatureGate that the user wants, without a status.
	FeatureGate string
	// Unpacker takes programs out of images.
	Unpacker release.Unpacker
	// OSRelease is the file that says on which operating system the programs run; /usr/lib/os-release where nothing is said.
	OSRelease string
	// Patience is how long one program may take; five minutes where nothing is said.
	Patience time.Duration
	// SecurePort and InsecurePort are those of the machine-config-server; its own where nothing is said.
	SecurePort, InsecurePort int
}

// Renderer renders one configuration at a time: the ports of the machine-config-server are fixed.
type Renderer struct {
	Options
	images  *images
	serving serving
	turn    chan struct{}
}

// New makes a renderer, and removes what one before it has left in the work directory.
func New(options Options) (*Renderer, error) {
	if options.OSRelease == "" {
		options.OSRelease = "/usr/lib/os-release"
	}
	if options.Patience == 0 {
		options.Patience = 5 * time.Minute
	}
	if options.SecurePort == 0 {
		options.SecurePort, options.InsecurePort = securePort, insecurePort
	}
	left, err := filepath.Glob(filepath.Join(options.WorkDir, workPrefix+"*"))
	if err != nil {
		return nil, fmt.Errorf("look for work directories in %s: %w", options.WorkDir, err)
	}
	for _, dir := range left {
		if err := os.RemoveAll(dir); err != nil {
			return nil, fmt.Errorf("remove the work directory of a former render: %w", err)
		}
	}
	kept, err := newImages(filepath.Join(options.WorkDir, "images"), options.Unpacker, options.OSRelease)
	if err != nil {
		return nil, err
	}
	return &Renderer{Options: options, images: kept, turn: make(chan struct{}, 1)}, nil
}

// render is one that is under way.
type render struct {
	*Renderer
	Input
	// dir is the work directory.
	dir string
}

// Render makes the configuration that machines ask for. The error is a *StageError, or that of ctx.
func (r *Renderer) Render(ctx context.Context, in Input) ([]byte, error) {
	select {
	case r.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-r.turn }()
	dir, err := os.MkdirTemp(r.WorkDir, workPrefix)
	if err != nil {
		return nil, &StageError{Stage: "make a work directory", Cause: err}
	}
	payload, err := (&render{r, in, dir}).run(ctx)
	if removed := os.RemoveAll(dir); removed != nil && err == nil {
		err = &StageError{Stage: "remove the work directory", Cause: removed}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, told(err, dir)
	}
	return payload, nil
}

func (r *render) run(ctx context.Context) ([]byte, error) {
	for _, stage := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"take the machine-config programs out of the payload", r.extract},
		{"write what the machine-config programs read", r.write},
		{"render feature gates", r.renderFeatureGates},
		{"render manifests of machine configurations", r.bootstrapOperator},
		{"render machine configurations", r.bootstrapController},
	} {
		if err := stage.run(ctx); err != nil {
			return nil, &StageError{Stage: stage.name, Cause: err}
		}
	}
	payload, err := r.serve(ctx)
	if err == nil {
		err = ignition.Check(payload)
	}
	if err != nil {
		return nil, &StageError{Stage: "serve the machine configuration", Cause: err}
	}
	return payload, nil
}

// StageError says in which stage a render ended.
type StageError struct {
	Stage string
	Cause error
}

func (e *StageError) Error() string { return e.Stage + ": " + e.Cause.Error() }
func (e *StageError) Unwrap() error { return e.Cause }

// Transient tells whether the same render may succeed later without a change by the user.
func (e *StageError) Transient() bool {
	var image *release.Error
	return errors.As(e.Cause, &image) && image.Transient()
}
