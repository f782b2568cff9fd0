package printing

import (
	"bytes"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// A table fits its texts, however wide their letters are in bytes; control characters of others do nothing.
func TestTable(t *testing.T) {
	table := Table{Indent: "> ", Head: []string{"A", "B", "C"}, Rows: [][]Cell{Plain("x → y", "", "\x1b[2Jlast\nline\u202e"), {{Text: "z", Tone: Bad}, {Text: "long text"}, {Text: "end"}}}}
	var out bytes.Buffer
	if err := table.Print(&out, PainterFor(&out)); err != nil {
		t.Fatal(err)
	}
	want := "> A       B           C\n> x → y   -           [2Jlast line\n> z       long text   end\n"
	if out.String() != want {
		t.Errorf("got\n%q\nwant\n%q", out.String(), want)
	}
	out.Reset()
	if err := table.Print(&out, Painter{on: true}); err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(out.Bytes(), []byte("\x1b[31mz\x1b[0m       long text")) {
		t.Errorf("a colour moves the columns: %q", out.String())
	}
}

func TestSuggest(t *testing.T) {
	for typed, want := range map[string]string{
		"dmeo": "; did you mean demo?", "demmo": "; did you mean demo?", "DEMO": "; did you mean demo?", "de": "; did you mean demo?", "xyz": "", "": "",
		"stagin": "; did you mean staging?",
	} {
		if got := Suggest(typed, []string{"demo", "staging", "x"}); got != want {
			t.Errorf("%q: %q, want %q", typed, got, want)
		}
	}
}

func TestSuggestFlag(t *testing.T) {
	cmd := &cobra.Command{}
	cmd.Flags().String("namespace", "", "")
	err := SuggestFlag(cmd, cmd.ParseFlags([]string{"--namspace", "x"}))
	if err == nil || err.Error() != "unknown flag: --namspace; did you mean --namespace?" {
		t.Errorf("%v", err)
	}
	if err := SuggestFlag(cmd, cmd.ParseFlags([]string{"--colour"})); err == nil || err.Error() != "unknown flag: --colour" {
		t.Errorf("%v", err)
	}
}

func TestAge(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if got := Age(now.Add(-3*time.Minute), now) + Age(time.Time{}, now); got != "3m-" {
		t.Error(got)
	}
}

func TestTableFormats(t *testing.T) {
	for format, want := range map[string]string{"": "", "wide": "", "json": "", "yaml": "", "jsno": `--output "jsno" is unknown; use wide, json or yaml; did you mean json?`} {
		err := CheckTableFormat(format)
		if got := ""; err != nil && err.Error() != want || err == nil && got != want {
			t.Errorf("%q: %v", format, err)
		}
	}
}
