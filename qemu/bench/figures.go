package main

// The table of figures, figures.txt, and how a figure is read from samples. Measurements only
// take samples, under names; all that is made of these is in the table: medians, sums, goals.

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"go/constant"
	"go/token"
	"go/types"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

//go:embed figures.txt
var figuresText string

var sections = readSections(figuresText)

// A section is a measurement and the figures that it makes.
type section struct {
	name, about string
	machines    []machine
	lines       []line
}

// A line is a figure, a value for the lines after it ("let"), or a condition ("want").
type line struct {
	kind, name, decimals, goal, formula string
}

// readSections reads a table, whose first lines say how it is made.
func readSections(text string) (all []section) {
	for row := range strings.Lines(text) {
		row = strings.TrimSpace(row)
		if name, about, ok := strings.Cut(row, "] "); ok && row[0] == '[' {
			all = append(all, section{name: name[1:], about: about})
			continue
		}
		if row == "" || row[0] == '#' {
			continue
		}
		l, last := line{kind: "figure"}, &all[len(all)-1]
		f := strings.Fields(row)
		switch {
		case f[0] == "boot":
			var m machine
			if err := json.Unmarshal([]byte(row[len("boot"):]), &m); err != nil {
				panic(fmt.Sprintf("figures.txt: %s: %v", row, err))
			}
			last.machines = append(last.machines, m)
			continue
		case f[0] == "want":
			l.kind, l.formula = f[0], strings.Join(f[1:], " ")
		case f[0] == "let":
			l.kind, l.name, l.formula = f[0], f[1], f[2]
		case len(f) == 1:
			l.kind, l.name = "own", f[0]
		default:
			l.name, l.decimals, l.goal, l.formula = f[0], f[1], f[2], f[3]
		}
		last.lines = append(last.lines, l)
	}
	return all
}

// topics returns what the names of the sections' figures begin with.
func topics(of ...section) (all []string) {
	for _, s := range of {
		for _, l := range s.lines {
			topic, rest, _ := strings.Cut(l.name, ".")
			if l.kind != "let" && rest != "" && !slices.Contains(all, topic) {
				all = append(all, topic)
			}
		}
	}
	return all
}

// samples are what one measurement has taken, by name.
type samples struct {
	names []string // in the order in which they came
	of    map[string][]float64
}

func (s *samples) add(name string, value float64) {
	if s.of == nil {
		s.of = map[string][]float64{}
	}
	if s.of[name] == nil {
		s.names = append(s.names, name)
	}
	s.of[name] = append(s.of[name], value)
}

// value returns the median of a name's samples, or for NAME@N the one below which N % of
// them lie.
func (s *samples) value(name string) (float64, error) {
	name, percent, _ := strings.Cut(name, "@")
	part, err := strconv.ParseFloat(percent, 64)
	if percent == "" {
		part, err = 50, nil
	}
	v := slices.Sorted(slices.Values(s.of[name]))
	if len(v) == 0 {
		return 0, fmt.Errorf("there is no sample %s", name)
	}
	return v[int(part/100*float64(len(v)-1)+0.5)], err
}

// sampleName is a name in a formula.
var sampleName = regexp.MustCompile(`(\b[a-z]|\$)[$\w.]*(@\d+)?`)

// evaluate prints the figures of a line, keeps its value or verifies its condition.
func (b *bench) evaluate(l line) error {
	if l.kind == "own" {
		return nil
	}
	if !strings.Contains(l.formula, "$") {
		return b.evaluateFor(l, "")
	}
	// The names that fit the first one with a $.
	all := sampleName.FindAllString(l.formula, -1)
	with := func(name string) bool { return strings.Contains(name, "$") }
	first, _, _ := strings.Cut(all[slices.IndexFunc(all, with)], "@")
	fits := regexp.MustCompile("^" + strings.Replace(regexp.QuoteMeta(first), `\$`, `(.+)`, 1) + "$")
	found := false
	for _, name := range slices.Clone(b.names) {
		if m := fits.FindStringSubmatch(name); m != nil {
			found = true
			if err := b.evaluateFor(l, m[1]); err != nil {
				return err
			}
		}
	}
	if !found {
		return fmt.Errorf("there is no sample %s", first)
	}
	return nil
}

// evaluateFor is evaluate with part in the place of each $. A formula is a constant expression of
// Go, once its names have become numbers.
func (b *bench) evaluateFor(l line, part string) (err error) {
	text := sampleName.ReplaceAllStringFunc(l.formula, func(name string) string {
		v, e := b.value(strings.ReplaceAll(name, "$", part))
		if e != nil {
			err = e
		}
		return "(" + strconv.FormatFloat(v, 'e', -1, 64) + ")"
	})
	if err != nil {
		return err
	}
	result, err := types.Eval(token.NewFileSet(), nil, token.NoPos, text)
	if err != nil {
		return fmt.Errorf("%s is %s: %w", l.formula, text, err)
	}
	if l.kind == "want" {
		if !constant.BoolVal(result.Value) {
			return fmt.Errorf("it is not so: %s", text)
		}
		return nil
	}
	value, _ := constant.Float64Val(result.Value)
	name := strings.ReplaceAll(l.name, "$", part)
	if l.kind == "let" {
		b.add(name, value)
		return nil
	}
	shown := strconv.FormatFloat(math.Round(value*1e4)/1e4, 'f', -1, 64)
	if l.decimals != "-" {
		shown = fmt.Sprintf("%."+l.decimals+"f", value)
	}
	if l.goal == "-" || b.short {
		b.print(name, shown, "-", "-")
		return nil
	}
	sign, size := l.goal[:len("≤")], l.goal[len("≤"):]
	goal, err := strconv.ParseFloat(size, 64)
	value, _ = strconv.ParseFloat(shown, 64)
	verdict := "short"
	if sign == "≤" && value <= goal || sign == "≥" && value >= goal {
		verdict = "ok"
	}
	b.print(name, shown, sign+" "+size, verdict)
	return err
}
