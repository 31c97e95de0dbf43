// Guest is the smallest thing to boot: it never reaches Go. boot/entry_amd64.s
// says what it does.
package main

import _ "guest/kernel"

func main() {}
