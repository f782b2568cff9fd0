package interview

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func conduct(t *testing.T, who *Person, questions ...Question) (*cobra.Command, string, error) {
	t.Helper()
	cmd, said, _, err := conductFrom(t, who, questions...)
	return cmd, said, err
}

func conductFrom(t *testing.T, who *Person, questions ...Question) (*cobra.Command, string, map[string]string, error) {
	t.Helper()
	cmd := &cobra.Command{Use: "make"}
	cmd.SetContext(t.Context())
	var said bytes.Buffer
	cmd.SetErr(&said)
	cmd.Flags().String("name", "", "")
	cmd.Flags().Int("count", 0, "")
	origins, err := Conduct(cmd, who, questions)
	return cmd, said.String(), origins, err
}

func choices(all ...string) func(context.Context) ([]string, error) {
	return func(context.Context) ([]string, error) { return all, nil }
}

// What can be found is not asked for, and where it comes from is said.
func TestFinds(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("there.json", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("MY_NAME", "of-environment")
	for want, q := range map[string]Question{
		"of-environment": {Flag: "name", Variable: "MY_NAME", Files: []string{"there.json"}},
		"there.json":     {Flag: "name", Variable: "NOBODY_HAS_IT", Files: []string{"not.json", "there.json"}},
		"single":         {Flag: "name", Choices: choices("single")},
	} {
		cmd, said, err := conduct(t, &Person{}, q)
		if f := cmd.Flag("name"); err != nil || f.Value.String() != want || !f.Changed || !strings.HasPrefix(said, "--name "+want+" (") {
			t.Errorf("%s: %v, %q, %q", want, err, f.Value, said)
		}
	}
}

// Where each value comes from is known afterwards.
func TestOrigins(t *testing.T) {
	t.Setenv("MY_NAME", "of-environment")
	questions := []Question{{Flag: "name", Variable: "MY_NAME"}, {Flag: "count", Text: "How many"}}
	_, _, origins, err := conductFrom(t, Answering(strings.NewReader("3\n")), questions...)
	if err != nil || len(origins) != 2 || origins["name"] != "$MY_NAME" || origins["count"] != Asked {
		t.Errorf("%v %v", err, origins)
	}
}

// What cannot be found is asked for, until the answer will do.
func TestAsks(t *testing.T) {
	cmd, said, err := conduct(t, Answering(strings.NewReader("blu\nblue\n\nmany\n3")), Question{Flag: "name", Text: "Which", Choices: choices("blue", "red")}, Question{Flag: "count", Text: "How many"})
	if err != nil || cmd.Flag("name").Value.String() != "blue" || cmd.Flag("count").Value.String() != "3" {
		t.Errorf("%v, name %s, count %s", err, cmd.Flag("name").Value, cmd.Flag("count").Value)
	}
	for _, part := range []string{"Which (blue, red): ", `"blu" is none of these; did you mean blue?`, "How many: How many: ", `"many" does not do`} {
		if !strings.Contains(said, part) {
			t.Errorf("%q is missing in %q", part, said)
		}
	}
}

func TestRefuses(t *testing.T) {
	broken := func(context.Context) ([]string, error) { return nil, errors.New("no answer of Azure") }
	for name, tc := range map[string]struct {
		who  *Person
		q    Question
		want string
	}{
		"no terminal": {&Person{}, Question{Flag: "name", Text: "Name"}, "--name is needed, and nobody sits at a terminal"},
		"end":         {Answering(strings.NewReader("")), Question{Flag: "name", Text: "Name"}, "--name has no answer: EOF"},
		"no choices":  {Answering(strings.NewReader("x\n")), Question{Flag: "name", Choices: broken}, "no answer of Azure"},
	} {
		if _, _, err := conduct(t, tc.who, tc.q); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
