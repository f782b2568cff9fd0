package twin

import (
	"fmt"
	"slices"
	"strings"
)

// command is a command line, read by a program's table.
type command struct {
	words []string
	flags map[string][]string
}

// readCommand reads arguments as the programs' libraries do: -x or --x, with its value behind = or as the next argument.
func readCommand(args []string, known []Item) (command, []error) {
	c := command{flags: map[string][]string{}}
	var wrong []error
	for i := 0; i < len(args); i++ {
		if !strings.HasPrefix(args[i], "-") || args[i] == "-" {
			c.words = append(c.words, args[i])
			continue
		}
		name, value, has := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(args[i], "-"), "-"), "=")
		item := find(known, name)
		switch {
		case item == nil:
			wrong = append(wrong, fmt.Errorf("flag %s is unknown", args[i]))
			if !has && i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
				i++
			}
			continue
		case has:
		case item.Bare:
			value = "true"
		case i+1 == len(args):
			wrong = append(wrong, fmt.Errorf("flag --%s has no value", name))
			continue
		default:
			i++
			value = args[i]
		}
		c.flags[name] = append(c.flags[name], value)
	}
	return c, wrong
}

func find(items []Item, name string) *Item {
	for i := range items {
		if items[i].Name == name {
			return &items[i]
		}
	}
	return nil
}

// judge compares the command line with what the program takes.
func (c command) judge(words []string, known []Item, vars map[string]string) []error {
	var wrong []error
	if !slices.Equal(c.words, words) {
		wrong = append(wrong, fmt.Errorf("arguments that are no flags are %q, want %q", c.words, words))
	}
	for _, item := range known {
		wrong = append(wrong, item.judgeAll("flag --"+item.Name, c.flags[item.Name], vars)...)
	}
	return wrong
}

// judgeAll tells what is wrong with the values that something is given.
func (i Item) judgeAll(what string, values []string, vars map[string]string) []error {
	if len(values) == 0 {
		if i.Optional || i.Any {
			return nil
		}
		return []error{fmt.Errorf("%s is missing", what)}
	}
	if len(i.Values) > 0 {
		want := []string{}
		for _, v := range i.Values {
			want = append(want, expand(v, vars))
		}
		slices.Sort(want)
		if have := slices.Sorted(slices.Values(values)); !slices.Equal(have, want) {
			return []error{fmt.Errorf("%s is %q, want %q", what, have, want)}
		}
		return nil
	}
	if len(values) > 1 && !i.Any {
		return []error{fmt.Errorf("%s is given %d times", what, len(values))}
	}
	var wrong []error
	for _, v := range values {
		if err := i.judge(v, vars); err != nil {
			wrong = append(wrong, fmt.Errorf("%s %w", what, err))
		}
	}
	return wrong
}
