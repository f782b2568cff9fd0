package main

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// tries is how often the two clocks are read; the quickest counts.
const tries = 20

// step sets the machine's clock ahead, or back, by exactly this time. It needs CAP_SYS_TIME, also for a step of nothing.
func step(by time.Duration) error {
	change := unix.Timex{Modes: unix.ADJ_SETOFFSET | unix.ADJ_NANO}
	whole := by.Truncate(time.Second)
	if whole > by {
		whole -= time.Second // the rest must not be negative
	}
	change.Time.Sec = int64(whole / time.Second)
	change.Time.Usec = int64(by - whole) // nanoseconds, as ADJ_NANO says
	if _, err := unix.Adjtimex(&change); err != nil {
		return fmt.Errorf("step the machine's clock by %s, which needs CAP_SYS_TIME: %w", by, err)
	}
	return nil
}

// offset is by how much the machine's clock is ahead of the one that counts since the start and never steps.
func offset() (time.Duration, error) {
	shortest, found := time.Duration(1<<62), time.Duration(0)
	for range tries {
		var read [3]unix.Timespec
		for i, clock := range []int32{unix.CLOCK_BOOTTIME, unix.CLOCK_REALTIME, unix.CLOCK_BOOTTIME} {
			if err := unix.ClockGettime(clock, &read[i]); err != nil {
				return 0, fmt.Errorf("read the machine's clocks: %w", err)
			}
		}
		first, second := time.Duration(read[0].Nano()), time.Duration(read[2].Nano())
		if took := second - first; took < shortest {
			shortest, found = took, time.Duration(read[1].Nano())-first-took/2
		}
	}
	return found, nil
}
