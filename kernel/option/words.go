package option

import "github.com/zeroframe/zeroframe/kernel/ascii"

// The command line is words separated by spaces; those of the form NAME=VALUE are options.
// Everything after the word "--" belongs to the program. A value in double quotes may contain
// spaces.

// Next finds the first option of that name in line, and returns its value and what
// follows it. Any context.
func Next(line []byte, name string) (value, rest []byte, ok bool) {
	for {
		word, rest, ok := NextWord(line)
		if !ok {
			return nil, nil, false
		}
		n := len(name)
		if len(word) > n && word[n] == '=' && ascii.Same(word[:n], name) {
			value = word[n+1:]
			if len(value) >= 2 && value[0] == '"' && value[len(value)-1] == '"' {
				value = value[1 : len(value)-1]
			}
			return value, rest, true
		}
		line = rest
	}
}

// NextWord returns the first word of line and what follows it. The word "--" ends the kernel's
// words: then ok is false, as at the line's end. A backslash before a quote keeps it from ending
// the quotes. Any context.
func NextWord(line []byte) (word, rest []byte, ok bool) {
	i := 0
	for i < len(line) && line[i] == ' ' {
		i++
	}
	start, quoted := i, false
	for i < len(line) && (line[i] != ' ' || quoted) {
		switch {
		case line[i] == '"':
			quoted = !quoted
		case line[i] == '\\' && quoted && i+1 < len(line):
			i++
		}
		i++
	}
	word = line[start:i]
	if len(word) == 0 || ascii.Same(word, "--") {
		return nil, line[i:], false
	}
	return word, line[i:], true
}

// Behind returns what follows the word "--" of a line. Any context.
func Behind(line []byte) []byte {
	for ok := true; ok; {
		_, line, ok = NextWord(line)
	}
	return line
}
