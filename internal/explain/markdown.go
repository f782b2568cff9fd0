package explain

import (
	"fmt"
	"regexp"
	"strings"
)

const preamble = "# Troubleshooting\n\n" +
	"Generated from the cases of `internal/explain` by hack/generate.sh. `hypershift explain cluster NAME` and `hypershift explain nodepool NAME` find which of these it is and fill in the names, with\n" +
	"what is not ready because of what, since when, and the evidence: the words of Azure, of a condition, of an event, of a program's log. A test provokes each case.\n\n" +
	"| Case | Symptom | Cause | What to do |\n|---|---|---|---|\n"

// Markdown is the table of cases as a page.
func Markdown() (string, error) {
	var page strings.Builder
	page.WriteString(preamble)
	cell := strings.NewReplacer("|", "\\|", "\n", " ")
	for _, row := range cases {
		fmt.Fprintf(&page, "| `%s` | %s | %s | %s |\n", row.ID, cell.Replace(row.Symptom), cell.Replace(row.Cause), cell.Replace(inCapitals(strings.Join(row.Next, ". "))))
	}
	return page.String(), nil
}

// placeholder stands for a name of the cluster's.
var placeholder = regexp.MustCompile(`\{([a-z-]+)\}`)

// inCapitals shows placeholders as manuals do.
func inCapitals(text string) string {
	return placeholder.ReplaceAllStringFunc(text, func(name string) string { return strings.ToUpper(strings.Trim(name, "{}")) })
}
