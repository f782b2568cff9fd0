package twin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hypershift-on-azure/hypershift/twin/machineconfig"
)

// MarkFile is where an image of a twin payload says what it is.
const MarkFile = "/usr/share/twin/image.json"

// Mark is what it says.
type Mark struct {
	Key     string `json:"key"`
	Release string `json:"release"`
}

// Run is a checker, or one of the small programs that scripts of this project start in images of OpenShift's; name is what it was started as.
func Run(ctx context.Context, name string, args []string) error {
	if tool := tools[name]; tool != nil {
		return tool(ctx, args)
	}
	raw, err := os.ReadFile(MarkFile)
	mark := Mark{}
	if err == nil {
		err = json.Unmarshal(raw, &mark)
	}
	if err != nil {
		return fmt.Errorf("twin: not in an image of a twin payload: %w", err)
	}
	if mark.Key == machineconfig.ImageKey {
		return machineconfig.Run(name, args)
	}
	programs, err := Programs()
	if err != nil {
		return err
	}
	p := Find(programs, name)
	if p == nil {
		return fmt.Errorf("twin: there is no checker for %s in the image of %s", name, mark.Key)
	}
	start := Start{Args: args, Env: environment(), Release: mark.Release, Read: os.ReadFile}
	if wrong := p.Check(start); len(wrong) > 0 {
		return fmt.Errorf("twin: %s of %s would not start so: %w", p.Name, mark.Release, errors.Join(wrong...))
	}
	slog.Info("twin: started as the program is, and now leaves its work out", "program", p.Name, "release", mark.Release)
	return p.act(ctx, start)
}

func environment() map[string]string {
	out := map[string]string{}
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		out[name] = value
	}
	return out
}

// act does what a checker does once nothing is wrong.
func (p Program) act(ctx context.Context, s Start) error {
	release := s.Release
	given, _ := readCommand(s.Args, p.Flags)
	switch p.Name {
	case "render", "authentication-operator":
		return render(given.flags["asset-output-dir"][0], given.flags["rendered-manifest-dir"][0], release, s.Env["FEATURE_GATE_YAML"])
	case "copy-content":
		return copyContent(given)
	case "hyperkube":
		return becomeAPIServer(given)
	}
	clients, err := p.clients(s, given)
	if err != nil {
		return err
	}
	if p.Once {
		return reachAll(ctx, clients)
	}
	state := &health{}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		if err := reachAll(ctx, clients); err != nil {
			return err
		}
		state.reached.Store(true)
		slog.Info("twin: reached every API server that it was led to", "servers", len(clients))
		<-ctx.Done()
		return nil
	})
	if p.Serves != nil {
		g.Go(func() error { return p.serve(ctx, s, given, state) })
	}
	if len(p.Operands) > 0 {
		g.Go(func() error { return p.operate(ctx, s) })
	}
	switch p.Name {
	case "cluster-version-operator":
		g.Go(func() error {
			return operateVersion(ctx, given.flags["kubeconfig"][0], s.Env["RELEASE_IMAGE"], s.Env["PAYLOAD_OVERRIDE"])
		})
	case "cluster-image-registry-operator":
		g.Go(func() error { return operateRegistry(ctx) })
	case "opm":
		g.Go(func() error { return answerConnections(ctx, ":50051") })
	}
	return g.Wait()
}

// patience is how long a checker asks an API server again before it gives up and starts anew, as the programs do.
const patience = 2 * time.Minute
