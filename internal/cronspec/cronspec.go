// Package cronspec reads the times at which something is done again and again.
package cronspec

import (
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// Schedule is a series of times in UTC.
type Schedule struct{ times cron.Schedule }

// Parse reads the five fields of cron (minute, hour, day of the month, month, day of the week) or one of the words @hourly, @daily, @weekly,
// @monthly and @yearly. Times are in UTC; a schedule that never comes due is an error.
func Parse(text string) (Schedule, error) {
	bad := func(why string) (Schedule, error) {
		return Schedule{}, fmt.Errorf("%q is no schedule: %s; use five fields of cron in UTC, such as \"0 2 * * *\", or @hourly, @daily, @weekly, @monthly, @yearly", text, why)
	}
	switch {
	case strings.TrimSpace(text) == "":
		return bad("it is empty")
	case strings.HasPrefix(text, "@every"):
		return bad("@every is not supported")
	case strings.Contains(text, "TZ="):
		return bad("a time zone is not supported")
	}
	times, err := cron.ParseStandard(strings.TrimSpace(text))
	if err != nil {
		return bad(err.Error())
	}
	s := Schedule{times}
	if s.Next(time.Now()).IsZero() {
		return bad("no day of the next five years is one of it")
	}
	return s, nil
}

// Next is the first time after t.
func (s Schedule) Next(t time.Time) time.Time { return s.times.Next(t.UTC()) }

// Due is the last time after since that is not after now; ok is false where there is none.
func (s Schedule) Due(since, now time.Time) (due time.Time, ok bool) {
	next := s.Next(since)
	for !next.IsZero() && !next.After(now) {
		due, ok = next, true
		next = s.Next(next)
	}
	return due, ok
}
