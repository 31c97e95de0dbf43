package elf

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// An .rpm has a lead, a header with signatures, a header about the package, and an archive of
// cpio with its files. Sources: rpm.org, "RPM V4 Package format"; cpio(5), "New ASCII Format".

const (
	rpmMagic    = "\xed\xab\xee\xdb"
	rpmLead     = 96
	rpmHeader   = "\x8e\xad\xe8\x01"
	cpioHeader  = 110
	cpioMaxName = 4096
)

// rpm takes what is in the archive.
func (t *taker) rpm(in *bufio.Reader) error {
	if _, err := in.Discard(rpmLead); err != nil {
		return errors.New("cut short")
	}
	for _, align := range []int64{8, 1} { // of the two headers
		head := make([]byte, 16)
		if _, err := io.ReadFull(in, head); err != nil || string(head[:4]) != rpmHeader {
			return errors.New("cut short, or damaged: a header")
		}
		size := 16*int64(binary.BigEndian.Uint32(head[8:])) + int64(binary.BigEndian.Uint32(head[12:]))
		if _, err := io.CopyN(io.Discard, in, (size+align-1)/align*align); err != nil {
			return errors.New("cut short")
		}
	}
	unpacked, err := Decompress(in)
	if err != nil {
		return err
	}
	r := bufio.NewReaderSize(unpacked, 1<<16)
	for {
		name, size, err := cpioNext(r)
		if err != nil || name == "TRAILER!!!" {
			return err
		}
		file := &io.LimitedReader{R: r, N: size}
		if err := t.file(name, file); err != nil {
			return err
		}
		if _, err := io.CopyN(io.Discard, r, file.N+-size&3); err != nil {
			return fmt.Errorf("%s in it: cut short", name)
		}
	}
}

// cpioNext reads the header of the next file. What is no regular file has the length 0.
func cpioNext(r io.Reader) (name string, size int64, err error) {
	bad := func(what string) (string, int64, error) {
		return "", 0, fmt.Errorf("its cpio archive is damaged, or of a kind that is not read: %s", what)
	}
	head := make([]byte, cpioHeader)
	if _, err := io.ReadFull(r, head); err != nil {
		return bad("cut short")
	}
	if m := string(head[:6]); m != "070701" && m != "070702" {
		return bad(fmt.Sprintf("a file begins with %q", m))
	}
	number := func(i int) (n int64) {
		v, e := strconv.ParseUint(string(head[6+8*i:14+8*i]), 16, 32)
		if e != nil {
			err = e
		}
		return int64(v)
	}
	mode, length, nameLength := number(1), number(6), number(11)
	if err != nil || nameLength < 1 || nameLength > cpioMaxName {
		return bad("a number of a header")
	}
	b := make([]byte, nameLength+-(cpioHeader+nameLength)&3)
	if _, err := io.ReadFull(r, b); err != nil {
		return bad("cut short")
	}
	name = string(b[:nameLength-1])
	const typeMask, regular = 0o170000, 0o100000
	if mode&typeMask != regular && length > 0 {
		if _, err := io.CopyN(io.Discard, r, length+-length&3); err != nil {
			return bad("cut short")
		}
		length = 0
	}
	return name, length, nil
}
