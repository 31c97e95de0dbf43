package main

// `zf completion`: a shell's script that completes commands, flags, their values where there is
// a list of them, topics of help, and files. It is made of the commands' own flag sets, so that
// a new flag is in it by itself.

import (
	"bytes"
	_ "embed"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/qemu"
)

const completionText = `Completion prints a script for a shell, with which TAB completes commands,
flags, their values, topics of help, and files. So:

  bash   source <(zf completion bash)       in ~/.bashrc
  zsh    source <(zf completion zsh)        in ~/.zshrc, behind compinit
  fish   zf completion fish | source        in ~/.config/fish/config.fish`

// runCompletion runs `zf completion`.
func runCompletion(args []string, _ io.Reader, stdout, stderr io.Writer) int {
	fs := newFlags("completion", "bash|zsh|fish", completionText, stderr)
	of := fs.String("flags", "", "print the flags of `COMMAND` alone: the scripts ask so for those of\ncommands that are programs of their own")
	if code, ok := parse(fs, args); !ok {
		return code
	}
	fail := failing("zf completion", stderr)
	if *of != "" {
		c := find(*of)
		if c == nil {
			return fail("unknown command %q%s; `zf -h` lists them", *of, meant(*of, "", commandNames()))
		}
		for _, f := range flagsOf(c) {
			fmt.Fprintln(stdout, "-"+f.name)
		}
		return exitOK
	}
	shells := map[string]func(io.Writer){"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}
	if fs.NArg() != 1 || shells[fs.Arg(0)] == nil {
		return fail("want one of bash, zsh and fish; `zf help completion` says what to do with it")
	}
	shells[fs.Arg(0)](stdout)
	return exitOK
}

// flagWord is a flag as a shell wants to know it.
type flagWord struct {
	name  string
	help  string // the first line
	value bool   // a value follows
}

// flagCollector is an output on which a flag set's usage puts its flags in place of text.
type flagCollector struct {
	flags []flagWord
	text  bytes.Buffer // what was written all the same
}

func (c *flagCollector) Write(p []byte) (int, error) { return c.text.Write(p) }

func (c *flagCollector) add(f *flag.Flag) {
	_, help := flag.UnquoteUsage(f)
	first, _, _ := strings.Cut(help, "\n")
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	c.flags = append(c.flags, flagWord{f.Name, first, !ok || !b.IsBoolFlag()})
}

// separate are the commands that are programs of their own; to ask them takes a while.
var separate = []string{"receive"}

// flagsOf returns the flags of a command: by its own -h, which stops in front of the flag
// set's text. Commands that take a command line apart by themselves have only the text.
func flagsOf(c *command) []flagWord {
	var got flagCollector
	c.run([]string{"-h"}, nil, &got, &got)
	if got.flags == nil {
		for line := range strings.Lines(got.text.String()) {
			words := strings.Fields(line)
			if !strings.HasPrefix(line, "  -") {
				continue
			}
			for _, w := range words[:min(2, len(words))] {
				name, _, _ := strings.Cut(strings.TrimRight(w, ","), "=")
				if strings.HasPrefix(name, "-") {
					got.flags = append(got.flags, flagWord{name: name[1:]})
				}
			}
		}
	}
	return got.flags
}

// flagValues are the values of flags, where there is a list.
func flagValues() map[string][]string {
	return map[string][]string{"accel": qemu.Accels, "net": qemu.NetModels()}
}

// completed is what a script knows of a command.
func completed(c command) (flags []flagWord, asked bool) {
	if slices.Contains(separate, c.name) {
		return nil, true
	}
	return flagsOf(&c), false
}

// dashed joins flags' names for a shell.
func dashed(flags []flagWord) string {
	var names []string
	for _, f := range flags {
		names = append(names, "-"+f.name)
	}
	return strings.Join(names, " ")
}

// topics are the words that may follow `zf help`.
func topics() []string { return append(commandNames(), helpTopics()...) }

func bashCompletion(w io.Writer) {
	fmt.Fprintf(w, `# zf's completion for bash, made by: zf completion bash
_zf() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words
	COMPREPLY=()
	if [ "$COMP_CWORD" -eq 1 ]; then
		COMPREPLY=($(compgen -W '%s' -- "$cur"))
		return
	fi
	case $prev in
`, strings.Join(commandNames(), " "))
	values := flagValues()
	for _, name := range sortedKeys(values) {
		fmt.Fprintf(w, "\t-%s) COMPREPLY=($(compgen -W '%s' -- \"$cur\")); return ;;\n", name, strings.Join(values[name], " "))
	}
	fmt.Fprintf(w, `	esac
	case ${COMP_WORDS[1]}:$cur in
	help:*) words='%s' ;;
`, strings.Join(topics(), " "))
	for _, c := range commands() {
		flags, asked := completed(c)
		list := "'" + dashed(flags) + "'"
		if asked {
			list = fmt.Sprintf(`"$(zf completion -flags %s 2>/dev/null)"`, c.name)
		}
		fmt.Fprintf(w, "\t%s:-*) words=%s ;;\n", c.name, list)
	}
	fmt.Fprint(w, `	completion:*) words='bash zsh fish' ;;
	*) COMPREPLY=($(compgen -f -- "$cur")); return ;;
	esac
	COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o filenames -F _zf zf
`)
}

func zshCompletion(w io.Writer) {
	fmt.Fprint(w, "#compdef zf\n# zf's completion for zsh, made by: zf completion zsh\n_zf() {\n\tlocal -a words_of\n\tif (( CURRENT == 2 )); then\n\t\twords_of=(\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "\t\t\t%s\n", quoted(c.name+":"+strings.ReplaceAll(c.short, ":", `\:`)))
	}
	fmt.Fprintf(w, "\t\t\t%s\n\t\t)\n\t\t_describe command words_of\n\t\treturn\n\tfi\n\tcase $words[CURRENT-1] in\n", quoted("help:say more of a command or a topic"))
	values := flagValues()
	for _, name := range sortedKeys(values) {
		fmt.Fprintf(w, "\t-%s) compadd -- %s; return ;;\n", name, strings.Join(values[name], " "))
	}
	fmt.Fprintf(w, "\tesac\n\tcase $words[2]:$PREFIX in\n\thelp:*) compadd -- %s; return ;;\n", strings.Join(topics(), " "))
	for _, c := range commands() {
		flags, asked := completed(c)
		list := ""
		for _, f := range flags {
			list += " " + quoted("-"+f.name+":"+strings.ReplaceAll(f.help, ":", `\:`))
		}
		if asked {
			list = fmt.Sprintf(` ${(f)"$(zf completion -flags %s 2>/dev/null)"}`, c.name)
		}
		fmt.Fprintf(w, "\t%s:-*) words_of=(%s) ;;\n", c.name, strings.TrimSpace(list))
	}
	fmt.Fprint(w, "\tcompletion:*) compadd -- bash zsh fish; return ;;\n\t*) _files; return ;;\n\tesac\n\t_describe -o flag words_of\n}\ncompdef _zf zf\n")
}

func fishCompletion(w io.Writer) {
	fmt.Fprint(w, "# zf's completion for fish, made by: zf completion fish\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "complete -c zf -f -n __fish_use_subcommand -a %s -d %s\n", c.name, quoted(c.short))
	}
	fmt.Fprintf(w, "complete -c zf -f -n __fish_use_subcommand -a help -d %s\n", quoted("say more of a command or a topic"))
	fmt.Fprintf(w, "complete -c zf -f -n '__fish_seen_subcommand_from help' -a %s\n", quoted(strings.Join(topics(), " ")))
	fmt.Fprint(w, "complete -c zf -f -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish'\n")
	values := flagValues()
	for _, c := range commands() {
		in := quoted("__fish_seen_subcommand_from " + c.name)
		flags, asked := completed(c)
		if asked {
			fmt.Fprintf(w, "complete -c zf -n %s -a '(string match -e -- - (commandline -ct) >/dev/null; and zf completion -flags %s 2>/dev/null)'\n", in, c.name)
		}
		for _, f := range flags {
			line := fmt.Sprintf("complete -c zf -n %s -o %s", in, f.name)
			switch {
			case values[f.name] != nil:
				line += " -x -a " + quoted(strings.Join(values[f.name], " "))
			case f.value:
				line += " -r"
			}
			if f.help != "" {
				line += " -d " + quoted(f.help)
			}
			fmt.Fprintln(w, line)
		}
	}
}

// quoted puts a text into single quotes, as all three shells have them.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'"'"'`) + "'" }

func sortedKeys[V any](m map[string]V) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
