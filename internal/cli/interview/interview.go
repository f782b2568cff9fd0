// Package interview finds the values of flags that nobody has typed: in the environment, in the folder, in what there is to choose from; and asks a
// person for those that it cannot find.
package interview

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/hypershift-on-azure/hypershift/internal/cli/printing"
)

// Question is about one flag.
type Question struct {
	// Flag is its name, Text what a person is asked.
	Flag, Text string
	// Variable of the environment that has it; "" where none does. Files of the folder that it may name.
	Variable string
	Files    []string
	// Choices are all that it can be; nil where that is not known. A single one is taken.
	Choices func(context.Context) ([]string, error)
}

// Person answers the questions of a command. Terminal says whether the input is a terminal.
type Person struct {
	Terminal bool
	lines    *bufio.Reader
}

// At returns the person at the command's standard input.
func At(cmd *cobra.Command) *Person {
	file, ok := cmd.InOrStdin().(*os.File)
	return &Person{Terminal: ok && term.IsTerminal(int(file.Fd())), lines: bufio.NewReader(cmd.InOrStdin())}
}

// Answering returns a person who answers with these lines; for tests.
func Answering(lines io.Reader) *Person {
	return &Person{Terminal: true, lines: bufio.NewReader(lines)}
}

// Asked is where a value comes from that a person has given.
const Asked = "asked"

// Conduct sets the flags of the questions, says on stderr where each value that is found comes from, and returns where all come from, by
// flag. What is set that way counts as typed.
func Conduct(cmd *cobra.Command, who *Person, questions []Question) (map[string]string, error) {
	origins := map[string]string{}
	for _, q := range questions {
		value, from, err := q.find(cmd.Context())
		if err != nil {
			return nil, err
		}
		if value == "" {
			if err := who.answer(cmd, q); err != nil {
				return nil, err
			}
			origins[q.Flag] = Asked
			continue
		}
		if err := cmd.Flags().Set(q.Flag, value); err != nil {
			return nil, fmt.Errorf("--%s %q of %s: %w", q.Flag, value, from, err)
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "--%s %s (%s)\n", q.Flag, value, from)
		origins[q.Flag] = from
	}
	return origins, nil
}

// find looks where nobody has to be asked.
func (q Question) find(ctx context.Context) (value, from string, err error) {
	if value := os.Getenv(q.Variable); q.Variable != "" && value != "" {
		return value, "$" + q.Variable, nil
	}
	for _, file := range q.Files {
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
			return file, "in this folder", nil
		}
	}
	if q.Choices == nil {
		return "", "", nil
	}
	choices, err := q.Choices(ctx)
	if err != nil {
		return "", "", fmt.Errorf("cannot find what --%s can be: %w", q.Flag, err)
	}
	if len(choices) == 1 {
		return choices[0], "the only one", nil
	}
	return "", "", nil
}

// answer asks until a value is one that the flag takes.
func (p *Person) answer(cmd *cobra.Command, q Question) error {
	if !p.Terminal {
		return fmt.Errorf("--%s is needed, and nobody sits at a terminal to be asked: %s", q.Flag, q.Text)
	}
	var choices []string
	if q.Choices != nil {
		var err error
		if choices, err = q.Choices(cmd.Context()); err != nil {
			return fmt.Errorf("cannot find what --%s can be: %w", q.Flag, err)
		}
	}
	for {
		prompt := q.Text
		if len(choices) > 0 {
			prompt += " (" + strings.Join(choices, ", ") + ")"
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: ", prompt)
		value, err := p.line(cmd.Context())
		if err != nil {
			return fmt.Errorf("--%s has no answer: %w", q.Flag, err)
		}
		if len(choices) > 0 && !slices.Contains(choices, value) {
			fmt.Fprintf(cmd.ErrOrStderr(), "%q is none of these%s\n", value, printing.Suggest(value, choices))
			continue
		}
		if value == "" {
			continue
		}
		if err := cmd.Flags().Set(q.Flag, value); err != nil {
			fmt.Fprintf(cmd.ErrOrStderr(), "%q does not do: %v\n", value, err)
			continue
		}
		return nil
	}
}

// line waits for one, or for the interrupt.
func (p *Person) line(ctx context.Context) (string, error) {
	type read struct {
		text string
		err  error
	}
	answer := make(chan read, 1)
	go func() {
		text, err := p.lines.ReadString('\n')
		answer <- read{text, err}
	}()
	select {
	case a := <-answer:
		if text := strings.TrimSpace(a.text); a.err == nil || errors.Is(a.err, io.EOF) && text != "" {
			return text, nil
		}
		return "", a.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
