// Command apidocs writes docs/reference/api.md from the CustomResourceDefinitions and docs/reference/conditions.md from the
// constants of api/v1beta1, and docs/reference/metrics.md from the definitions of internal/metrics and the rules of config/monitoring,
// docs/reference/control-plane.md from the table of internal/controlplane/table, and docs/reference/supported.md from those of
// internal/support/table. Run it by hack/generate.sh.
package main

import (
	"fmt"
	"os"

	"github.com/hypershift-on-azure/hypershift/internal/support/table"
)

func main() {
	for file, render := range map[string]func() (string, error){
		"docs/reference/api.md":           fields,
		"docs/reference/conditions.md":    conditions,
		"docs/reference/metrics.md":       metricsPage,
		"docs/reference/control-plane.md": controlPlane,
		"docs/reference/supported.md":     table.Markdown,
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
