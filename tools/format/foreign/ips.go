package foreign

// macOS's crash reports in JSON (.ips). Their frames tell an image by its number in a list that
// comes behind; the frames are resolved below that.

import (
	"encoding/json"
	"fmt"
	"strings"
)

// maxIPS bounds what is kept of a report.
const maxIPS = 4096

type ipsState struct {
	frames []ipsFrame
	images []string // the paths, or else the names
	image  string   // that is being read
	listed bool     // in the list of images
}

type ipsFrame struct {
	Offset   uint64 `json:"imageOffset"`
	Image    int    `json:"imageIndex"`
	Symbol   string `json:"symbol"`
	Location uint64 `json:"symbolLocation"`
	number   int
}

// readIPS reads a line of such a report.
func (x *Reader) readIPS(line string) string {
	r := &x.ips
	text := strings.Trim(line, " \t,")
	if text == "" || strings.IndexByte(`"{}]`, text[0]) < 0 {
		return ""
	}
	key, value, _ := strings.Cut(text, ":")
	key, value = strings.Trim(key, `"{ `), strings.TrimSpace(value)
	if i := strings.Index(text, `"frames":[{`); i >= 0 {
		key, value = "frames", text[i+len(`"frames":`):]
	}
	switch {
	case key == "frames" && strings.HasPrefix(value, "[{"):
		var all []ipsFrame
		if json.NewDecoder(strings.NewReader(value)).Decode(&all) != nil {
			return ""
		}
		for i := range all[:min(len(all), maxIPS-len(r.frames))] {
			all[i].number = i
			r.frames = append(r.frames, all[i])
		}
	case key == "usedImages" && strings.HasPrefix(value, "["):
		r.listed, r.images, r.image = true, nil, ""
	case !r.listed:
		return ""
	case key == "path" || key == "name" && r.image == "":
		if json.Unmarshal([]byte(value), &r.image) != nil {
			return ""
		}
	case key == "name":
	case text[0] == '}':
		if len(r.images) < maxIPS {
			r.images = append(r.images, r.image)
		}
		r.image = ""
	case text[0] == ']':
		x.ipsFrames()
		*r = ipsState{}
	default:
		return ""
	}
	return FormatMacOS
}

// ipsFrames resolves the frames, when the images are there.
func (x *Reader) ipsFrames() {
	for _, f := range x.ips.frames {
		if f.Image < 0 || f.Image >= len(x.ips.images) {
			continue
		}
		s := spot{file: x.ips.images[f.Image], said: f.Symbol, by: f.Location}
		s.begins, s.ret = f.number == 0, f.number > 0
		s.setAt(f.Offset, fromHead)
		s.Label = strings.TrimSpace(fmt.Sprintf("%s + %d", fileBase(s.file), f.Offset))
		x.spot(s)
	}
}
