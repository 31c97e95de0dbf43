package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestTopics: each chapter can be read by zf help, in 80 columns but for its examples.
func TestTopics(t *testing.T) {
	files, err := filepath.Glob("../../doc/*.md")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d chapters, %v", len(files), err)
	}
	_, list, _ := zf(nil, "help", "topics")
	for _, file := range files {
		name := filepath.Base(file)
		topic := strings.TrimSuffix(name, ".md")
		if topic == "README" {
			continue
		}
		if !strings.Contains(list, "\n  "+topic) {
			t.Errorf("zf help topics does not name %s", topic)
		}
		args := []string{"help", topic}
		if find(topic) != nil {
			if _, stdout, _ := zf(nil, "help", topic); !strings.HasSuffix(stdout, "The chapter: zf help "+name+"\n") {
				t.Errorf("zf help %s does not name the chapter", topic)
			}
			args[1] = name
		}
		code, stdout, stderr := zf(nil, args...)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		title, _, _ := strings.Cut(strings.TrimPrefix(string(text), "# "), "\n")
		if code != exitOK || stderr != "" || !strings.HasPrefix(stdout, strings.ToUpper(title)+"\n") {
			t.Errorf("zf %q = %d, %.40q, %q; want the chapter", args, code, stdout, stderr)
		}
		for line := range strings.Lines(stdout) {
			if line = strings.TrimSuffix(line, "\n"); !strings.HasPrefix(line, "    ") && utf8.RuneCountInString(line) > 80 {
				t.Errorf("zf %q: a line of %d columns: %s", args, utf8.RuneCountInString(line), line)
			}
			if strings.HasPrefix(line, "```") || strings.Contains(line, "](") && !strings.HasPrefix(line, "    ") {
				t.Errorf("zf %q shows Markdown: %s", args, line)
			}
		}
	}
	if code, _, stderr := zf(nil, "help", "profles"); code != exitUsage || !strings.Contains(stderr, "did you mean profile") {
		t.Errorf("zf help profles = %d, %q; want what was meant", code, stderr)
	}
}
