package inspect

// The runtime's structures are read by the names of their fields. Where a Go version lacks one,
// that is an error which names it.

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/go-delve/delve/pkg/dwarf/godwarf"
)

// Plain is what a type is behind its names, nil if these lead nowhere. Host.
func Plain(t godwarf.Type) godwarf.Type {
	for range 100 { // a chain has a few; a circle has no end
		switch n := t.(type) {
		case *godwarf.TypedefType:
			t = n.Type
		case *godwarf.QualType:
			t = n.Type
		case *godwarf.ParametricType:
			t = n.TypedefType.Type
		default:
			return t
		}
	}
	return nil
}

// structOf is a type as a struct, also of the kinds that are structs to DWARF; nil if it is none.
func structOf(t godwarf.Type) *godwarf.StructType {
	switch s := Plain(t).(type) {
	case *godwarf.StructType:
		return s
	case *godwarf.SliceType:
		return &s.StructType
	case *godwarf.StringType:
		return &s.StructType
	}
	return nil
}

// Field finds a path of fields, such as "heapStats.stats", in a type, also in what is embedded in
// it. off is in bytes. Host.
func Field(t godwarf.Type, path string) (off uint64, ft godwarf.Type, err error) {
	ft = t
	for name := range strings.SplitSeq(path, ".") {
		o, f, ok := member(structOf(ft), name)
		if !ok {
			return 0, nil,
				fmt.Errorf("the runtime's %v has no field %s; this zf knows Go 1.25 to 1.27", t, path)
		}
		off, ft = off+o, f
	}
	return off, ft, nil
}

func member(s *godwarf.StructType, name string) (off uint64, t godwarf.Type, ok bool) {
	if s == nil {
		return 0, nil, false
	}
	for _, f := range s.Field {
		if f.Name == name {
			return uint64(f.ByteOffset), f.Type, true
		}
	}
	for _, f := range s.Field {
		if f.Embedded {
			if off, t, ok := member(structOf(f.Type), name); ok {
				return uint64(f.ByteOffset) + off, t, true
			}
		}
	}
	return 0, nil, false
}

// Pointer is the pointer that a map or a channel is, which DWARF has as kinds of their own; of
// others it is the type itself. Host.
func Pointer(t godwarf.Type) godwarf.Type {
	switch u := t.(type) {
	case *godwarf.ChanType:
		return u.TypedefType.Type
	case *godwarf.MapType:
		return u.TypedefType.Type
	}
	return t
}

// Pointee is what a pointer type points to, also a map or a channel; nil if it is none. Host.
func Pointee(t godwarf.Type) godwarf.Type {
	if p, ok := Plain(Pointer(t)).(*godwarf.PtrType); ok {
		return p.Type
	}
	return nil
}

// Leads says where a field of a map or a channel leads of which DWARF does not have the type: to
// Count values of a Type at Addr. Skip is the field; without one the struct is none of these. word
// reads its words. Host.
func Leads(u *godwarf.StructType, word func(off uint64) uint64) (l struct {
	Skip        string
	Addr, Count uint64
	Type        godwarf.Type
}) {
	at := func(f string) (uint64, godwarf.Type) {
		off, t, err := Field(u, f)
		if err != nil {
			return 0, nil
		}
		return word(off), t
	}
	kind, _, _ := strings.Cut(cmp.Or(u.StructName, u.Name), "<")
	switch t := godwarf.Type(nil); kind {
	case "map":
		// Up to eight elements the directory is the one group itself.
		l.Skip = "dirPtr"
		l.Addr, t = at("dirPtr")
		l.Count, _ = at("dirLen")
		if l.Type = Pointee(t); l.Count > 0 || l.Type == nil {
			return l
		}
		l.Count = 1
		_, groups, err := Field(Pointee(l.Type), "groups.data")
		if l.Type = nil; err == nil {
			l.Type = Pointee(groups)
		}
	case "groupReference":
		l.Skip = "data"
		l.Addr, t = at("data")
		l.Count, _ = at("lengthMask")
		l.Count++
		l.Type = Pointee(t)
	case "hchan":
		l.Skip = "buf"
		l.Addr, _ = at("buf")
		l.Count, _ = at("dataqsiz")
		if _, q, err := Field(u, "recvq.first"); err == nil {
			if _, elem, err := Field(Pointee(q), "elem"); err == nil {
				l.Type = Pointee(elem)
			}
		}
	}
	return l
}

// OfMap reports whether a struct is part of how the runtime keeps maps. Host.
func OfMap(u *godwarf.StructType) bool {
	name := strings.TrimPrefix(cmp.Or(u.StructName, u.Name), "noalg.")
	kind, _, _ := strings.Cut(name, "<")
	return kind == "map" || kind == "table" || kind == "groupReference" ||
		strings.HasPrefix(name, "map.group[")
}
