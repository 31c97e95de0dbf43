package terminal

import "testing"

func TestMarkdown(t *testing.T) {
	t.Parallel()
	const in = "# The title\n\nA paragraph of words,\nwith `code`, **weight** and a [link](x.md).\n\n" +
		"```sh\nzf run -very-long-line-that-is-not-filled .\n\n```\n\n- one item of\n  two lines\n- two\n\n" +
		"| a | b |\n|---|---|\n| `x\\|y` | z |\n\n| key | meaning |\n|---|---|\n| `k` | a meaning that is too long for a line |\n\n    indented\n"
	const want = "THE TITLE\n\nA paragraph of words, with\ncode, weight and a link.\n\n" +
		"    zf run -very-long-line-that-is-not-filled .\n\n\n  - one item of two lines\n  - two\n\n" +
		"  a    b\n  x|y  z\n\n  key\n      meaning\n  k\n      a meaning that is\n      too long for a line\n\n    indented\n"
	if got := Markdown(in, 26); got != want {
		t.Errorf("Markdown =\n%s\nwant\n%s", got, want)
	}
}
