// Package guide finds the commands of a guide that is written in Markdown, in the order in which a reader types them.
package guide

import (
	"fmt"
	"iter"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// Command is what a reader types at once.
type Command struct {
	Section string // the heading above it
	Line    int    // where it begins
	Text    string
}

var (
	heading = regexp.MustCompile(`^#{1,6} +(.*?) *#*$`)
	ticks   = regexp.MustCompile("`+")
	// programs begin a span that is a command; so does a name of one of ours that is followed by flags.
	programs = regexp.MustCompile(`^(hypershift|kubectl|oc|az|etcdctl|make|eval) +[^ ]|^[a-z][-a-z ]* --`)
)

// Commands are all commands of the guide: what is indented or fenced, and spans of code that begin with a program. complete says
// whether a text that a shell reads is a whole command.
func Commands(markdown string, complete func(string) bool) ([]Command, error) {
	p := &parser{complete: complete}
	for i, line := range strings.Split(strings.ReplaceAll(markdown, "\r\n", "\n"), "\n") {
		if err := p.line(i+1, line); err != nil {
			return nil, err
		}
	}
	if p.fence != "" {
		return nil, fmt.Errorf("line %d: the fence is never closed", p.fenceLine)
	}
	p.endParagraph()
	return p.commands, p.endCode()
}

type parser struct {
	complete  func(string) bool
	commands  []Command
	section   string
	fence     string
	fenceLine int
	// code and text are the lines of the present command and paragraph.
	code, text         []string
	codeLine, textLine int
	indented           bool
}

func (p *parser) line(number int, line string) error {
	switch mark := strings.TrimLeft(line, " "); {
	case p.fence != "" && strings.TrimRight(mark, " ") == p.fence:
		p.fence = ""
		return p.endCode()
	case p.fence != "":
		p.addCode(number, line)
	case strings.HasPrefix(mark, "```") && !strings.HasPrefix(line, "    "):
		return p.begin(number, mark)
	case strings.HasPrefix(line, "    ") && len(p.text) == 0:
		p.indented = true
		p.addCode(number, line[4:])
	case p.indented && strings.TrimSpace(line) == "" && len(p.code) == 0:
	default:
		p.indented = false
		if err := p.endCode(); err != nil {
			return err
		}
		p.prose(number, line)
	}
	return nil
}

// begin opens a fence. One that is no shell's would be a text that nobody types.
func (p *parser) begin(number int, mark string) error {
	p.endParagraph()
	if err := p.endCode(); err != nil {
		return err
	}
	info := strings.TrimSpace(strings.TrimLeft(mark, "`"))
	if info != "sh" {
		return fmt.Errorf("line %d: the language of a fence is %q; a guide's fences are sh", number, info)
	}
	p.fence, p.fenceLine = mark[:len(mark)-len(strings.TrimLeft(mark, "`"))], number
	return nil
}

// addCode takes a line of a block; a command ends where the shell would begin to run it.
func (p *parser) addCode(number int, line string) {
	if len(p.code) == 0 {
		if text := strings.TrimSpace(line); text == "" || strings.HasPrefix(text, "#") {
			return
		}
		p.codeLine = number
	}
	p.code = append(p.code, line)
	if text := strings.Join(p.code, "\n"); !strings.HasSuffix(line, `\`) && p.complete(text) {
		p.commands = append(p.commands, Command{p.section, p.codeLine, text})
		p.code = nil
	}
}

func (p *parser) endCode() error {
	if len(p.code) > 0 {
		return fmt.Errorf("line %d: a command has no end: %s", p.codeLine, strings.Join(p.code, "\n"))
	}
	return nil
}

func (p *parser) prose(number int, line string) {
	title := heading.FindStringSubmatch(line)
	row := strings.HasPrefix(line, "|")
	if title != nil || row || strings.TrimSpace(line) == "" {
		p.endParagraph()
	}
	if title != nil {
		p.section = title[1]
		return
	}
	if strings.TrimSpace(line) == "" {
		return
	}
	if len(p.text) == 0 {
		p.textLine = number
	}
	p.text = append(p.text, line)
	if row {
		p.endParagraph()
	}
}

// endParagraph looks for commands in it: a span of code may go over the end of a line.
func (p *parser) endParagraph() {
	text := strings.Join(p.text, "\n")
	for at := range spans(text) {
		code := strings.Join(strings.Fields(strings.ReplaceAll(text[at[0]:at[1]], `\|`, "|")), " ")
		if programs.MatchString(code) {
			p.commands = append(p.commands, Command{p.section, p.textLine + strings.Count(text[:at[0]], "\n"), code})
		}
	}
	p.text = nil
}

// spans are where the spans of code are: a run of backticks closes one that is as long.
func spans(text string) iter.Seq[[2]int] {
	return func(yield func([2]int) bool) {
		runs := ticks.FindAllStringIndex(text, -1)
		for i := 0; i < len(runs); i++ {
			length := runs[i][1] - runs[i][0]
			end := slices.IndexFunc(runs[i+1:], func(run []int) bool { return run[1]-run[0] == length })
			if end < 0 {
				continue
			}
			if !yield([2]int{runs[i][1], runs[i+1+end][0]}) {
				return
			}
			i += 1 + end
		}
	}
}

// Complete asks bash whether a text is a whole command.
func Complete(text string) bool {
	out, err := exec.Command("bash", "-n", "-c", text).CombinedOutput()
	return err == nil && len(out) == 0
}

// Without takes the listed commands away. Each line of the list is a command, a comment or empty; one that the guide does not have
// is an error, so that the list never excuses more than it says.
func Without(commands []Command, list string) (typed []Command, listed int, err error) {
	excused := map[string]int{}
	for line := range strings.Lines(list) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			excused[line] = 0
		}
	}
	typed = slices.DeleteFunc(slices.Clone(commands), func(c Command) bool {
		count, listed := excused[c.Text]
		if listed {
			excused[c.Text] = count + 1
		}
		return listed
	})
	for line, count := range excused {
		if count == 0 {
			return nil, 0, fmt.Errorf("the list says that nobody types %q, and the guide has no such command", line)
		}
	}
	return typed, len(commands) - len(typed), nil
}
