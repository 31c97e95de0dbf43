package main

// No crash but the same trace, repeats times.

const repeats = 3

//go:noinline
func repeatA() { repeatB(); sink++ }

//go:noinline
func repeatB() { repeatC(depth() - shallow - 1); sink++ }

// repeatC calls itself n times more, then hits a breakpoint again and again.
//
//go:noinline
func repeatC(n int) {
	if n == 0 {
		for range repeats {
			breakpointC()
		}
		return
	}
	repeatC(n - 1)
	sink++
}
