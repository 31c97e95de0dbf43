package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/tracer"
)

// traces measures traces of 16 and 32 frames in each form, from the first byte to the
// last line feed.
func (b *bench) traces() error {
	b.progress("trace.*: traces of 16 and 32 frames in each form on the wire, without arguments; trace.args: what these take at 16 frames; trace.f32.compact.ratio: the compact form against text; trace.repeat.bytes: the line for a trace that is the one before once more")
	for _, frames := range []int{16, 32} {
		size := map[string]int{}
		for _, form := range []string{"text", "markup", "compact"} {
			out, err := boot(b.lab, fmt.Sprintf("crash=early.deep crash.depth=%d args=0 trace=%s", frames, form), qemu.Config{})
			if err != nil {
				return err
			}
			begin := strings.Index(out, "zf1")
			if begin < 0 || !strings.HasSuffix(out, "\n") {
				return fmt.Errorf("traces: no trace in form %s", form)
			}
			size[form] = len(out) - begin
			b.figure(fmt.Sprintf("trace.f%d.%s.bytes", frames, form), size[form])
			if frames != 16 {
				continue
			}
			out, err = boot(b.lab, fmt.Sprintf("crash=early.deep crash.depth=%d trace=%s", frames, form), qemu.Config{})
			if err != nil {
				return err
			}
			b.figure(fmt.Sprintf("trace.args.%s.bytes", form), len(out)-strings.Index(out, "zf1")-size[form])
		}
		if frames == 32 {
			b.atMost("trace.f32.compact.ratio", float64(size["compact"])/float64(size["text"]), 0.11)
		}
	}
	out, err := boot(b.lab, "crash=early.repeat trace=compact", qemu.Config{})
	if err != nil {
		return err
	}
	repeat, lines := 0, 0
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, tracer.RepeatTag) {
			repeat, lines = max(repeat, len(line)), lines+1
		}
	}
	if lines != 2 {
		return fmt.Errorf("traces: %d repetitions of a trace in a line of their own; want 2", lines)
	}
	b.atMost("trace.repeat.bytes", float64(repeat), 9)
	return nil
}

// walks counts the instructions of a walk of 32 frames, next to those of a walk
// that believes everything; of a capture, by frame and beside the frames; and of the
// scan for a high-water mark, of all words or of the pages that have been written to.
func (b *bench) walks() error {
	b.progress("walk.*, scan.*: instructions of the kernel's walk of 32 frames, next to a walk that believes everything (walk.d32.ratio); scan.check.instructions: of the check of all stacks' limits, once a second")
	v, err := b.measured(32)
	if err != nil {
		return err
	}
	b.figure("walk.d32.instructions", v["walk.plain"])
	b.figure("walk.d32.tables.instructions", v["walk.tables"])
	b.figure("walk.d32.bare.instructions", v["bare"])
	b.figure("walk.d32.ratio", ratio(v["walk.plain"], v["bare"]))
	b.figure("scan.kib.instructions", fmt.Sprintf("%.0f", v["scan"]/v["scan.bytes"]*1024))
	b.atMost("scan.check.instructions", v["check"], 2000)

	b.progress("capture.*.instructions: of a Capture, by walks of 31 and 125 records; scan.pages.ratio: a scan of 376 KiB by the pages' dirty bits, two of them used, against one of all words")
	deep, err := b.measured(126)
	if err != nil {
		return err
	}
	frame := (deep["capture"] - v["capture"]) / (deep["capture.frames"] - v["capture.frames"])
	b.atMost("capture.frame.instructions", frame, 14)
	b.atMost("capture.fixed.instructions", v["capture"]-v["capture.frames"]*frame, 40)
	b.figure("capture.again.d31.instructions", v["again"])
	b.atMost("scan.pages.ratio", v["large.pages"]/v["large.full"], 1.0/50)
	return nil
}

// measured returns what the crash lab measures with that many frames on the stack. A
// tick is an instruction.
func (b *bench) measured(depth int) (map[string]float64, error) {
	out, err := boot(b.lab, fmt.Sprint("crash=early.measure crash.depth=", depth), qemu.Config{Icount: true})
	if err != nil {
		return nil, err
	}
	v := map[string]float64{}
	for _, line := range strings.Split(out, "\r\n") {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "measure" {
			if v[f[1]], err = strconv.ParseFloat(f[2], 64); err != nil {
				return nil, err
			}
		}
	}
	d := float64(depth)
	if v["walk.frames"] != d || v["bare.frames"] != d || v["walk.complete"] != 1 || v["scan.bytes"] == 0 ||
		v["capture.frames"] != d-1 || v["again.same"] != 1 || v["large.full.used"] == 0 || v["large.pages.used"] != v["large.full.used"] {
		return nil, fmt.Errorf("walks: measured %v", v)
	}
	return v, nil
}
