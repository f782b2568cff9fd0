// Command hypershift is what a person uses: identities, infrastructure, installation, hosted clusters and the sandbox.
package main

import (
	"os"

	"github.com/hypershift-on-azure/hypershift/internal/cli"
	_ "github.com/hypershift-on-azure/hypershift/internal/cli/quick" // answers --help before the rest of the program begins
)

func main() {
	os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr))
}
