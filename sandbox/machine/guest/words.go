package guest

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// splitWords splits like systemd: blanks separate, single and double quotes group, a backslash escapes.
func splitWords(line string) ([]string, error) {
	var (
		out    []string
		word   strings.Builder
		inWord bool
		quote  rune
	)
	runes := []rune(line)
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		switch {
		case r == '\\' && i+1 < len(runes):
			i++
			word.WriteString(unescape(runes[i]))
			inWord = true
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '"' || r == '\'':
			quote, inWord = r, true
		case r == ' ' || r == '\t' || r == '\n':
			if inWord {
				out = append(out, word.String())
			}
			word.Reset()
			inWord = false
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if quote != 0 {
		return nil, errors.New("unbalanced quotes")
	}
	if inWord {
		out = append(out, word.String())
	}
	return out, nil
}

func unescape(r rune) string {
	switch r {
	case 'n':
		return "\n"
	case 't':
		return "\t"
	case '\\', '"', '\'', ' ', '\n', '$':
		return string(r)
	}
	return "\\" + string(r)
}

// expand replaces $NAME (a whole word: split at blanks) and ${NAME}, and the specifiers %n, %N, %H and %%.
func expand(words []string, unitName, hostname string, env map[string]string) ([]string, error) {
	var out []string
	for _, w := range words {
		w, err := specifiers(w, unitName, hostname)
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(w, "$") && !strings.HasPrefix(w, "${") && !strings.HasPrefix(w, "$$") {
			out = append(out, strings.Fields(env[w[1:]])...)
			continue
		}
		out = append(out, braced(w, env))
	}
	return out, nil
}

func braced(w string, env map[string]string) string {
	var b strings.Builder
	for {
		start := strings.IndexByte(w, '$')
		if start < 0 || start+1 == len(w) {
			return b.String() + w
		}
		b.WriteString(w[:start])
		rest := w[start+1:]
		end := strings.IndexByte(rest, '}')
		switch {
		case rest[0] == '$':
			b.WriteByte('$')
			w = rest[1:]
		case rest[0] == '{' && end > 0:
			b.WriteString(env[rest[1:end]])
			w = rest[end+1:]
		default:
			b.WriteByte('$')
			w = rest
		}
	}
}

func specifiers(w, unitName, hostname string) (string, error) {
	if !strings.Contains(w, "%") {
		return w, nil
	}
	var b strings.Builder
	for i := 0; i < len(w); i++ {
		if w[i] != '%' || i+1 == len(w) {
			b.WriteByte(w[i])
			continue
		}
		i++
		switch w[i] {
		case '%':
			b.WriteByte('%')
		case 'n':
			b.WriteString(unitName)
		case 'N', 'p':
			b.WriteString(strings.TrimSuffix(unitName, ".service"))
		case 'H':
			b.WriteString(hostname)
		default:
			return "", fmt.Errorf("specifier %%%c: %w", w[i], ErrDirective)
		}
	}
	return b.String(), nil
}

// environment of a unit: the base, then Environment=, then the files, later ones winning, as in systemd.
func (u *Unit) environment(base []string) (map[string]string, error) {
	env := map[string]string{}
	add := func(list []string) {
		for _, kv := range list {
			if k, v, ok := strings.Cut(kv, "="); ok {
				env[k] = v
			}
		}
	}
	add(base)
	add(u.Environment)
	for _, file := range u.EnvironmentFile {
		path, optional := strings.CutPrefix(file, "-")
		data, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) && optional {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("environment file: %w", err)
		}
		add(envFile(string(data)))
	}
	return env, nil
}

func envFile(text string) []string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		k, v, ok := strings.Cut(line, "=")
		if !ok {
			continue
		}
		if split, err := splitWords(v); err == nil && strings.ContainsAny(v, `"'`) {
			v = strings.Join(split, " ")
		}
		out = append(out, strings.TrimSpace(k)+"="+v)
	}
	return out
}
