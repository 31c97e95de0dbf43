package elf

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// A .deb is an archive of ar: the version of the format, a tar file about the package, and one
// with its files. Source: deb(5).

const (
	arMagic  = "!<arch>\n"
	arHeader = 60 // bytes before each member
)

// deb takes what is in data.tar.
func (t *taker) deb(in *bufio.Reader) error {
	if _, err := in.Discard(len(arMagic)); err != nil {
		return err
	}
	for {
		head := make([]byte, arHeader)
		if _, err := io.ReadFull(in, head); err != nil {
			return errors.New("there is no data.tar in it: cut short, or damaged")
		}
		size, err := strconv.ParseInt(strings.TrimSpace(string(head[48:58])), 10, 64)
		if err != nil || size < 0 || string(head[58:]) != "`\n" {
			return errors.New("damaged: the header of a member")
		}
		name := strings.TrimRight(string(head[:16]), " /")
		member := io.LimitReader(in, size)
		if name == "data.tar" || strings.HasPrefix(name, "data.tar.") {
			if err := t.tar(bufio.NewReaderSize(member, 1<<16)); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			return nil
		}
		if _, err := io.CopyN(io.Discard, in, size+size&1); err != nil {
			return errors.New("cut short")
		}
	}
}
