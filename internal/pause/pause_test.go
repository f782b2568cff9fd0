package pause

import (
	"errors"
	"testing"
	"time"
)

func TestRead(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for value, want := range map[string]struct {
		paused bool
		left   time.Duration
		err    error
	}{
		"":                     {},
		"true":                 {paused: true},
		"True":                 {paused: true},
		"1":                    {paused: true},
		"false":                {},
		"2026-01-01T01:00:00Z": {paused: true, left: time.Hour},
		"2025-01-01T01:00:00Z": {},
		"tomorrow":             {err: ErrUnreadable},
	} {
		if paused, left, err := Read(&value, now); paused != want.paused || left != want.left || !errors.Is(err, want.err) {
			t.Errorf("%q: paused %t for %s, %v", value, paused, left, err)
		}
	}
	if paused, left, err := Read(nil, now); paused || left != 0 || err != nil {
		t.Errorf("no value: paused %t for %s, %v", paused, left, err)
	}
}
