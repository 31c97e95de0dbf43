package foreign

// What traces lack. Frames that are in no ELF file are counted, and one sentence about all
// traces of a format says which file to give.

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/tools/format/terminal"
	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

const (
	maxLacking = 256 // files that are kept
	maxNamed   = 6   // files that are named
)

// A lack is what the traces of one format lack.
type lack struct {
	format         string
	traces         int      // that lack something
	frames, lost   int      // of these, and those in no ELF file
	why            string   // how the ELF file differs from what ran, "" if it is not known
	files          []string // that would help; none: as the format has it
	release, build string   // of Linux
}

// want notes a file that would help.
func (l *lack) want(file string) {
	if file != "" && len(l.files) < maxLacking && !slices.Contains(l.files, file) {
		l.files = append(l.files, file)
	}
}

// differ notes how an ELF file differs from what ran: the first way counts.
func (l *lack) differ(how string) {
	if l.why == "" {
		l.why = how
	}
}

// linuxFile is the file that Linux's frames of a module, or without one, are in.
func linuxFile(module string) string {
	if module == "" {
		return "vmlinux"
	}
	return terminal.Clean(module) + ".ko"
}

// count counts the frames of a trace that has ended.
func (x *Reader) count(format string, frames []wire.Frame) {
	now := x.lack
	x.lack = lack{}
	for i := range frames {
		if frames[i].Quoted {
			now.lost++
		}
		if !isAnother(frames[i].Note) {
			now.frames++
		}
	}
	whole := now.lost == now.frames
	if whole {
		x.Lost++
	}
	if now.lost == 0 || x.images == nil || x.images.Empty() {
		return
	}
	// A program's libraries are in no file as a rule, nor are a kernel's modules: that is
	// not worth a word. Frames of the kernel itself are.
	for i := range frames {
		f := &frames[i]
		switch {
		case whole && format == FormatLinux:
			now.want(linuxFile(f.Module))
		case whole:
			if format != FormatMarkup && isProgram(f.Module) && now.why == "" {
				now.want(terminal.Clean(f.Module))
			}
		case f.Quoted && f.Module == "" && len(f.Calls) > 0 &&
			(format == FormatLinux || format == FormatFreeBSD):
			x.Left++
			if c := &f.Calls[len(f.Calls)-1]; now.why == "" {
				x.left.add(fmt.Sprintf("%s+%#x", c.Function, c.Offset), "the ELF file has no such place")
			}
		}
	}
	if !whole && now.why == "" && len(now.files) == 0 {
		return
	}
	i := slices.IndexFunc(x.lacks, func(l lack) bool { return l.format == format })
	if i < 0 {
		i, x.lacks = len(x.lacks), append(x.lacks, lack{format: format})
	}
	l := &x.lacks[i]
	l.traces++
	l.frames += now.frames
	l.lost += now.lost
	l.differ(now.why)
	for _, file := range now.files {
		l.want(file)
	}
	l.release, l.build = cmp.Or(x.oops.release, l.release), cmp.Or(x.oops.build, l.build)
}

// isProgram reports whether a module is a file that someone may have built: not of the system.
func isProgram(module string) bool {
	return module != "" && module[0] != '[' && !strings.HasPrefix(module, "libc.so") &&
		!strings.HasPrefix(module, "ld-linux")
}

// isAnother reports whether the note is of a frame that is another answer for the one before.
func isAnother(note string) bool {
	return strings.HasPrefix(note, "(or: ") && !strings.HasPrefix(note, "(or: 1 of ")
}

// Untold reports whether Tell has something to say.
func (x *Reader) Untold() bool { return len(x.lacks) > 0 }

// Tell says what the traces so far lack.
func (x *Reader) Tell() {
	for i := range x.lacks {
		l := &x.lacks[i]
		if files := l.wanted(); !x.told[files] && len(x.told) < maxSaid {
			x.told[files] = true
			x.say(l.sentence(x.images, files))
		}
	}
	x.lacks = nil
}

// TellLeft says, at the end, which lines look like frames and were not resolved.
func (x *Reader) TellLeft() {
	if s := x.left.sentence(); s != "" {
		x.say(s)
	}
	x.left = left{}
}

// names are those of the formats that are named by another word than their own.
var names = map[string]string{FormatLinux: "Linux", FormatGo: "Go", FormatTinyGo: "TinyGo",
	FormatESP:    "ESP-IDF",
	FormatZephyr: "Zephyr", FormatWinDbg: "WinDbg", FormatCoredump: "systemd-coredump",
	FormatChromium: "Chromium",
	FormatAndroid:  "Android", FormatRust: "Rust", FormatHotSpot: "HotSpot", FormatFreeBSD: "FreeBSD",
	FormatHaiku: "Haiku",
	FormatMacOS: "macOS", FormatValgrind: "Valgrind", FormatEDK: "EDK II"}

// sentence says how much of the traces is not resolved, why, and what to give.
func (l *lack) sentence(images *lookup.Images, files string) string {
	name := cmp.Or(names[l.format], l.format)
	traces, are, their, frames := "a "+name+" trace", "is", "its", "frames"
	if strings.IndexByte("AEae", name[0]) >= 0 {
		traces = "an" + traces[1:]
	}
	if l.traces > 1 {
		traces, are, their = fmt.Sprintf("%d %s traces", l.traces, name), "are", "their"
	}
	if l.frames == 1 {
		frames = "frame"
	}
	elf, hold, has := "the ELF file", "does not hold", "is not in the ELF file"
	if n := len(images.Given); n > 1 {
		elf, hold, has = "the ELF files", "do not hold", "are not in the ELF files"
	} else if n == 0 {
		elf, hold, has = "no file that was found", "holds", "is not in a file that was found"
	}
	why, force := l.why, "-force resolves what has the name"
	if l.lost == l.frames {
		if force = " (" + force + ")"; why == "" {
			why, force = elf+" "+hold+" "+their+" names", ""
		}
		return fmt.Sprintf("there %s %s of %d %s, but %s: not resolved; give %s%s", are, traces, l.frames,
			frames, why, files, force)
	}
	if force = "; " + force; why == "" {
		why, force = "the rest "+has, ""
	}
	return fmt.Sprintf("%d of the %d %s of %s are resolved: %s; give %s too (-e can be repeated%s)",
		l.frames-l.lost, l.frames, frames, traces, why, files, force)
}

// wanted names the files that would help.
func (l *lack) wanted() string {
	switch l.format {
	case FormatLinux, FormatMarkup: // each names its files
	case FormatGo:
		return "the Go program that ran"
	case FormatESP:
		return "the ELF file of the firmware that ran (build/PROJECT.elf)"
	case FormatZephyr:
		return "the zephyr.elf that ran"
	case FormatFreeBSD, FormatCrash, FormatHaiku:
		return "the kernel that ran, with its symbols"
	default:
		if len(l.files) == 0 {
			return "the program that ran, with its symbols"
		}
	}
	all := slices.Sorted(slices.Values(l.files))
	if i := slices.Index(all, "vmlinux"); i >= 0 { // the first and the most useful
		kernel := "vmlinux"
		if l.release != "" {
			kernel += " of release " + terminal.Clean(l.release)
		}
		if l.build != "" {
			kernel += " (build ID " + terminal.Clean(l.build) + ")"
		}
		all = slices.Insert(slices.Delete(all, i, i+1), 0, kernel)
	}
	if n := len(all) - maxNamed; n > 1 {
		all = append(all[:maxNamed], fmt.Sprintf("%d others", n))
	}
	if last := len(all) - 1; last > 0 {
		return strings.Join(all[:last], ", ") + " and " + all[last]
	}
	return strings.Join(all, "")
}
