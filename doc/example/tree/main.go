// Command tree crashes in a tree, as an example of a trace with arguments.
package main

import "os"

type node struct {
	left, right *node
	key         string
}

//go:noinline
func (n *node) insert(key string, depth int) int {
	if key == n.key {
		return depth
	}
	next := &n.left
	if key > n.key {
		next = &n.right
	}
	return (*next).insert(key, depth+1) + len(key) + depth
}

func main() {
	root := &node{key: "melon", left: &node{key: "fig"}}
	println(root.insert("apple"+os.Getenv("KIND"), 0))
}
