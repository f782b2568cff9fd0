package template

import (
	"strconv"
	"strings"
)

// expression is the parsed text between the brackets of "[...]".
type expression interface {
	evaluate(*scope) (any, error)
}

type literal struct{ value any }

type invocation struct {
	name string
	args []expression
}

// member is a step into an object or array.
type member struct{ of, key expression }

func (l literal) evaluate(*scope) (any, error) { return l.value, nil }

func (i invocation) evaluate(s *scope) (any, error) {
	defer s.leave()
	if err := s.enter(); err != nil {
		return nil, err
	}
	name := strings.ToLower(i.name)
	if name == "if" && len(i.args) == 3 { // only the branch that counts is looked at
		condition, err := i.args[0].evaluate(s)
		if err != nil {
			return nil, err
		}
		if condition == true {
			return i.args[1].evaluate(s)
		}
		return i.args[2].evaluate(s)
	}
	f, ok := functions[name]
	if !ok {
		return nil, invalid("The template function '%s' is not valid. Please see https://aka.ms/arm-functions for usage details.", i.name)
	}
	args := make([]any, len(i.args))
	for n, a := range i.args {
		var err error
		if args[n], err = a.evaluate(s); err != nil {
			return nil, err
		}
	}
	if len(args) < f.least || f.most >= 0 && len(args) > f.most {
		return nil, invalid("The template function '%s' is given %d arguments, which it does not take. Please see https://aka.ms/arm-functions for usage details.", i.name, len(args))
	}
	return f.call(s, args)
}

func (m member) evaluate(s *scope) (any, error) {
	defer s.leave()
	if err := s.enter(); err != nil {
		return nil, err
	}
	of, err := m.of.evaluate(s)
	if err != nil {
		return nil, err
	}
	key, err := m.key.evaluate(s)
	if err != nil {
		return nil, err
	}
	switch v := of.(type) {
	case Doc:
		name := asText(key)
		for k, e := range v {
			if strings.EqualFold(k, name) {
				return e, nil
			}
		}
		return nil, invalid("The language expression property '%s' doesn't exist, available properties are '%s'.", name, strings.Join(sortedKeys(v), ", "))
	case []any:
		if n, ok := asNumber(key); ok && n >= 0 && n < len(v) {
			return v[n], nil
		}
		return nil, invalid("The language expression property array index '%v' is out of bounds.", key)
	}
	return nil, invalid("The language expression property '%v' can't be evaluated: what is before it is neither an object nor an array.", key)
}

// parser of one expression.
type parser struct {
	text string
	at   int
}

func parseExpression(text string) (expression, error) {
	p := &parser{text: text}
	e, err := p.expression()
	if err != nil {
		return nil, err
	}
	if p.space(); p.at < len(p.text) {
		return nil, p.fail()
	}
	return e, nil
}

func (p *parser) fail() error {
	return invalid("The language expression '%s' is not valid: unexpected text at position '%d'.", p.text, p.at)
}

func (p *parser) space() {
	for p.at < len(p.text) && (p.text[p.at] == ' ' || p.text[p.at] == '\t' || p.text[p.at] == '\n' || p.text[p.at] == '\r') {
		p.at++
	}
}

// take reads a character if it is next.
func (p *parser) take(c byte) bool {
	p.space()
	if p.at < len(p.text) && p.text[p.at] == c {
		p.at++
		return true
	}
	return false
}

func (p *parser) expression() (expression, error) {
	p.space()
	e, err := p.primary()
	for err == nil {
		switch {
		case p.take('.'):
			name := p.word()
			if name == "" {
				return nil, p.fail()
			}
			e = member{e, literal{name}}
		case p.take('['):
			var key expression
			if key, err = p.expression(); err == nil && !p.take(']') {
				err = p.fail()
			}
			e = member{e, key}
		default:
			return e, nil
		}
	}
	return nil, err
}

func (p *parser) primary() (expression, error) {
	if p.take('\'') {
		return p.quoted()
	}
	word := p.word()
	if n, err := strconv.Atoi(word); err == nil {
		return literal{n}, nil
	}
	if word == "" || !p.take('(') {
		return nil, p.fail()
	}
	i := invocation{name: word}
	for !p.take(')') {
		if len(i.args) > 0 && !p.take(',') {
			return nil, p.fail()
		}
		a, err := p.expression()
		if err != nil {
			return nil, err
		}
		i.args = append(i.args, a)
	}
	return i, nil
}

// quoted reads up to the closing quote; two quotes are one.
func (p *parser) quoted() (expression, error) {
	var b strings.Builder
	for p.at < len(p.text) {
		c := p.text[p.at]
		p.at++
		if c != '\'' {
			b.WriteByte(c)
			continue
		}
		if p.at >= len(p.text) || p.text[p.at] != '\'' {
			return literal{b.String()}, nil
		}
		b.WriteByte('\'')
		p.at++
	}
	return nil, p.fail()
}

func (p *parser) word() string {
	begin := p.at
	for p.at < len(p.text) {
		c := p.text[p.at]
		if c != '_' && c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			break
		}
		p.at++
	}
	return p.text[begin:p.at]
}
