package page

// What a death came from, of a recording (tools/postmortem/why).

// Why is why a machine has died.
type Why struct {
	Death   string // what happened and where
	Culprit string // the place that has made the value what it was; "" if that cannot be told
	Causes  []WhyCause
	// Note says that the search was not brought to its end, "" if it was.
	Note string
}

// WhyCause is a value that the death was due to.
type WhyCause struct {
	What  string
	Steps []WhyStep // the latest first
	End   string    // where the way ends
}

// WhyStep is a place on the way of a value.
type WhyStep struct {
	Before uint64 // instructions, before the death
	How    string // took it, computed it
	Value  string
	Where  string
	Source string // the text of the line, "" if it is not there
	Also   string // what it was made of besides, "" if of nothing
}

// maxWhyText bounds a text of it in bytes, maxWhySteps how many steps of a cause are shown.
const (
	maxWhyText  = 1000
	maxWhySteps = 400 // as many as tools/postmortem/why finds
)

// Shown are the steps that the page shows.
func (c WhyCause) Shown() []WhyStep { return c.Steps[:min(len(c.Steps), maxWhySteps)] }
