package printing

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
	"k8s.io/apimachinery/pkg/util/duration"
)

// Tone is what a text says beside its words.
type Tone int

// Tones.
const (
	Neutral Tone = iota
	Good
	Warning
	Bad
	Title
)

// colours are those of ANSI terminals, by tone.
var colours = map[Tone]string{Good: "\x1b[32m", Warning: "\x1b[33m", Bad: "\x1b[31m", Title: "\x1b[1m"}

// Painter colours texts. The zero value does not.
type Painter struct{ on bool }

// PainterFor colours on a terminal, unless NO_COLOR is set (https://no-color.org) or the terminal is dumb.
func PainterFor(w io.Writer) Painter {
	return Painter{on: IsTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

// IsTerminal tells whether a person sees what is written.
func IsTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// Paint returns the text in the colour of its tone.
func (p Painter) Paint(tone Tone, text string) string {
	if !p.on || colours[tone] == "" || text == "" {
		return text
	}
	return colours[tone] + text + "\x1b[0m"
}

// Cell is a text of a table.
type Cell struct {
	Text string
	Tone Tone
}

// Plain are cells without a tone.
func Plain(texts ...string) []Cell {
	cells := make([]Cell, len(texts))
	for i, text := range texts {
		cells[i].Text = text
	}
	return cells
}

// Table has columns as wide as their widest text; the last one may be as long as it likes.
type Table struct {
	Head []string
	Rows [][]Cell
	// Indent precedes each line.
	Indent string
}

// columnGap divides columns.
const columnGap = "   "

// Print writes the table. Texts of others are shown without their control characters.
func (t Table) Print(w io.Writer, p Painter) error {
	head := Plain(t.Head...)
	for i := range head {
		head[i].Tone = Title
	}
	rows := append([][]Cell{head}, t.Rows...)
	widths := make([]int, len(t.Head))
	for _, row := range rows {
		for i := range row {
			row[i].Text = Visible(row[i].Text)
			if row[i].Text == "" {
				row[i].Text = "-"
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i].Text))
		}
	}
	var text strings.Builder
	for _, row := range rows {
		text.WriteString(t.Indent)
		for i, cell := range row {
			text.WriteString(p.Paint(cell.Tone, cell.Text))
			if i < len(row)-1 {
				text.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell.Text)) + columnGap)
			}
		}
		text.WriteString("\n")
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// Visible is a text of somebody else on one line, without what a terminal would obey.
func Visible(text string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError || unicode.In(r, unicode.Bidi_Control) {
			return ' '
		}
		return r
	}, text)), " ")
}

// Age is how long ago a time was, as kubectl says it; "-" where it is not known.
func Age(since, now time.Time) string {
	if since.IsZero() || since.Unix() == 0 {
		return "-"
	}
	return duration.HumanDuration(now.Sub(since))
}

// CheckTableFormat refuses an --output that is none of those of commands that print tables.
func CheckTableFormat(format string) error {
	switch format {
	case "", "wide", "json", "yaml":
		return nil
	}
	return fmt.Errorf("--output %q is unknown; use wide, json or yaml%s", format, Suggest(format, []string{"wide", "json", "yaml"}))
}
