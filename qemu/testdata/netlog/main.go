// Netlog says to the console what its standard input tells it to, line by line, and ends
// with the last one.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

func main() {
	fmt.Println("netlog is there")
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		switch what, text, _ := strings.Cut(in.Text(), " "); what {
		case "out":
			fmt.Println(text)
		case "err":
			fmt.Fprintln(os.Stderr, text)
		case "many":
			for i := range 300 {
				fmt.Printf("line %d of many, with a \ttab and ü\n", i)
			}
			fmt.Println(strings.Repeat("0123456789", 250))
			fmt.Print("10 %\r20 %\r\n\nno end")
		case "end":
			os.Exit(3)
		}
	}
}
