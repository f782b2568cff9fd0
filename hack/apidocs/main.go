// Command apidocs writes docs/reference/api.md from the CustomResourceDefinitions and docs/reference/conditions.md from the
// constants of api/v1beta1, and docs/reference/metrics.md from the definitions of internal/metrics and the rules of config/monitoring,
// docs/reference/control-plane.md and images.md from the tables of internal/controlplane/table, and docs/reference/supported.md from those of
// internal/support/table, and docs/reference/troubleshooting.md from the cases of internal/explain, docs/reference/preflight.md from the rows of internal/preflight, and docs/reference/cluster-file.md with its schema
// from the flags of create cluster azure, docs/reference/cli.md and what --help prints from all commands, and docs/reference/errors.md from the dictionary of internal/azure/failure. Run it by hack/generate.sh.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/cli"
	"github.com/hypershift-on-azure/hypershift/internal/cli/cluster"
	"github.com/hypershift-on-azure/hypershift/internal/cli/clusterfile"
	images "github.com/hypershift-on-azure/hypershift/internal/controlplane/table"
	"github.com/hypershift-on-azure/hypershift/internal/explain"
	"github.com/hypershift-on-azure/hypershift/internal/preflight"
	"github.com/hypershift-on-azure/hypershift/internal/support/table"
	"github.com/hypershift-on-azure/hypershift/test/e2e/causes"
)

//nolint:unparam // every page is rendered by such a function
func clusterFile() (string, error) { return clusterfile.Markdown(cluster.FileFlags()), nil }

func troubleshooting() (string, error) {
	made, err := causes.Made("test/e2e/testdata")
	return explain.Markdown(made), err
}

// help is what `hypershift --help` prints.
func help() (string, error) {
	var out, messages strings.Builder
	if status := cli.Main([]string{"--help"}, &out, &messages); status != 0 {
		return "", errors.New(messages.String())
	}
	return out.String(), nil
}

func main() {
	for file, render := range map[string]func() (string, error){
		"docs/reference/api.md":             fields,
		"docs/reference/conditions.md":      conditions,
		"docs/reference/metrics.md":         metricsPage,
		"docs/reference/control-plane.md":   controlPlane,
		"docs/reference/images.md":          images.ImagesMarkdown,
		"docs/reference/supported.md":       table.Markdown,
		"docs/reference/troubleshooting.md": troubleshooting,
		"docs/reference/preflight.md":       preflight.Markdown,
		"docs/reference/cluster-file.md":    clusterFile,
		"docs/reference/cli.md":             commands,
		"docs/reference/errors.md":          failure.Markdown,
		"internal/cli/quick/help.txt":       help,
		"docs/reference/azurecluster.schema.json": func() (string, error) {
			raw, err := clusterfile.Schema(cluster.FileFlags())
			return string(raw) + "\n", err
		},
	} {
		text, err := render()
		if err == nil {
			err = os.WriteFile(file, []byte(text), 0o644)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "error: %s: %v\n", file, err)
			os.Exit(1)
		}
	}
}
