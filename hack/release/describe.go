package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
)

// describe are the files of an archive beside the program: licence, README, completions of shells, manual pages.
func (r release) describe() ([]file, error) {
	var files []file
	for _, name := range []string{"LICENSE", "README.md"} {
		content, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("run it in the root of the repository: %w", err)
		}
		files = append(files, file{path: name, mode: 0o644, content: content})
	}
	completions, err := r.completions()
	if err != nil {
		return nil, err
	}
	pages, err := r.pages(r.root)
	return append(append(files, completions...), pages...), err
}

func (r release) completions() ([]file, error) {
	var files []file
	for shell, write := range map[string]func(*bytes.Buffer) error{
		"bash": func(out *bytes.Buffer) error { return r.root.GenBashCompletionV2(out, true) },
		"zsh":  func(out *bytes.Buffer) error { return r.root.GenZshCompletion(out) },
		"fish": func(out *bytes.Buffer) error { return r.root.GenFishCompletion(out, true) },
	} {
		var out bytes.Buffer
		if err := write(&out); err != nil {
			return nil, fmt.Errorf("completion of %s: %w", shell, err)
		}
		files = append(files, file{path: "completions/" + r.program() + "." + shell, mode: 0o644, content: out.Bytes()})
	}
	return files, nil
}

// pages are the manual pages of a command and of those below it, but for hidden ones.
func (r release) pages(cmd *cobra.Command) ([]file, error) {
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	withoutPaths(cmd)
	cmd.DisableAutoGenTag = true
	var out bytes.Buffer
	header := &doc.GenManHeader{Title: strings.ToUpper(name), Section: "1", Source: r.program() + " " + r.version, Manual: "HyperShift on Azure", Date: &r.at}
	if err := doc.GenMan(cmd, header, &out); err != nil {
		return nil, fmt.Errorf("manual page of %s: %w", name, err)
	}
	files := []file{{path: "man/man1/" + name + ".1", mode: 0o644, content: out.Bytes()}}
	for _, sub := range cmd.Commands() {
		if !sub.IsAvailableCommand() || sub.IsAdditionalHelpTopicCommand() {
			continue
		}
		below, err := r.pages(sub)
		if err != nil {
			return nil, err
		}
		files = append(files, below...)
	}
	return files, nil
}

// withoutPaths leaves defaults out that are folders of the machine on which the release is built.
func withoutPaths(cmd *cobra.Command) {
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if filepath.IsAbs(f.DefValue) {
			f.DefValue = ""
		}
	})
}
