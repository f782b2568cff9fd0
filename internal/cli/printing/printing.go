// Package printing writes results for programs, and errors on one line.
package printing

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"sigs.k8s.io/yaml"
)

// CheckFormat refuses an --output that is neither json nor yaml.
func CheckFormat(format string) error {
	if format != "" && format != "json" && format != "yaml" {
		return fmt.Errorf("--output %q is unknown; use json or yaml%s", format, Suggest(format, []string{"json", "yaml"}))
	}
	return nil
}

// Object writes v as json or yaml.
func Object(w io.Writer, format string, v any) error {
	raw, err := json.MarshalIndent(v, "", "  ")
	if err == nil && format == "yaml" {
		raw, err = yaml.JSONToYAML(raw)
	}
	if err != nil {
		return fmt.Errorf("cannot print the result as %s: %w", format, err)
	}
	if format == "json" {
		raw = append(raw, '\n')
	}
	_, err = w.Write(raw)
	return err
}

// lineLimit keeps a line readable on a terminal.
const lineLimit = 400

// Shorten keeps a text readable on a terminal.
func Shorten(text string) string {
	if runes := []rune(text); len(runes) > lineLimit {
		return string(runes[:lineLimit]) + " …"
	}
	return text
}

// OneLine keeps an error that joins several others readable and greppable.
func OneLine(err error) string {
	lines := strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' })
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, "; ")
}
