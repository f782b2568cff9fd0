// Package registryflags has the flags by which commands reach container registries, and what they tell while parts are built for images.
package registryflags

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/spf13/cobra"

	"github.com/hypershift-on-azure/hypershift/images"
	"github.com/hypershift-on-azure/hypershift/images/registry"
	"github.com/hypershift-on-azure/hypershift/internal/cli/printing"
	"github.com/hypershift-on-azure/hypershift/internal/cli/progress"
	"github.com/hypershift-on-azure/hypershift/internal/version"
	"github.com/hypershift-on-azure/hypershift/parts/build"
)

// Flags say with which credentials and trust registries are asked.
type Flags struct{ registry.Options }

// Add adds the flags.
func (f *Flags) Add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.AuthFile, "auth-file", "", "Docker configuration file with the registry's credentials or credential helpers, as `az acr login` and `docker login` write it (default $DOCKER_CONFIG or ~/.docker/config.json)")
	cmd.Flags().StringVar(&f.CAFile, "ca-file", "", "PEM file with certificate authorities that are trusted for registries beside the system's")
	// The quoted words of a usage are the name of its value.
	cmd.Flags().Lookup("auth-file").Usage = strings.ReplaceAll(cmd.Flags().Lookup("auth-file").Usage, "`", "'")
}

// Client reaches registries as the flags say, through the proxy of the environment.
func (f *Flags) Client() (*registry.Client, error) {
	f.UserAgent = "hypershift/" + version.Version
	return registry.New(f.Options)
}

// Path reads a registry with a path, such as registry.example.com/team, the value of a flag.
func Path(flag, value string) (string, error) {
	value = strings.TrimSuffix(value, "/")
	if value == "" {
		return "", fmt.Errorf("%s is required: name a registry, such as myregistry.azurecr.io or registry.example.com/team", flag)
	}
	host, _, _ := strings.Cut(value, "/")
	if strings.Contains(value, "://") || strings.Contains(value, "@") || !strings.ContainsAny(host, ".:") && host != "localhost" {
		return "", fmt.Errorf("%s %q is no registry: give its host and a path, such as myregistry.azurecr.io/team", flag, value)
	}
	if _, err := name.NewRepository(value+"/name", name.StrictValidation); err != nil {
		return "", fmt.Errorf("%s %q is no registry with a path: %w", flag, value, err)
	}
	return value, nil
}

// Store keeps layers for registries behind a network below the cache of built parts.
func Store(cache string) *images.Store {
	return &images.Store{Dir: filepath.Join(cache, "images"), Compress: true, Bills: true}
}

// AddCache adds the flag for the directory of what is built.
func AddCache(cmd *cobra.Command, cache *string) {
	cmd.Flags().StringVar(cache, "cache", "", "directory of built parts and layers (default $HYPERSHIFT_CACHE or the user's cache)")
}

// Archs are the architectures of a flag, each once, in one order.
func Archs(flag string, values, known []string) ([]string, error) {
	if len(values) == 0 {
		return nil, fmt.Errorf("%s is empty: give one of %s, or several", flag, strings.Join(known, ", "))
	}
	for _, value := range values {
		if !slices.Contains(known, value) {
			return nil, fmt.Errorf("%s %q is unknown; use %s%s", flag, value, strings.Join(known, ", "), printing.Suggest(value, known))
		}
	}
	values = slices.Clone(values)
	slices.Sort(values)
	return slices.Compact(values), nil
}

// Building tells of a build: a line for each part that is done, and one now and then for what takes long.
func Building(cmd *cobra.Command) func(build.Event) {
	const interval = 5 * time.Second
	say, last := progress.Line(cmd), time.Now()
	return func(e build.Event) {
		switch {
		case e.Program == "" || e.State == build.Cached:
		case e.State == build.Done:
			say("built    %s", e.Program)
		case e.Detail != "" && time.Since(last) >= interval:
			last = time.Now()
			if e.Total > 0 {
				say("%s %s (%d of %d packages): %s", e.State, e.Program, e.Done, e.Total, e.Detail)
			} else {
				say("%s %s: %s", e.State, e.Program, e.Detail)
			}
		}
	}
}
