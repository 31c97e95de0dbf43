package virtio

import (
	"fmt"
	"strings"
	"testing"
)

func TestAddPlace(t *testing.T) {
	defer func() { numPlaces = 0 }()
	for _, tt := range []struct {
		words string
		want  uintptr // 0: refused
	}{
		{"512@0xfeb00e00:12", 0xfeb00e00},
		{"4K@0xd0000000:5", 0xd0000000},
		{"0x1000@3489660928:5:3", 0xd0000000},
		{"4k@0xD0001000:0", 0xd0001000},
		{"1M@4G:1", 4 << 30},
		{"", 0}, {"@", 0}, {"512@", 0}, {"512@0x:1", 0}, {"@0xfeb00e00:12", 0}, {"512@0xfeb00e00", 0}, {"512 0xfeb00e00:12", 0},
		{"512@0xfeb00e0g:12", 0}, {"12ab@0xfeb00e00:12", 0},
		{"511@0xfeb00e00:12", 0},              // too small
		{"512@0xfeb00e02:12", 0},              // misaligned
		{"512@0:12", 0}, {"512@0x1000:12", 0}, // low memory
		{"512@0x800000000000:1", 0}, // not canonical
		{"512@0xffffffffffffffffff:1", 0}, {"512@99999999999999999999999:1", 0}, {"99999999999G@0xfeb00e00:12", 0},
	} {
		numPlaces = 0
		wrong := AddPlace([]byte(tt.words))
		switch {
		case tt.want == 0 && (wrong == "" || numPlaces != 0):
			t.Errorf("%q is taken as %#x", tt.words, places[0])
		case tt.want != 0 && (wrong != "" || numPlaces != 1 || places[0] != tt.want):
			t.Errorf("%q: %q, %d places, %#x; want %#x", tt.words, wrong, numPlaces, places[0], tt.want)
		}
	}
	numPlaces = 0
	for i := range maxPlaces {
		if wrong := AddPlace(fmt.Appendf(nil, "512@%#x:5", 0xfeb00000+i*512)); wrong != "" {
			t.Errorf("place %d: %s", i, wrong)
		}
	}
	if wrong := AddPlace([]byte("512@0xd0000000:5")); !strings.Contains(wrong, "32") {
		t.Errorf("one too many: %q", wrong)
	}
}

// FuzzAddPlace: whatever the words are, a device can be at the place.
func FuzzAddPlace(f *testing.F) {
	for _, s := range []string{"512@0xfeb00e00:12", "4K@0xd0000000:5:1", "0xffffffffffffffff@1g:", "1@2:3", "k@m:g"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, words []byte) {
		numPlaces = 0
		if wrong := AddPlace(words); wrong == "" {
			if p := places[0]; numPlaces != 1 || p%4 != 0 || p < 1<<20 || p >= 1<<47 {
				t.Fatalf("%q is taken as %#x", words, p)
			}
		} else if numPlaces != 0 {
			t.Fatalf("%q: %s, and taken", words, wrong)
		}
	})
}
