package foreign

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestJSONTexts: the strings of an object are found, without its names and with their escapes
// taken out.
func TestJSONTexts(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want []string
		ok   bool
	}{
		{`{"log":"one line of it\n","stream":"stderr"}`, []string{"one line of it"}, true},
		{`{"a":{"text":"a\tb\"c\\d\u0041\/e"},"b":[1,"another text",true,null,-1.5e3]}`, []string{"a\tb\"c\\dA/e", "another text"}, true},
		{`{"MESSAGE":[97,98,99,100,101,102,103,104,105]}`, []string{"abcdefghi"}, true},
		{`{"MESSAGE":[97,98,99,100,101,102,103,104,256]}`, nil, true},
		{`{"a":"unfinished text`, nil, false},
		{`{"a":"a text of it"]`, nil, false},
		{`{"a":"a text of it"} x`, nil, false},
		{`{is no object}`, nil, false},
		{strings.Repeat("{\"a\":", 100) + strings.Repeat("}", 100), nil, false},
	} {
		got, ok := jsonTexts(tt.in)
		if ok != tt.ok || ok && !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, %v; want %q, %v", tt.in, got, ok, tt.want, tt.ok)
		}
	}
}

// FuzzJSONTexts: of what encoding/json takes for an object, the strings are those that it has.
func FuzzJSONTexts(f *testing.F) {
	for _, s := range []string{
		`{"log":"    #0 0x55 (/tmp/x+0x1)\n","stream":"stderr"}`, `{"a":{"b":["a\u00e9\\text", 1]}}`, `{"MESSAGE":[97,98,99,100,101,102,103,104]}`, `{"a":"\ud83d\ude00 text"}`, `{"a":"\"`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := jsonTexts(s)
		var v map[string]any
		if !utf8.ValidString(s) || json.Unmarshal([]byte(s), &v) != nil || strings.ContainsAny(s, `\[`) {
			return
		}
		depth, most := 0, 0
		for _, c := range s {
			if c == '{' {
				depth++
			} else if c == '}' {
				depth--
			}
			most = max(most, depth)
		}
		if !ok && most <= 64 && strings.HasPrefix(strings.TrimLeft(s, " \t\r\n"), "{") {
			t.Fatalf("%q is an object", s)
		}
		// Names that are there twice count once, so that these may be fewer.
		var walk func(v any)
		walk = func(v any) {
			switch v := v.(type) {
			case string:
				if len(v) >= minJSONText && ok && !slices.Contains(got, strings.TrimRight(v, "\n")) {
					t.Fatalf("%q: %q; %q is missing", s, got, v)
				}
			case map[string]any:
				for _, w := range v {
					walk(w)
				}
			}
		}
		walk(v)
	})
}
