//go:build linux || freebsd || darwin

package durable

import (
	"errors"
	"runtime"
	"syscall"
)

// seekData is SEEK_DATA of lseek(2).
var seekData = map[bool]int{true: 4, false: 3}[runtime.GOOS == "darwin"]

func isNoData(err error) bool { return errors.Is(err, syscall.ENXIO) }
