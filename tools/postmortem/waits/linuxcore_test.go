package waits

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	stdelf "debug/elf"

	"golang.org/x/sys/unix"
)

// dump writes a core of a Linux process, which is stopped meanwhile. gcore
// would do the same, with the gigabyte that a Go program reserves and never touches. Here
// pages are written that are present and writable.
func dump(pid int, name string) error {
	runtime.LockOSThread() // ptrace is for one thread
	defer runtime.UnlockOSThread()
	tids, err := attach(pid)
	defer func() {
		for _, tid := range tids {
			unix.PtraceDetach(tid)
		}
	}()
	if err != nil {
		return err
	}
	return write(pid, tids, name)
}

// write writes a core of a process whose threads are stopped.
func write(pid int, tids []int, name string) error {
	var notes bytes.Buffer
	for _, tid := range tids {
		var regs unix.PtraceRegs
		if err := unix.PtraceGetRegs(tid, &regs); err != nil {
			return fmt.Errorf("registers of thread %d: %w", tid, err)
		}
		status := make([]byte, 336) // struct elf_prstatus
		binary.LittleEndian.PutUint32(status[32:], uint32(tid))
		binary.Encode(status[112:], binary.LittleEndian, &regs)
		note(&notes, uint32(stdelf.NT_PRSTATUS), status)
	}
	auxv, err := os.ReadFile(fmt.Sprintf("/proc/%d/auxv", pid))
	if err != nil {
		return err
	}
	note(&notes, 6, auxv) // NT_AUXV

	runs, err := present(pid)
	if err != nil {
		return err
	}
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		return err
	}
	defer mem.Close()
	out, err := os.Create(name)
	if err != nil {
		return err
	}
	defer out.Close()
	w := bufio.NewWriter(out)
	const header, ph = 64, 56
	off := uint64(header + ph*(len(runs)+1))
	binary.Write(w, binary.LittleEndian, stdelf.Header64{
		Ident: [16]byte{0x7f, 'E', 'L', 'F', 2, 1, 1}, Type: uint16(stdelf.ET_CORE), Machine: uint16(stdelf.EM_X86_64), Version: 1,
		Phoff: header, Ehsize: header, Phentsize: ph, Phnum: uint16(len(runs) + 1)})
	binary.Write(w, binary.LittleEndian, stdelf.Prog64{Type: uint32(stdelf.PT_NOTE), Off: off, Filesz: uint64(notes.Len())})
	off += uint64(notes.Len())
	for _, r := range runs {
		binary.Write(w, binary.LittleEndian, stdelf.Prog64{Type: uint32(stdelf.PT_LOAD), Flags: 6, Off: off, Vaddr: r.lo, Filesz: r.hi - r.lo, Memsz: r.hi - r.lo})
		off += r.hi - r.lo
	}
	w.Write(notes.Bytes())
	for _, r := range runs {
		b := make([]byte, r.hi-r.lo)
		if _, err := mem.ReadAt(b, int64(r.lo)); err != nil {
			return fmt.Errorf("memory at %#x: %w", r.lo, err)
		}
		w.Write(b)
	}
	return w.Flush()
}

// attach stops all threads, also those that begin meanwhile.
func attach(pid int) (tids []int, err error) {
	for more := true; more; {
		more = false
		tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		if err != nil {
			return nil, err
		}
		for _, t := range tasks {
			tid, _ := strconv.Atoi(t.Name())
			if slices.Contains(tids, tid) {
				continue
			}
			if err := unix.PtraceAttach(tid); err != nil {
				return tids, fmt.Errorf("attach to thread %d: %w", tid, err)
			}
			var status unix.WaitStatus
			if _, err := unix.Wait4(tid, &status, unix.WALL, nil); err != nil {
				return tids, err
			}
			tids, more = append(tids, tid), true
		}
	}
	return tids, nil
}

func note(w *bytes.Buffer, typ uint32, desc []byte) {
	binary.Write(w, binary.LittleEndian, [3]uint32{5, uint32(len(desc)), typ})
	w.WriteString("CORE\x00\x00\x00\x00")
	w.Write(desc)
	for w.Len()%4 != 0 {
		w.WriteByte(0)
	}
}

type span struct{ lo, hi uint64 }

// present lists the pages of writable mappings that are in memory.
func present(pid int) (runs []span, err error) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return nil, err
	}
	pages, err := os.Open(fmt.Sprintf("/proc/%d/pagemap", pid))
	if err != nil {
		return nil, err
	}
	defer pages.Close()
	const page = 4096
	for line := range strings.Lines(string(maps)) {
		var lo, hi uint64
		var perm string
		fmt.Sscanf(line, "%x-%x %s", &lo, &hi, &perm)
		if !strings.HasPrefix(perm, "rw") || hi < lo {
			continue
		}
		b := make([]byte, (hi-lo)/page*8)
		if _, err := pages.ReadAt(b, int64(lo/page*8)); err != nil {
			return nil, err
		}
		for at := lo; at < hi; at += page {
			// Bit 63: present; bit 62: swapped out.
			if binary.LittleEndian.Uint64(b[(at-lo)/page*8:])>>62 == 0 {
				continue
			}
			if n := len(runs); n > 0 && runs[n-1].hi == at {
				runs[n-1].hi += page
			} else {
				runs = append(runs, span{at, at + page})
			}
		}
	}
	return runs, nil
}
