// Command places dies in the way that its argument names. Each death has a line that ends in a
// comment with its name: the place that is to be named, or, after "again", that of a panic that
// came on top of it.
package main

import (
	"fmt"
	"os"
)

// deaths are the ways to die, by their names.
var deaths = map[string]func(){}

func main() {
	name := os.Args[1]
	if f := deaths[name]; f != nil {
		fmt.Println(name, "begins")
		f()
	} else {
		fmt.Println("no such death:", name)
		os.Exit(2)
	}
}
