//go:build !linux

package main

import (
	"errors"
	"os"
)

// newRAM fails: `zf test -fuzz`, which needs it, is refused.
func newRAM(int64) (file *os.File, path string, err error) { return nil, "", errors.ErrUnsupported }
