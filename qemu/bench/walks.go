package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/zeroframe/zeroframe/qemu"
)

// traces measures a trace of 16 frames in each form, from the first byte to the
// last line feed.
func (b *bench) traces() error {
	b.progress("trace.*: a trace of 16 frames in each form on the wire")
	for _, form := range []string{"text", "markup", "compact"} {
		out, err := boot(b.lab, "crash=early.deep crash.depth=16 trace="+form, qemu.Config{})
		if err != nil {
			return err
		}
		begin := strings.Index(out, "zf1")
		if begin < 0 || !strings.HasSuffix(out, "\n") {
			return fmt.Errorf("traces: no trace in form %s", form)
		}
		b.figure("trace.f16."+form+".bytes", len(out)-begin)
	}
	return nil
}

// walks counts the instructions of a walk of 32 frames, next to those of a walk
// that believes everything, and of the scan for a high-water mark.
func (b *bench) walks() error {
	b.progress("walk.*, scan.*: instructions of the kernel's walk of 32 frames, next to a walk that believes everything (walk.d32.ratio)")
	out, err := boot(b.lab, "crash=early.measure crash.depth=32", qemu.Config{Icount: true})
	if err != nil {
		return err
	}
	v := map[string]float64{}
	for _, line := range strings.Split(out, "\r\n") {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "measure" {
			if v[f[1]], err = strconv.ParseFloat(f[2], 64); err != nil {
				return err
			}
		}
	}
	if v["walk.frames"] != 32 || v["bare.frames"] != 32 || v["walk.complete"] != 1 || v["scan.bytes"] == 0 {
		return fmt.Errorf("walks: measured %v", v)
	}
	b.figure("walk.d32.instructions", v["walk.plain"])
	b.figure("walk.d32.tables.instructions", v["walk.tables"])
	b.figure("walk.d32.bare.instructions", v["bare"])
	b.figure("walk.d32.ratio", ratio(v["walk.plain"], v["bare"]))
	b.figure("scan.kib.instructions", fmt.Sprintf("%.0f", v["scan"]/v["scan.bytes"]*1024))
	return nil
}
