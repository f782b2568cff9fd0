package roles

import "strings"

// Matches tells whether an action pattern covers an action. Case does not matter, "*" covers any text, slashes included, and "/*/" also
// covers a single slash.
func Matches(pattern, action string) bool {
	pattern, action = strings.ToLower(pattern), strings.ToLower(action)
	if glob(pattern, action) {
		return true
	}
	return strings.Contains(pattern, "/*/") && glob(strings.ReplaceAll(pattern, "/*/", "/"), action)
}

func glob(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	if !strings.HasPrefix(text, parts[0]) {
		return false
	}
	text = text[len(parts[0]):]
	last := len(parts) - 1
	for _, p := range parts[1:last] {
		i := strings.Index(text, p)
		if i < 0 {
			return false
		}
		text = text[i+len(p):]
	}
	return strings.HasSuffix(text, parts[last])
}

// Permission is one block of a role definition.
type Permission struct {
	Actions, NotActions []string
}

// Allows tells whether the block grants the action.
func (p Permission) Allows(action string) bool {
	granted := false
	for _, a := range p.Actions {
		granted = granted || Matches(a, action)
	}
	for _, a := range p.NotActions {
		granted = granted && !Matches(a, action)
	}
	return granted
}
