package main

// Ways to die. The command line's last word chooses one.

func dieBy(line string) {
	switch {
	case ends(line, "leaf"):
		leaf(8)
	case ends(line, "bounds"):
		set(&table, len(line))
	case ends(line, "overflow"):
		depth = deeper(0)
	default:
		configure(nil)
	}
}

func ends(s, end string) bool { return len(s) >= len(end) && s[len(s)-len(end):] == end }

type config struct{ name, speed int }

//go:noinline
func configure(c *config) { setSpeed(c) }

//go:noinline
func setSpeed(c *config) { c.speed = 115200 }

var table [4]int

//go:noinline
func set(t *[4]int, i int) { t[i] = 1 }

var depth int

//go:noinline
func deeper(n int) int {
	if n < 0 {
		return 0
	}
	return deeper(n+1) + 1
}

func leaf(p uintptr)
