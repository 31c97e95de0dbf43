// Hello is the smallest program on the kernel.
package main

import _ "github.com/zeroframe/zeroframe/kernel"

func main() { println("hello") }
