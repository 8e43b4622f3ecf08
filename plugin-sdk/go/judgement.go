package plumbline

import "iter"

const (
	// MaxClass is the bytes of Ruling.Class at most; the host ends the call at a longer one.
	MaxClass = 64
	// MaxJudgeText is the bytes of every other text of a Ruling or Check but Check.ID; a longer one is cut.
	MaxJudgeText = 4 << 10
	// MaxCheckID is the characters of Check.ID at most; the host ends the call at a longer one.
	MaxCheckID = 64
	// MaxChecks is the checks of one call at most; the host ends the call at one more.
	MaxChecks = 10_000

	// judgeBatch is the items asked of the host at once, and the rulings or checks handed over at once.
	judgeBatch = 256
)

// Ruling is what is said of one item.
type Ruling struct {
	// Class is one word, or a few with `-` between them, such as "known-failure", "flaky": 1 to 64 of the characters a-z, 0-9 and `-`.
	Class string
	// Counts says whether the item counts as a failure. Without a ruling, items that failed or timed out do, and no others.
	Counts bool
	// Reason says why, as a sentence for a person.
	Reason string
	// Source says where the judge has it from: the entry of a list, an archive, the address of an issue. May be empty.
	Source string
}

// JudgedItem is an item of the finished tree, and what was said of it so far.
type JudgedItem struct {
	// Index is its number in the tree: what a ruling names it by.
	Index uint64
	// Set is the node's name, or "global"; empty for what a summarizer added.
	Set string
	// Item has a status in any case. Structures in its Details are json.RawMessage.
	Item Item
	// Leaf says whether it has no children: only then it can be ruled on.
	Leaf bool
	// Ruling is what an earlier judge of the chain said; nil for nothing.
	Ruling *Ruling
}

// IsFailure says whether it is a leaf that failed or timed out: what counts as a failure while nobody says otherwise.
func (j JudgedItem) IsFailure() bool {
	return j.Leaf && (j.Item.Status == Failed || j.Item.Status == Timeout)
}

// Tree is the finished tree of a plugin, to be read once.
type Tree struct {
	next func(max uint32) ([]JudgedItem, error)
}

// NewTree is for harnesses of one's own; package plumblinetest has one ready. next gives at most max items; none at the end.
func NewTree(next func(max uint32) ([]JudgedItem, error)) *Tree { return &Tree{next} }

// All are the items, in the order of Results.All; then those of the summarizer. The last pair has an error when the rest could not be read.
func (tree *Tree) All() iter.Seq2[JudgedItem, error] {
	return func(yield func(JudgedItem, error) bool) {
		for {
			batch, err := tree.next(judgeBatch)
			if err != nil {
				yield(JudgedItem{}, err)
				return
			}
			for _, judged := range batch {
				if !yield(judged, nil) {
					return
				}
			}
			if len(batch) == 0 {
				return
			}
		}
	}
}

// Check is one numbered requirement on the results as a whole.
type Check struct {
	// ID is what it is referred to by, such as "PODS-001": 1 to 64 characters, unique within one call.
	ID string
	// Name is what is required, in a few words.
	Name string
	// Outcome is Passed or Failed. Anything else is Unknown: it could not be evaluated, Reason says why, and the plugin does not pass.
	Outcome Status
	// Want is what was wanted, such as ">= 98 %".
	Want string
	// Got is what was found, such as "96.4 % (27 of 28)".
	Got string
	// Reason is what else a person must know; may be empty.
	Reason string
}

// RuledItem is a ruling with the number of its item.
type RuledItem struct {
	Index  uint64
	Ruling Ruling
}

// Rulings takes rulings and checks, and hands them to the host in batches.
type Rulings struct {
	rulings []RuledItem
	checks  []Check
	rule    func([]RuledItem)
	report  func([]Check)
}

// NewRulings is for harnesses of one's own; package plumblinetest has one ready. The functions must not keep their slices.
func NewRulings(rule func([]RuledItem), report func([]Check)) *Rulings {
	return &Rulings{rule: rule, report: report}
}

// Rule says something of the item of that number, also when the tree has been read to its end. A later ruling takes the place of an earlier
// one, also of one of an earlier judge. Only leaves that were read can be ruled on: anything else ends the call, and the host keeps what came
// before.
func (r *Rulings) Rule(index uint64, ruling Ruling) {
	ruling.Class = clean(ruling.Class, 0)
	ruling.Reason = clean(ruling.Reason, MaxJudgeText)
	ruling.Source = clean(ruling.Source, MaxJudgeText)
	r.rulings = append(r.rulings, RuledItem{index, ruling})
	if len(r.rulings) >= judgeBatch {
		r.Flush()
	}
}

// Report reports a check, in the order in which a person is to see them.
func (r *Rulings) Report(check Check) {
	check.ID = clean(check.ID, 0)
	for _, text := range []*string{&check.Name, &check.Want, &check.Got, &check.Reason} {
		*text = clean(*text, MaxJudgeText)
	}
	if check.Outcome != Passed && check.Outcome != Failed {
		check.Outcome = Unknown
	}
	r.checks = append(r.checks, check)
	if len(r.checks) >= judgeBatch {
		r.Flush()
	}
}

// Flush hands over what has gathered. Happens by itself when a batch is full and at the end of the call.
func (r *Rulings) Flush() {
	rulings, checks := r.rulings, r.checks
	// First, so that a batch that the host refuses is not sent again at the end of the call.
	r.rulings, r.checks = r.rulings[:0], r.checks[:0]
	if len(rulings) > 0 {
		r.rule(rulings)
		clear(rulings)
	}
	if len(checks) > 0 {
		r.report(checks)
		clear(checks)
	}
}
