package page

// Limits of a page. A report of one death is far below them; they are for logs of days,
// and for hostile ones.
const (
	// firstTraces and lastTraces are how many traces are shown: those between are only
	// counted.
	firstTraces = 100
	lastTraces  = 100
	// maxFrames is how many frames of a trace are shown: most of them from the inner end,
	// lastFrames from the outer.
	maxFrames  = 160
	lastFrames = 32
	// pageFrames is how many frames are shown in all; a trace has fewFrames at least.
	pageFrames = 6000
	fewFrames  = 4
	// maxWords is how many words of memory of a trace are shown, pageWords how many in all.
	maxWords  = 128
	pageWords = 8000
	// pageStacks is how many stacks are shown in all.
	pageStacks = 2500
	// pageEvents is how many of the events of CPUs are shown in all, maxTimeEvents how many of a
	// trace.
	pageEvents    = 6000
	maxTimeEvents = 128
	// maxTimeRows is how many threads have a row of their own there.
	maxTimeRows = 12
	// pageSource is how many bytes of source are shown in all.
	pageSource = 1 << 20
	// maxName is the longest name, maxReason the longest reason, in characters.
	maxName   = 300
	maxReason = 2000

	// firstLines, lastLines, firstBytes and lastBytes bound the log, in lines and bytes,
	// at its two ends.
	firstLines = 1000
	lastLines  = 3000
	firstBytes = 64 << 10
	lastBytes  = 192 << 10
	// maxColumns is the longest line of a log in bytes: the rest of it is left out.
	maxColumns = 1000
	// beforeLines is how many lines that came before a trace stand beside it.
	beforeLines = 60
	// pageBefore is how many bytes of such lines are shown in all.
	pageBefore = 512 << 10

	// maxRecords is how many profiles and how many snapshots are shown: the latest.
	maxRecords = 8
	// maxBoxes is how many calls a flame graph has.
	maxBoxes = 3000
	// maxGroups is how many stacks of a kind of resource are shown, maxKeys how many
	// keys of one stack, maxHandleFrames how many frames of it.
	maxGroups       = 20
	maxKeys         = 20
	maxHandleFrames = 24
	// maxKinds is how many kinds of resources, maxEvents how many events.
	maxKinds  = 64
	maxEvents = 100
)

// maxFinding bounds a sentence about who waits for whom, in bytes: a ring of a hundred.
const maxFinding = 16 << 10
