package module

import "testing"

func TestGood(t *testing.T) {}

func TestTable(t *testing.T) {
	for _, name := range []string{"one", "one/more", "two", "three"} {
		t.Run(name, func(t *testing.T) {
			if name == "two" {
				t.Error("it is two")
			}
		})
	}
}

func TestSkipped(t *testing.T) { t.Skip("not today") }

func FuzzGood(f *testing.F) {
	f.Add(1)
	f.Fuzz(func(t *testing.T, n int) {})
}

func FuzzBad(f *testing.F) {
	f.Add(1)
	f.Fuzz(func(t *testing.T, n int) { t.Error("it is bad") })
}
