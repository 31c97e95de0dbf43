package vfs

import (
	"errors"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// The model of this file system is Linux: a child process makes a temporary
// directory its root directory, and then does the same random operations there,
// through system calls, and in the tree. Every outcome must be the same.

// modelDir is the environment variable that makes this program the child; it
// holds the directory. modelSeed, modelSteps and modelModes (which bits a mode
// may have) hold numbers.
const (
	modelDir   = "ZEROFRAME_FS_MODEL_DIR"
	modelSeed  = "ZEROFRAME_FS_MODEL_SEED"
	modelSteps = "ZEROFRAME_FS_MODEL_STEPS"
	modelModes = "ZEROFRAME_FS_MODEL_MODES"
)

func TestAgainstLinux(t *testing.T) {
	steps := 40000
	if testing.Short() {
		steps = 5000
	}
	for seed := 1; seed <= 8; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			// Take tmpfs if there is one: this package follows it.
			dir, err := os.MkdirTemp("/dev/shm", "zeroframe-fs")
			if err != nil {
				dir = t.TempDir()
			}
			defer os.RemoveAll(dir)
			if err := os.Chmod(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			modes := modeBits
			if os.Getuid() != 0 {
				// Root of a user namespace is not root enough for set-user-ID bits: Linux
				// clears them with each write.
				modes = 0o1777
			}
			cmd := exec.Command("/proc/self/exe")
			cmd.Env = append(os.Environ(), modelDir+"="+dir, fmt.Sprintf("%s=%d", modelSeed, seed), fmt.Sprintf("%s=%d", modelSteps, steps), fmt.Sprintf("%s=%d", modelModes, modes))
			if os.Getuid() != 0 { // chroot is root's; so be root in a user namespace
				cmd.SysProcAttr = &syscall.SysProcAttr{
					Cloneflags:  syscall.CLONE_NEWUSER,
					UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
					GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
				}
			}
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v; a root directory of its own, root may have, or who may make user namespaces\n%s", err, out)
			}
			t.Logf("%s", out)
		})
	}
}

func modelChild(dir string) (status int) {
	if err := unix.Chroot(dir); err != nil {
		fmt.Println("chroot:", err)
		return 1
	}
	if err := unix.Chdir("/"); err != nil {
		fmt.Println(err)
		return 1
	}
	// Only root, which the parent may not be, gets into all of these directories.
	defer func() {
		names, _ := filepath.Glob("/*")
		for _, name := range names {
			os.RemoveAll(name)
		}
	}()
	unix.Umask(0)
	addFrames(128 << 20)
	seed, _ := strconv.ParseInt(os.Getenv(modelSeed), 10, 64)
	steps, _ := strconv.Atoi(os.Getenv(modelSteps))
	modes, _ := strconv.Atoi(os.Getenv(modelModes))
	m := &model{modes: uint32(modes), r: rand.New(rand.NewSource(seed)), inos: map[uint64]uint64{}, seen: map[string]int{}}
	if e := Init(1); e != 0 {
		fmt.Println("Init: errno", e)
		return 1
	}
	for i := len(preset) - 1; i >= 0; i-- {
		if e := Unlink(Root, []byte(preset[i].path), 1); e == EISDIR {
			Rmdir(Root, []byte(preset[i].path), 1)
		}
	}
	fd, err := unix.Open("/", unix.O_RDONLY, 0)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	m.handles = []handle{{fd, Root}} // stays open
	Retain(Root)
	for i := 0; i < steps && m.wrong == ""; i++ {
		m.step()
		if i%1000 == 999 {
			m.compare("/", fd, Root)
		}
	}
	m.compare("/", fd, Root)
	for m.wrong == "" && len(m.handles) > 1 {
		m.close(len(m.handles) - 1)
	}
	if m.wrong == "" {
		Release(Root)
		for _, wrong := range dispose() {
			m.fail("%s", wrong)
		}
	}
	if m.wrong != "" {
		l := m.log[max(0, len(m.log)-25):]
		fmt.Printf("%s\n%s\nafter %d operations\n", strings.Join(l, "\n"), m.wrong, len(m.log))
		return 1
	}
	// What succeeded and what failed, to detect a model that only fails.
	var keys []string
	for k := range m.seen {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		fmt.Printf("%s:%d ", k, m.seen[k])
	}
	for _, op := range []string{"open", "mkdir", "symlink", "link", "unlink", "rmdir", "rename", "write", "read", "cut", "stat", "list", "getcwd", "readlink", "chmod"} {
		if m.seen[op+" 0"] < steps/1000 {
			fmt.Printf("\n%s succeeded only %d times in %d steps\n", op, m.seen[op+" 0"], steps)
			return 1
		}
	}
	return 0
}

// handle is an open file, there and here.
type handle struct {
	fd int
	id ID
}

type model struct {
	r       *rand.Rand
	modes   uint32 // bits of a mode
	handles []handle
	inos    map[uint64]uint64 // of one comparison
	seen    map[string]int
	log     []string
	wrong   string
}

func (m *model) fail(format string, args ...any) {
	if m.wrong == "" {
		m.wrong = fmt.Sprintf(format, args...)
	}
}

// outcome compares errors and logs the operation.
func (m *model) outcome(err error, e Errno, op, format string, args ...any) {
	var want unix.Errno
	errors.As(err, &want)
	m.log = append(m.log, fmt.Sprintf("%s %s = %d", op, fmt.Sprintf(format, args...), int(want)))
	m.seen[fmt.Sprintf("%s %d", op, int(want))]++
	if int(e) != int(want) {
		m.fail("errno %d; Linux has %d (%v)", int(e), int(want), want)
	}
}

func (m *model) name() string {
	switch m.r.Intn(40) {
	case 0:
		return strings.Repeat("l", 255)
	case 1:
		return strings.Repeat("l", 256)
	case 2:
		return strings.Repeat("m", 60+m.r.Intn(5))
	}
	return string(rune('a' + m.r.Intn(6)))
}

// path makes up a path, or finds one in the tree and alters it sometimes.
func (m *model) path() string {
	switch n := m.r.Intn(200); {
	case n == 0:
		return ""
	case n < 120:
		return m.found()
	}
	s := ""
	if m.r.Intn(3) == 0 {
		s = "/"
	}
	for n := m.r.Intn(4); ; n-- {
		switch m.r.Intn(14) {
		case 0:
			s += "."
		case 1:
			s += ".."
		default:
			s += m.name()
		}
		if n <= 0 {
			break
		}
		s += strings.Repeat("/", 1+m.r.Intn(8)/7)
	}
	if m.r.Intn(12) == 0 {
		s += "/"
	}
	return s
}

// found returns the path of something that exists, or that could be made there.
func (m *model) found() string {
	s := ""
	for id := Root; at(id).dir(); {
		names := list(id)
		if len(names) == 2 || s != "" && m.r.Intn(4) == 0 {
			break
		}
		name := names[2+m.r.Intn(len(names)-2)]
		next, e := Walk(id, []byte(name), m.r.Intn(3) == 0)
		if e != 0 {
			break
		}
		s += "/" + name
		id = next
		if len(s) > 3000 {
			break
		}
	}
	if s == "" || m.r.Intn(3) == 0 {
		s += "/" + m.name()
	}
	switch m.r.Intn(20) {
	case 0:
		s += "/"
	case 1:
		s += "/."
	case 2:
		s += "/.."
	}
	return s
}

// dir returns where a path begins: mostly the root, else any open directory.
func (m *model) dir() handle {
	if m.r.Intn(3) != 0 {
		return m.handles[0]
	}
	return m.handles[m.r.Intn(len(m.handles))]
}
