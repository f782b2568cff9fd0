package explain

import (
	"fmt"
	"regexp"
	"strings"
)

const preamble = "# Troubleshooting\n\n" +
	"Generated from the cases of `internal/explain` by hack/generate.sh. `hypershift explain cluster NAME` and `hypershift explain nodepool NAME` find which of these it is and fill in the names, with\n" +
	"what is not ready because of what, since when, and the evidence: the words of Azure, of a condition, of an event, of a program's log. The last column names the scripts of `test/e2e/testdata`\n" +
	"that make the cause for real. Explain finds it there within a minute, of the cause, or of its first effect where Azure or a machine takes longer to show one.\n\n" +
	"| Case | Symptom | Cause | What to do | Made by |\n|---|---|---|---|---|\n"

// Markdown is the table of cases as a page; made has the scripts that make each case's cause.
func Markdown(made map[string][]string) string {
	var page strings.Builder
	page.WriteString(preamble)
	cell := strings.NewReplacer("|", "\\|", "\n", " ")
	for _, row := range cases {
		fmt.Fprintf(&page, "| `%s` | %s | %s | %s | %s |\n", row.ID, cell.Replace(row.Symptom), cell.Replace(row.Cause), cell.Replace(inCapitals(strings.Join(row.Next, ". "))), strings.Join(made[row.ID], ", "))
	}
	return page.String()
}

// placeholder stands for a name of the cluster's.
var placeholder = regexp.MustCompile(`\{([a-z-]+)\}`)

// inCapitals shows placeholders as manuals do.
func inCapitals(text string) string {
	return placeholder.ReplaceAllStringFunc(text, func(name string) string { return strings.ToUpper(strings.Trim(name, "{}")) })
}
