// Hello is the smallest program that the chapters of doc boot.
package main

import "fmt"

func main() { fmt.Println("hello, bare metal") }
