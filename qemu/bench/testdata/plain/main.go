// Plain is hello without the kernel: a program for Linux.
package main

func main() { println("hello") }
