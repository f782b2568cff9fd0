package failure

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Markdown is the page of the codes of Azure that are known, docs/reference/errors.md.
func Markdown() (string, error) {
	var out strings.Builder
	out.WriteString(`# Errors of Azure

<!-- Written by hack/apidocs from internal/azure/failure/dictionary.go. -->

A command that Azure refuses says what happened, which field does not match, and what to do; conditions of a HostedCluster say the same. These are the codes that it
knows. Where no cause stands here, Azure's own sentence is told. Waiting: Azure has not caught up, and it is tried again; transient: it is tried again at once;
terminal: somebody has to do something. A code that is not here is told in Azure's words.

| Code | Cause | Look at | What to do | Kind |
|---|---|---|---|---|
`)
	cell := func(text string) string { return cmp.Or(strings.ReplaceAll(text, "|", `\|`), "–") }
	for _, code := range slices.Sorted(maps.Keys(dictionary)) {
		e := dictionary[code]
		fmt.Fprintf(&out, "| `%s` | %s | %s | %s | %s |\n", code, cell(e.cause), cell(e.field), cell(e.remedy), strings.ToLower(string(e.kind)))
	}
	return out.String(), nil
}
