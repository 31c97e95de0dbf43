// All lines of a source file, wherever it was compiled or included.

package dwarf

import "github.com/zeroframe/zeroframe/tools/symbol/elf"

// Lines calls each for every place where the code of a line of a matching file begins: where a
// row of it comes after one of another line or file. Units without such a file cost the header of
// their line table only. d may be nil.
func (d *Data) Lines(match func(path string) bool, each func(addr uint64, line int)) {
	if d == nil {
		return
	}
	if d.zero != nil {
		d.Prepare()
	}
	r := d.NewReader()
	seen := make(map[uint64]bool) // line tables; several units may share one
	r.eachUnit(func(u *unit) bool {
		if u.hasLines && !seen[u.stmtList] {
			seen[u.stmtList] = true
			r.linesOf(u, match, each)
		}
		return true
	})
}

func (r *Reader) linesOf(u *unit, match func(path string) bool, each func(addr uint64, line int)) {
	l := &r.scratch
	l.u, l.files = u, l.files[:0]
	var wanted map[uint32]bool
	ok := r.readLines(&l.Lines, u, func(c *elf.Cursor, h *lineHeader) {
		for i := range l.Lines.Files {
			n := uint32(i)
			if l.Lines.version < 5 {
				n++
			}
			if match(r.FileName(l, n)) {
				if wanted == nil {
					wanted = make(map[uint32]bool)
				}
				wanted[n] = true
			}
		}
		if wanted != nil {
			l.Lines.run(c, h, r.File, AllLines)
		}
	})
	if !ok || wanted == nil {
		return
	}
	for _, s := range l.Lines.Seqs {
		last := Row{}
		for _, row := range l.Lines.rows[s.first:s.end] {
			if (row.File != last.File || row.Line != last.Line) && wanted[row.File] && row.Line != 0 &&
				row.Addr >= s.Low && row.Addr < s.High {
				each(row.Addr, int(row.Line))
			}
			last = row
		}
	}
}
