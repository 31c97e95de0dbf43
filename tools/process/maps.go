package process

import (
	"bufio"
	"bytes"
	"debug/elf"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/zeroframe/zeroframe/tools/symbol"
)

// maxMappings bounds the mappings of a text; Linux allows 65530 by default.
const maxMappings = 1 << 20

// ReadMaps reads a text of the form of Linux's /proc/PID/maps. Files are opened under their names.
func ReadMaps(r io.Reader, name string) (*Process, error) {
	maps, err := parseMaps(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	wide := 8
	if n := len(maps); n > 0 && maps[n-1].High <= 1<<32 {
		wide = 4
	}
	p, err := newProcess(name, maps, wide)
	if err == nil {
		p.Open = func(m Mapping) (*symbol.File, error) { return symbol.Open(m.Path) }
	}
	return p, err
}

// parseMaps returns the mappings of files. Source: Linux, Documentation/filesystems/proc.rst.
func parseMaps(r io.Reader) (maps []Mapping, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		if strings.TrimSpace(line) == "" {
			continue
		}
		span, rest, _ := strings.Cut(line, " ")
		low, high, _ := strings.Cut(span, "-")
		perms, rest, _ := strings.Cut(rest, " ")
		offset, rest, _ := strings.Cut(rest, " ")
		_, rest, _ = strings.Cut(rest, " ") // the device
		_, path, _ := strings.Cut(rest, " ")
		path = strings.TrimLeft(path, " ")
		m := Mapping{Code: strings.Contains(perms, "x"), Path: path}
		for _, f := range []struct {
			s  string
			to *uint64
		}{{low, &m.Low}, {high, &m.High}, {offset, &m.Offset}} {
			if *f.to, err = strconv.ParseUint(f.s, 16, 64); err != nil {
				return nil, fmt.Errorf("line %d is none of /proc/PID/maps: %.60q", n, line)
			}
		}
		if len(perms) < 4 || m.Low >= m.High {
			return nil, fmt.Errorf("line %d is none of /proc/PID/maps: %.60q", n, line)
		}
		if strings.HasPrefix(path, "/") || path == vdso {
			maps = append(maps, m)
		}
		if len(maps) > maxMappings {
			return nil, fmt.Errorf("more than %d mappings", maxMappings)
		}
	}
	return maps, lines.Err()
}

// vdso is the name of the code that Linux itself maps.
const vdso = "[vdso]"

// Running returns the process with a number. Its files are read where the process sees them, also
// in another root folder or when they have been deleted since.
func Running(pid int) (*Process, error) {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	name := fmt.Sprintf("process %d", pid)
	file, err := os.Open(filepath.Join(dir, "maps"))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	defer file.Close()
	maps, err := parseMaps(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	wide := 8
	if exe, err := os.Open(filepath.Join(dir, "exe")); err == nil {
		var head [elf.EI_NIDENT]byte
		if _, err := io.ReadFull(exe, head[:]); err == nil && elf.Class(head[elf.EI_CLASS]) == elf.ELFCLASS32 {
			wide = 4
		}
		exe.Close()
	}
	p, err := newProcess(name, maps, wide)
	if err != nil {
		return nil, err
	}
	p.Open = func(m Mapping) (*symbol.File, error) { return openRunning(dir, m) }
	return p, nil
}

// openRunning opens the file of a running process's mapping.
func openRunning(dir string, m Mapping) (*symbol.File, error) {
	if m.Path == vdso {
		mem, err := os.Open(filepath.Join(dir, "mem"))
		if err != nil {
			return nil, err
		}
		defer mem.Close()
		b := make([]byte, min(m.High-m.Low, 1<<20))
		n, err := mem.ReadAt(b, int64(m.Low))
		if n == 0 {
			return nil, fmt.Errorf("%s: %w", vdso, err)
		}
		return symbol.NewFile(bytes.NewReader(b[:n]), int64(n), vdso)
	}
	path, deleted := strings.CutSuffix(m.Path, " (deleted)")
	if !deleted {
		// Under its own name debug files beside it are found, too.
		if same(path, filepath.Join(dir, "root", path)) {
			return symbol.Open(path)
		}
		return symbol.Open(filepath.Join(dir, "root", path))
	}
	return symbol.Open(filepath.Join(dir, "map_files", fmt.Sprintf("%x-%x", m.Low, m.High)))
}

// same reports whether two paths are of one file.
func same(a, b string) bool {
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}
