package gotest

// What a test has read of the host is in its log (-test.testlogfile): the testing package writes
// it for the go command, which keeps a result as long as those files are what they were. The
// environment is not looked at here, since a machine's is in its command line.

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"
)

// logMagic is the first line of a test's log (internal testing/internal/testdeps).
const logMagic = "# test log\n"

// tooNew is how long before a test began a file must have been changed at the latest: its time
// may be coarse.
const tooNew = 2 * time.Second

// Inputs says where the files are that the log of a test names.
type Inputs struct {
	// the working folder in which the test began, in the machine
	Dir string
	// the path on this host of one in the machine, if it has one
	Host func(path string) (onHost string, ok bool)
}

// ID returns what the files of a log are now, in one word. If began is not zero, that is when
// the test began, and a file that has been changed since may have been read as it was before:
// that is an error, as is a log that cannot be read.
func (in Inputs) ID(log []byte, began time.Time) (string, error) {
	rest, ok := bytes.CutPrefix(log, []byte(logMagic))
	if !ok {
		return "", fmt.Errorf("the test's log begins with %.20q", log)
	}
	h := sha256.New()
	dir := in.Dir
	for line := range strings.Lines(string(rest)) {
		op, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch {
		case !ok:
			return "", fmt.Errorf("the test's log has the line %.40q", line)
		case op == "getenv":
			continue
		case op != "open" && op != "stat" && op != "chdir":
			return "", fmt.Errorf("the test's log has the word %.20q", op)
		}
		if !path.IsAbs(name) {
			name = path.Join(dir, name)
		}
		if op == "chdir" {
			dir = name
		}
		host, ok := in.Host(name)
		if !ok {
			continue // it is of the machine, which is the same
		}
		fmt.Fprintf(h, "%s %s\n", op, name)
		info, err := os.Stat(host)
		writeInfo(h, info, err)
		if err == nil && !began.IsZero() && info.Mode().IsRegular() &&
			info.ModTime().After(began.Add(-tooNew)) {
			return "", fmt.Errorf("%s has been changed as the test ran, or just before", host)
		}
		if op != "open" {
			info, err = os.Lstat(host)
			writeInfo(h, info, err)
		} else if err == nil && info.IsDir() {
			entries, err := os.ReadDir(host)
			for _, e := range entries {
				fmt.Fprintf(h, "entry %s\n", e.Name())
				info, err := e.Info()
				writeInfo(h, info, err)
			}
			writeInfo(h, info, err)
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}

// writeInfo writes what a file is, as the go command does: of its bytes, the size and the time.
func writeInfo(w io.Writer, info fs.FileInfo, err error) {
	if err != nil {
		fmt.Fprintf(w, "%v\n", err)
		return
	}
	fmt.Fprintf(w, "%d %v %v\n", info.Size(), info.Mode(), info.ModTime())
}
