package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"

	"github.com/zeroframe/zeroframe/qemu"
)

var (
	bootMemory = regexp.MustCompile(`image (\d+) KiB, page tables (\d+) KiB\r\n`)
	ram        = regexp.MustCompile(`measure (\d+) (\d+)\r\n`)
)

// memory tells how much RAM hello with fmt has taken as it ends: the image with the
// kernel's static data, the page tables that the kernel begins with, and the page
// frames handed out since. On Linux it is the resident set, in which the kernel's own
// share is not counted.
func (b *bench) memory() error {
	b.progress("memory.fmt.*: RAM in use when hello with fmt ends; memory.fmt.linux.rss.bytes: the same file's resident set on Linux, without Linux itself")
	out, err := boot(b.fmt, "", qemu.Config{})
	if err != nil {
		return err
	}
	static, free := numbers(bootMemory, out), numbers(ram, out)
	if static == nil || free == nil {
		return fmt.Errorf("memory: hello did not say how much there is:\n%s", out)
	}
	image, tables, frames := static[0]<<10, static[1]<<10, free[0]-free[1]
	b.figure("memory.fmt.image.bytes", image)
	b.figure("memory.fmt.tables.bytes", tables)
	b.figure("memory.fmt.frames.bytes", frames)
	b.figure("memory.fmt.bytes", image+tables+frames)
	rss, err := b.resident()
	if err != nil {
		return fmt.Errorf("memory: on Linux: %w", err)
	}
	b.figure("memory.fmt.linux.rss.bytes", rss)
	return nil
}

// resident runs hello on Linux and returns its resident set in bytes.
func (b *bench) resident() (int64, error) {
	cmd := exec.Command(b.fmt, "stay")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	defer cmd.Wait()
	defer stdin.Close()
	for s := bufio.NewScanner(stdout); s.Scan() && !strings.HasPrefix(s.Text(), "measure "); {
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	n := numbers(regexp.MustCompile(`VmRSS:\s+(\d+) kB`), string(status))
	if n == nil {
		return 0, errors.New("/proc/PID/status has no VmRSS")
	}
	return n[0] << 10, nil
}

// numbers returns the groups of the first match of re, or nil.
func numbers(re *regexp.Regexp, text string) (all []int64) {
	m := re.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	for _, digits := range m[1:] {
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			return nil
		}
		all = append(all, n)
	}
	return all
}
