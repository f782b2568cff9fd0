//go:build !linux

package main

import (
	"errors"
	"time"
)

var errNoStep = errors.New("the clock is stepped on Linux only")

func step(time.Duration) error { return errNoStep }

func offset() (time.Duration, error) { return 0, errNoStep }
