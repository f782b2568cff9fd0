// Package field names the fields of a domain's options in what is said about them. By which word the user knows a field is for the
// program to say: on the command line it is a flag.
package field

import "fmt"

// Field is a field of a domain's options, or an argument of one of its functions: the package and the name, such as infra.BaseDomain.
type Field string

// words are what Teach was given.
var words map[Field]string

// Teach tells by which words the user knows the fields. A program calls it once, before it does anything else.
func Teach(known map[Field]string) { words = known }

// String is the word by which the user knows the field, or its own name where the program has none.
func (f Field) String() string {
	if word, ok := words[f]; ok {
		return word
	}
	return string(f)
}

// Error is what is wrong with a field.
type Error struct {
	Field Field
	Err   error // a whole sentence, which names the field
}

// Error is the sentence.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap is the sentence, with its cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf is an error with the field whose whole sentence is given.
func Errorf(f Field, format string, args ...any) error {
	return &Error{Field: f, Err: fmt.Errorf(format, args...)}
}

// Wrong is an error whose sentence begins with the field and goes on as given.
func (f Field) Wrong(format string, args ...any) error {
	return Errorf(f, "%s "+format, append([]any{f}, args...)...)
}

// Wrap is an error that the field's value has caused; nil where there is none.
func (f Field) Wrap(err error) error {
	if err == nil {
		return nil
	}
	return Errorf(f, "%s: %w", f, err)
}
