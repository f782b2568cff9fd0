package field

import (
	"errors"
	"io"
	"testing"
)

func TestAFieldIsNamedAsTheUserKnowsIt(t *testing.T) {
	const size, unknown Field = "shop.Size", "shop.Colour"
	t.Cleanup(func() { Teach(nil) })
	Teach(map[Field]string{size: "--size"})
	for _, tc := range []struct {
		err  error
		text string
	}{
		{size.Wrong("%q is too small; see %s", "S", unknown), `--size "S" is too small; see shop.Colour`},
		{Errorf(size, "give %s", size), "give --size"},
		{size.Wrap(io.EOF), "--size: EOF"},
	} {
		var e *Error
		if tc.err.Error() != tc.text || !errors.As(tc.err, &e) || e.Field != size {
			t.Errorf("%v, want %s", tc.err, tc.text)
		}
	}
	if err := size.Wrap(io.EOF); !errors.Is(err, io.EOF) {
		t.Error("the cause is lost")
	}
	if size.Wrap(nil) != nil {
		t.Error("no error became one")
	}
}
