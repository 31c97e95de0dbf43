// Environment says, as JSON, what it finds around itself, and exits with the status that
// the variable STATUS has.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"

	_ "github.com/zeroframe/zeroframe/kernel"
)

func main() {
	var found struct {
		Args    [][]byte
		Env     map[string]string
		Names   []string // of the variables, in order
		Dir     string
		Host    string
		Process []int // itself, its parent, user, group
	}
	for _, a := range os.Args { // any bytes, which a string in JSON is not
		found.Args = append(found.Args, []byte(a))
	}
	found.Env = map[string]string{}
	for _, e := range os.Environ() {
		name, value, _ := strings.Cut(e, "=")
		found.Env[name] = value
		found.Names = append(found.Names, name)
	}
	found.Dir, _ = os.Getwd()
	found.Host, _ = os.Hostname()
	found.Process = []int{os.Getpid(), os.Getppid(), os.Getuid(), os.Getgid()}
	js, err := json.Marshal(found)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s\n", js)
	status, _ := strconv.Atoi(os.Getenv("STATUS"))
	os.Exit(status)
}
