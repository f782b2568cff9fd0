package cronspec

import (
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"0 2 * * *": "", "@daily": "", "*/15 1-3 * * mon": "", " 0 2 * * * ": "",
		"":                      "it is empty",
		"0 2 * *":               "expected exactly 5 fields",
		"61 2 * * *":            "above maximum",
		"0 2 30 2 *":            "no day",
		"@every 10s":            "@every is not supported",
		"CRON_TZ=UTC 0 2 * * *": "a time zone is not supported",
		"nightly":               "expected exactly 5 fields",
	} {
		_, err := Parse(text)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestDue: what was missed is due once, at its last time, and times are in UTC wherever the clock is.
func TestDue(t *testing.T) {
	s, err := Parse("0 2 * * *")
	if err != nil {
		t.Fatal(err)
	}
	day := func(d, hour int) time.Time { return time.Date(2031, 3, d, hour, 0, 0, 0, time.UTC) }
	for _, test := range []struct {
		since, now, want time.Time
		ok               bool
	}{
		{day(3, 2), day(4, 1), time.Time{}, false},
		{day(3, 2), day(4, 2), day(4, 2), true},
		{day(3, 2), day(9, 1), day(8, 2), true},
		{day(3, 2), day(4, 1).In(time.FixedZone("", 7200)), time.Time{}, false},
	} {
		if got, ok := s.Due(test.since, test.now); !got.Equal(test.want) || ok != test.ok {
			t.Errorf("since %s, now %s: %s %v, want %s %v", test.since, test.now, got, ok, test.want, test.ok)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("0 2 * * *")
	f.Add("@weekly")
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := Parse(text); err == nil {
			now := time.Now()
			if next := s.Next(now); !next.After(now) {
				t.Errorf("%q: %s is not after %s", text, next, now)
			}
		}
	})
}
