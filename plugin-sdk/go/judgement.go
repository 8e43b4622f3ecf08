package plumbline

import "iter"

const (
	// MaxClass is the most bytes of Ruling.Class. The host ends the call at a longer one.
	MaxClass = 64
	// MaxJudgeText is the most bytes of every other text of a Ruling or Check except Check.ID. A
	// longer one is cut.
	MaxJudgeText = 4 << 10
	// MaxCheckID is the most characters of Check.ID. The host ends the call at a longer one.
	MaxCheckID = 64
	// MaxChecks is the most checks of one call. The host ends the call at one more.
	MaxChecks = 10_000

	// judgeBatch is how many items are requested from the host at once, and how many rulings or
	// checks are sent at once.
	judgeBatch = 256
)

// Ruling is what a judge decides about one leaf.
type Ruling struct {
	// Class is a word such as "known-failure" or "flaky": 1 to 64 of the characters a-z, 0-9 and
	// `-`.
	Class string
	// Counts is whether the leaf counts as a failure. Without a ruling, leaves that failed or timed
	// out count, and no others.
	Counts bool
	// Reason is the reason, as a sentence for people.
	Reason string
	// Source is the source of the ruling: the entry of a list, an archive, the URL of an issue. It
	// may be empty.
	Source string
}

// JudgedItem is an item of the finished tree, with the ruling of an earlier judge.
type JudgedItem struct {
	// Index is its number in the tree, which a ruling refers to.
	Index uint64
	// Set is the name of the node, or "global". It is empty if a summarizer added the item.
	Set string
	// Item always has a status. Structures in its Details are json.RawMessage.
	Item Item
	// Leaf is whether it has no children. A ruling needs a leaf.
	Leaf bool
	// Ruling is the ruling of an earlier judge in the chain, or nil.
	Ruling *Ruling
}

// IsFailure reports whether it is a leaf that failed or timed out. Such leaves count unless a
// ruling excuses them.
func (j JudgedItem) IsFailure() bool {
	return j.Leaf && (j.Item.Status == Failed || j.Item.Status == Timeout)
}

// Tree is the finished tree of a plugin. It can be read once.
type Tree struct {
	next func(max uint32) ([]JudgedItem, error)
}

// NewTree returns a tree for a test harness, such as package plumblinetest. next returns at most
// max items, and none at the end.
func NewTree(next func(max uint32) ([]JudgedItem, error)) *Tree { return &Tree{next} }

// All iterates over the items in the order of Results.All, then those of the summarizer. If the
// rest cannot be read, the last pair has an error.
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

// Check is a requirement on the results as a whole.
type Check struct {
	// ID identifies it, such as "PODS-001": 1 to 64 characters, unique within one call.
	ID string
	// Name is what is required, in a few words.
	Name string
	// Outcome is Passed or Failed. Anything else is Unknown: it could not be evaluated for the
	// given Reason, and the plugin does not pass.
	Outcome Status
	// Want is what was wanted, such as ">= 98 %".
	Want string
	// Got is what was found, such as "96.4 % (27 of 28)".
	Got string
	// Reason is an explanation for people. It may be empty.
	Reason string
}

// RuledItem is a ruling with the number of its item.
type RuledItem struct {
	Index  uint64
	Ruling Ruling
}

// Rulings receives rulings and checks, and sends them to the host in batches.
type Rulings struct {
	rulings []RuledItem
	checks  []Check
	rule    func([]RuledItem)
	report  func([]Check)
}

// NewRulings returns rulings for a test harness, such as package plumblinetest. The functions must
// not keep their slices.
func NewRulings(rule func([]RuledItem), report func([]Check)) *Rulings {
	return &Rulings{rule: rule, report: report}
}

// Rule rules on the item with that number, also after the end of the tree. It replaces an earlier
// ruling, also one of an earlier judge. The item must be a leaf that was read. Any other ruling
// ends the call, and the host keeps the rulings before it.
func (r *Rulings) Rule(index uint64, ruling Ruling) {
	ruling.Class = clean(ruling.Class, 0)
	ruling.Reason = clean(ruling.Reason, MaxJudgeText)
	ruling.Source = clean(ruling.Source, MaxJudgeText)
	r.rulings = append(r.rulings, RuledItem{index, ruling})
	if len(r.rulings) >= judgeBatch {
		r.Flush()
	}
}

// Report reports a check. Checks are shown in this order.
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

// Flush sends the pending rulings and checks. The SDK does this when a batch is full and at the end
// of the call.
func (r *Rulings) Flush() {
	rulings, checks := r.rulings, r.checks
	// Clear the batch first, so that one that the host rejects is not sent again at the end of the
	// call.
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
