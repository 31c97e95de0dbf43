package demangle

import "testing"

// TestUnresolved: substitutions behind a template in an unresolved name, as c++filt has them.
func TestUnresolved(t *testing.T) {
	for name, want := range map[string]string{
		"_ZSt4swapI4PropENSt9enable_ifIXsr6__and_ISt6__not_ISt15__is_tuple_likeIT_EESt21is_move_constructibleIS4_ESt18is_move_assignableIS4_EEE5valueEvE4typeERS4_SD_": "std::enable_if<__and_<std::__not_<std::__is_tuple_like<Prop> >, std::is_move_constructible<Prop>, std::is_move_assignable<Prop> >::value, void>::type std::swap<Prop>(Prop&, Prop&)",
		"_ZN1aC1Ev":      "a::a()",
		"_ZN4sr1A3fooEv": "sr1A::foo()",
		"main":           "main",
	} {
		if got := Filter(name); got != want {
			t.Errorf("Filter(%s) = %s; want %s", name, got, want)
		}
	}
}
