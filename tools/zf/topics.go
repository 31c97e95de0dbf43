package main

// `zf help TOPIC`: the chapters are in zf, so that they are those of its version and there
// without a network.

import (
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/zeroframe/zeroframe/doc"
	"github.com/zeroframe/zeroframe/tools/format/terminal"
)

// helpTopics returns the names of the chapters, in their order.
func helpTopics() []string {
	names, err := fs.Glob(doc.Chapters, "*.md")
	if err != nil {
		panic(err) // the pattern is right
	}
	topics := []string{"kernel"}
	for _, n := range names {
		if n != "README.md" {
			topics = append(topics, strings.TrimSuffix(n, ".md"))
		}
	}
	return topics
}

// showTopic prints a chapter, named with or without .md, or the list of all. It reports
// whether there is such a one.
func showTopic(name string, w io.Writer) bool {
	if name == "topics" {
		fmt.Fprint(w, "The chapters, each by zf help TOPIC:\n\n")
		for _, t := range helpTopics() {
			title := "the kernel's options"
			if t != "kernel" {
				title = titleOf(t)
			}
			if find(t) != nil {
				t += ".md" // without, it is the command
			}
			fmt.Fprintf(w, "  %-15s %s\n", t, title)
		}
		return true
	}
	text, err := fs.ReadFile(doc.Chapters, strings.TrimSuffix(name, ".md")+".md")
	if err != nil {
		return false
	}
	io.WriteString(w, terminal.Markdown(string(text), columns))
	return true
}

// titleOf returns a chapter's first heading.
func titleOf(topic string) string {
	text, _ := fs.ReadFile(doc.Chapters, topic+".md")
	first, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimPrefix(first, "# ")
}
