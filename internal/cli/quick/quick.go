// Package quick answers what needs nothing but the program's text: `hypershift --help`, `hypershift --version` and `hypershift version
// --client-only`. It does so while the program starts: Go initialises a package as soon as those that it imports are, in the order of their
// paths, and this one imports next to nothing. The clients of Kubernetes and of Azure, whose tables take most of the start, never begin.
// docs/adr/0012-quick-answers.md has the figures.
package quick

import (
	_ "embed"
	"os"

	"github.com/hypershift-on-azure/hypershift/internal/version"
)

// help is what the whole program prints; hack/apidocs writes the file.
//
//go:embed help.txt
var help string

func init() {
	if text := Answer(os.Args[1:]); text != "" {
		if _, err := os.Stdout.WriteString(text); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
}

// Answer is what the program prints for these words, "" for what the whole program has to answer.
func Answer(words []string) string {
	switch {
	case len(words) == 1 && (words[0] == "--help" || words[0] == "-h"):
		return help
	case len(words) == 1 && words[0] == "--version":
		return "hypershift version " + version.Version + "\n"
	case len(words) == 2 && words[0] == "version" && words[1] == "--client-only" && version.Commit != "":
		return version.Client(version.Commit) + "\n"
	}
	return ""
}
