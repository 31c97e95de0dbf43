package page

import (
	"bufio"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"
	"sync"

	"github.com/zeroframe/zeroframe/tools/format/handle"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

// pageTemplate is not parsed before a page is wanted: zf has other commands, whose start
// would pay for it.
var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{
		"count": func(n int, one, many string) string {
			if n == 1 {
				return "1 " + one
			}
			return number(uint64(n)) + " " + many
		},
		"name":    name,
		"text":    func(s string) string { return visible(s, maxWhyText) },
		"finding": func(s string) string { return visible(s, maxFinding) },
		"number":  number,
		"level":   level,
		"free":    func(used, size uint64) uint64 { return size - min(used, size) },
		"part":    func(n, of uint64) string { return fmt.Sprintf("%.2f%%", percent(n, of)) },
		"percent": func(n, of uint64) uint64 { return uint64(percent(n, of)) },
		"seconds": handle.Seconds,
		"size": func(kind, n uint64) string {
			if handle.HasBytes(kind) {
				return handle.SizeOf(n)
			}
			return ""
		},
	}).Parse(pageHTML))
})

// pageView is all that the page says.
type pageView struct {
	Title     string
	Heading   *traceView // what the page is about; nil if there is no trace
	Facts     []Fact
	Notes     []string
	Incidents []*traceView
	Traces    int
	Left      int // traces that are not shown, which stand behind incident After
	After     int // its index

	Why       *Why
	Waits     *Waits
	Profiles  []*flameView
	Snapshots []*handlesView
	Log       []lineView
	LogTitle  string
}

// policy is the content security policy: no more than the two texts of ours, and the picture's
// style.
func policy(picture template.HTML) string {
	hash := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	_, drawn, _ := strings.Cut(string(picture), "<style>")
	drawn, _, _ = strings.Cut(drawn, "</style>")
	return "default-src 'none'; style-src " + hash(pageCSS) + " " + hash(drawn) +
		"; script-src " + hash(pageJS) + "; base-uri 'none'; form-action 'none'"
}

// HTML writes the page. The log must have ended (Close).
func (r *Report) HTML(w io.Writer) error {
	v := &pageView{
		Title: name(r.opt.Title), Notes: r.notes.all, Left: r.left, Traces: r.count,
		Why: r.opt.Why, Waits: r.opt.Waits, Profiles: r.profiles, Snapshots: r.snapshots,
		Log: r.log.view(),
		LogTitle: fmt.Sprintf("%s lines, %s bytes", number(uint64(r.log.lines)),
			number(uint64(r.log.total))),
	}
	for _, f := range r.opt.Facts {
		v.Facts = append(v.Facts, Fact{name(f.Name), name(f.Value)})
	}
	all := append(r.first[:len(r.first):len(r.first)], r.last...)
	// What ended a kernel comes first when there is not room for all.
	left := budget{pageFrames, pageSource, pageBefore, pageStacks, pageWords, pageEvents}
	for _, fatal := range []bool{true, false} {
		for _, t := range all {
			if t.fatal == fatal {
				r.trim(t, &left)
			}
		}
	}
	linkLog(v.Log, all)
	v.Incidents = incidents(all)
	v.Heading = heading(v.Incidents)
	for i, t := range v.Incidents {
		if r.left > 0 && t.ID <= firstTraces {
			v.After = i
		}
	}
	b := bufio.NewWriter(w)
	// These two are ours, and stand as they are: what the policy has is their hash.
	io.WriteString(b, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
	var picture template.HTML
	if v.Waits != nil {
		picture = v.Waits.Picture
	}
	fmt.Fprintf(b, "<meta http-equiv=\"Content-Security-Policy\" content=\"%s\">\n", policy(picture))
	io.WriteString(b,
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"referrer\" content=\"no-referrer\">\n")
	fmt.Fprintf(b, "<title>%s</title>\n<style>%s</style>\n</head>\n",
		template.HTMLEscapeString(v.Title), pageCSS)
	if err := pageTemplate().Execute(b, v); err != nil {
		return err
	}
	fmt.Fprintf(b, "<script>%s</script>\n</body>\n</html>\n", pageJS)
	return b.Flush()
}

// linkLog links the traces with their lines in the log, those of both that are shown.
func linkLog(log []lineView, all []*traceView) {
	shown := make(map[int]*traceView, len(all))
	for _, t := range all {
		shown[t.ID] = t
	}
	for i := range log {
		var ends []int
		for _, id := range log[i].Ends {
			if t := shown[id]; t != nil {
				ends, t.InLog = append(ends, id), true
			}
		}
		log[i].Ends = ends
	}
}

// heading returns the trace that the page is about: what ended the last kernel, and of a
// death that led to others the first. Without one, it is the last trace.
func heading(all []*traceView) (h *traceView) {
	last := uint64(0)
	again := false // there was a boot since h
	for _, t := range all {
		if t.seq > 0 && t.Class != "before" {
			again, last = again || t.seq <= last, t.seq
		}
		if h == nil || !h.fatal || t.fatal && again {
			h, again = t, false
		}
	}
	return h
}
