// Around says what a process finds around itself: names, files of the system, devices. What it
// prints is the same on Linux and on the kernel; of what differs by nature it prints the form.
package main

import (
	"fmt"
	"os"
	"regexp"
	"time"

	_ "github.com/zeroframe/zeroframe/kernel"
)

func main() {
	parts := map[string]func(){"names": names, "zones": zones, "proc": proc, "line": func() { is("line", read("/proc/cmdline"), os.Getenv("A")) }, "watches": watches}
	for _, name := range os.Args[1:] {
		parts[name]()
	}
}

// is prints what something is.
func is(what string, values ...any) {
	fmt.Printf("%s:", what)
	for _, v := range values {
		fmt.Printf(" %v", v)
	}
	fmt.Println()
}

var number = regexp.MustCompile(`\d+`)

// form is a text with each number as N.
func form(s string) string { return number.ReplaceAllString(s, "N") }

// zones are those that package time loads, and that of TZ.
func zones() {
	at := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	for _, name := range []string{"Europe/Berlin", "America/St_Johns", "Asia/Tokyo", "UTC", "Local", "No/Where", "../etc/passwd"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			is("zone "+name, err)
			continue
		}
		is("zone "+name, at.In(zone), at.AddDate(0, 6, 0).In(zone))
	}
}
