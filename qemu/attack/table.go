package main

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// counts are how many machines came to each end, and how many of them died of their case.
type counts struct {
	all  int
	died int
	by   [ends]int
}

func (c *counts) add(r *result) {
	c.all++
	c.by[r.end]++
	if r.died && r.end >= full {
		c.died++
	}
}

// deaths are the machines that have died.
func (c *counts) deaths() int { return c.all - c.by[survived] - c.by[hungTraced] }

// count counts all results, and those of each kind.
func count(results []result) (total counts, of [kinds]counts) {
	for i := range results {
		total.add(&results[i])
		of[results[i].kind].add(&results[i])
	}
	return total, of
}

// format makes the table, and the lines of what was not whole.
func format(results []result, seed uint64) string {
	total, of := count(results)
	var b strings.Builder
	fmt.Fprintf(&b, "attack: %d machines, seed %d\n\n", len(results), seed)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "\t")
	for k := range kinds {
		fmt.Fprintf(w, "%v\t", k)
	}
	fmt.Fprint(w, "all\t\t\n")
	row := func(name string, value func(c *counts) int) {
		fmt.Fprintf(w, "%s\t", name)
		for k := range kinds {
			fmt.Fprintf(w, "%d\t", value(&of[k]))
		}
		fmt.Fprintf(w, "%d\t%s\t\n", value(&total), percent(value(&total), total.deaths()))
	}
	row("machines", func(c *counts) int { return c.all })
	row("deaths", (*counts).deaths)
	row("died of it", func(c *counts) int { return c.died })
	for e := range ends {
		row(e.String(), func(c *counts) int { return c.by[e] })
	}
	w.Flush()
	b.WriteString("\n")
	for i := range results {
		if r := &results[i]; r.end > full || strings.Contains(r.how, "; then ") {
			b.WriteString(line(r))
		}
	}
	return b.String()
}

// percent is n of the deaths.
func percent(n, deaths int) string {
	if deaths == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(deaths))
}

// line tells of one machine.
func line(r *result) string {
	return fmt.Sprintf("%d\t%v\t%v\t%.140s\n", r.number, r.end, r.hit, strings.ReplaceAll(r.how, "\n", "; "))
}
