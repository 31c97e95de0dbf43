// Plain is the smallest program there is. It runs on Linux and, with the kernel that
// the build adds, on a bare machine.
package main

func main() { println("hello") }
