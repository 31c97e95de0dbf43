package qemu

// Which accelerator runs a machine is found out once for each QEMU and host system, and
// remembered in the user's cache. Nothing is tried where there is no device. What did not
// work is tried again after a while: rights, modules and firmware settings change.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/zeroframe/zeroframe/tools/format/whole"
)

// AccelVariable is the environment variable with the accelerator to use where nothing else
// is said.
const AccelVariable = "ZF_ACCEL"

// Accels are the accelerators that can be asked for; "auto" is the best one that works.
var Accels = []string{"auto", "tcg", "kvm", "hvf", "whpx"}

// tryAgain is how long a failure is remembered.
const tryAgain = 7 * 24 * time.Hour

// Accel is an accelerator with the reason for it.
type Accel struct {
	Name string // "tcg", "kvm", "hvf" or "whpx"
	Why  string // half a sentence
}

// accelerator is the accelerator that a host may have beside tcg, and how it is found out.
type accelerator struct {
	name   string // "": the host has none for our machines
	device string // "": it has no file
	host   string // what else an answer depends on
	memory string // file of answers; "": none is kept
	limit  time.Duration
	now    func() time.Time
}

// hostAccelerator returns that of this host.
func hostAccelerator() accelerator {
	a := accelerator{limit: probeLimit, now: time.Now}
	switch runtime.GOOS + "/" + runtime.GOARCH {
	case "linux/amd64":
		a.name, a.device = "kvm", "/dev/kvm"
		release, _ := os.ReadFile("/proc/sys/kernel/osrelease")
		a.host = strings.TrimSpace(string(release))
	case "darwin/amd64":
		a.name = "hvf"
	case "windows/amd64":
		a.name = "whpx"
	}
	if cache, err := os.UserCacheDir(); err == nil {
		a.memory = filepath.Join(cache, "zeroframe", "accel.json")
	}
	return a
}

// ChooseAccel returns the accelerator for machines of that QEMU ("" means the one of [Find]):
// the host's own if it runs the probe, otherwise tcg. It takes the answer of an earlier call
// unless again is set. Context: host.
func ChooseAccel(ctx context.Context, program string, again bool) (Accel, error) {
	program, err := orFound(program)
	if err != nil {
		return Accel{}, err
	}
	return hostAccelerator().choose(ctx, program, again)
}

// ForgetAccel remembers that an accelerator has failed with a real kernel. Context: host.
func ForgetAccel(program string, why error) {
	if program == "" {
		program, _ = Find()
	}
	a := hostAccelerator()
	if key, err := a.key(program); err == nil {
		a.remember(key, answer{Why: why.Error(), When: a.now()})
	}
}

// answer is what is remembered of a probe.
type answer struct {
	Works bool
	Why   string `json:",omitempty"` // it does not
	When  time.Time
}

func (a accelerator) choose(ctx context.Context, program string, again bool) (Accel, error) {
	if a.name == "" {
		return Accel{"tcg", "QEMU has no accelerator for these machines on " + runtime.GOOS + "/" +
			runtime.GOARCH}, nil
	}
	if a.device != "" {
		file, err := os.OpenFile(a.device, os.O_RDWR, 0)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return Accel{"tcg", "there is no " + a.device}, nil
		case errors.Is(err, fs.ErrPermission):
			return Accel{"tcg", a.device +
				" may not be opened; sudo usermod -aG kvm $USER, and log in again"}, nil
		case err != nil:
			return Accel{"tcg", err.Error()}, nil
		}
		file.Close()
	}
	key, err := a.key(program)
	if err != nil {
		return Accel{}, err
	}
	known, ok := a.recall()[key]
	if again || !ok || !known.Works && a.now().Sub(known.When) > tryAgain {
		err := probeAccel(ctx, program, a.name, a.limit)
		if err != nil && !errors.Is(err, ErrAccel) {
			return Accel{}, err
		}
		known = answer{Works: err == nil, When: a.now()}
		if err != nil {
			known.Why = err.Error()
		}
		a.remember(key, known)
	}
	tried := "tried on " + known.When.Format(time.DateOnly)
	if known.Works {
		return Accel{a.name, "it works, " + tried}, nil
	}
	return Accel{"tcg", known.Why + " (" + tried + ")"}, nil
}

// key is what an answer is of: a QEMU that is replaced has another one.
func (a accelerator) key(program string) (string, error) {
	fi, err := os.Stat(program)
	if err != nil {
		return "", fmt.Errorf("%w: %v", ErrNotFound, err)
	}
	if path, err := filepath.Abs(program); err == nil {
		program = path
	}
	return fmt.Sprintf("%s %d %d %s %s", program, fi.Size(), fi.ModTime().UnixNano(),
		a.name, a.host), nil
}

// recall returns the answers; what cannot be read is as if there were none.
func (a accelerator) recall() map[string]answer {
	answers := make(map[string]answer)
	if text, err := os.ReadFile(a.memory); err == nil && json.Unmarshal(text, &answers) == nil &&
		answers != nil {
		return answers
	}
	return make(map[string]answer)
}

// remember keeps an answer, if it can be kept.
func (a accelerator) remember(key string, found answer) {
	answers := a.recall()
	answers[key] = found
	text, err := json.MarshalIndent(answers, "", "\t")
	if err != nil || a.memory == "" || os.MkdirAll(filepath.Dir(a.memory), 0o755) != nil {
		return
	}
	// Another zf that does the same at this time reads the old file or the new one.
	whole.WriteFile(a.memory, append(text, '\n'), 0o600)
}
