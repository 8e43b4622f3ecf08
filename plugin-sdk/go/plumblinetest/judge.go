package plumblinetest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	plumbline "github.com/plumbline-dev/plumbline/plugin-sdk/go"
)

// Judged is the outcome of a judge for a case.
type Judged struct {
	// Tree is the tree that it read.
	Tree []plumbline.JudgedItem
	// Rulings contains the rulings in order.
	Rulings []plumbline.RuledItem
	// Checks contains the checks in order.
	Checks []plumbline.Check
	// Err is the error that the module's function returned.
	Err error
	// Log contains the lines of the log, as "level: message".
	Log []string
}

// Ruled sets the ruling of an earlier judge on the first leaf with that name.
func (c *Case) Ruled(name string, ruling plumbline.Ruling) *Case {
	c.ruled = append(c.ruled, ruled{name, ruling})
	return c
}

// Judge runs a judge. The results are its tree (those with the empty name are from a summarizer),
// and the files are its evidence. Depths determine which items are leaves. If a ruling or a check
// breaks a rule, where the host would end the call, the test fails.
func (c *Case) Judge(t testing.TB, role plumbline.JudgeFunc) Judged {
	t.Helper()
	judged := Judged{Tree: c.tree(t)}
	stop := plumbline.CollectLog(func(level plumbline.Level, line string) {
		judged.Log = append(judged.Log, fmt.Sprintf("%s: %s", level, line))
	})
	defer stop()
	files := make([]*plumbline.File, len(c.files))
	for index, file := range c.files {
		files[index] = c.file(file)
	}
	// Use small batches, so that a module sees more than one.
	given := 0
	tree := plumbline.NewTree(func(limit uint32) ([]plumbline.JudgedItem, error) {
		rest := judged.Tree[given:]
		if len(rest) == 0 && c.broken != "" {
			return nil, errors.New(c.broken)
		}
		batch := rest[:min(len(rest), int(limit), 3)]
		given += len(batch)
		return batch, nil
	})
	out := plumbline.NewRulings(
		func(rulings []plumbline.RuledItem) { judged.Rulings = append(judged.Rulings, rulings...) },
		func(checks []plumbline.Check) { judged.Checks = append(judged.Checks, checks...) },
	)
	judged.Err = plumbline.Guarded(func() error { return role(c.info(t), tree, files, out) })
	out.Flush()
	if problem := judged.broken(given); problem != "" {
		t.Fatalf("the host would end the call: %s", problem)
	}
	return judged
}

// ruled returns the ruling of an earlier judge.
type ruled struct {
	name   string
	ruling plumbline.Ruling
}

func (c *Case) tree(t testing.TB) []plumbline.JudgedItem {
	t.Helper()
	tree := make([]plumbline.JudgedItem, len(c.entries))
	for index, entry := range c.entries {
		leaf := true
		if index+1 < len(c.entries) {
			below := c.entries[index+1]
			leaf = below.Set != entry.Set || below.Item.Depth <= entry.Item.Depth
		}
		tree[index] = plumbline.JudgedItem{Index: uint64(index), Set: entry.Set, Item: entry.Item, Leaf: leaf}
	}
	for _, ruled := range c.ruled {
		judged := leafOf(tree, ruled.name)
		if judged == nil {
			t.Fatalf("no leaf of the results is called `%s`", ruled.name)
		}
		judged.Ruling = &ruled.ruling
	}
	return tree
}

func leafOf(tree []plumbline.JudgedItem, name string) *plumbline.JudgedItem {
	for index := range tree {
		if tree[index].Leaf && tree[index].Item.Name == name {
			return &tree[index]
		}
	}
	return nil
}

// broken returns the rule (wit/types.wit) that a ruling or a check breaks after so many items were
// read, or an empty string.
func (j Judged) broken(given int) string {
	for _, ruled := range j.Rulings {
		if ruled.Index >= uint64(given) {
			return fmt.Sprintf("item %d has a ruling, but only %d items were read", ruled.Index, given)
		}
		if judged := j.Tree[ruled.Index]; !judged.Leaf {
			return fmt.Sprintf("item %d (`%s`) has a ruling, but is not a leaf", ruled.Index, judged.Item.Name)
		}
		class := ruled.Ruling.Class
		if class == "" || len(class) > plumbline.MaxClass || strings.Trim(class, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			return fmt.Sprintf("the class `%s` of item %d is invalid", class, ruled.Index)
		}
	}
	seen := map[string]bool{}
	for _, check := range j.Checks {
		if count := utf8.RuneCountInString(check.ID); count == 0 || count > plumbline.MaxCheckID {
			return fmt.Sprintf("the id `%s` of a check is empty or longer than %d characters", check.ID, plumbline.MaxCheckID)
		}
		if seen[check.ID] {
			return fmt.Sprintf("check `%s` is reported twice", check.ID)
		}
		seen[check.ID] = true
	}
	if len(j.Checks) > plumbline.MaxChecks {
		return fmt.Sprintf("there are %d checks (at most %d)", len(j.Checks), plumbline.MaxChecks)
	}
	return ""
}

// Ruling returns this judge's last ruling on the first leaf with that name, or nil.
func (j Judged) Ruling(name string) *plumbline.Ruling {
	if judged := leafOf(j.Tree, name); judged != nil {
		return j.last(judged.Index)
	}
	return nil
}

func (j Judged) last(index uint64) (last *plumbline.Ruling) {
	for at := range j.Rulings {
		if j.Rulings[at].Index == index {
			last = &j.Rulings[at].Ruling
		}
	}
	return last
}

// Check returns the check with that ID, or nil.
func (j Judged) Check(id string) *plumbline.Check {
	for index := range j.Checks {
		if j.Checks[index].ID == id {
			return &j.Checks[index]
		}
	}
	return nil
}

// Outline returns a line "set/name: class, counts: reason" (or "excused") for each item with a
// ruling, then a line "id: outcome" for each check. It is short enough to compare in a test.
func (j Judged) Outline() string {
	var lines strings.Builder
	for _, judged := range j.Tree {
		ruling := j.last(judged.Index)
		if ruling == nil {
			continue
		}
		counts := "excused"
		if ruling.Counts {
			counts = "counts"
		}
		fmt.Fprintf(&lines, "%s/%s: %s, %s: %s\n", judged.Set, judged.Item.Name, ruling.Class, counts, ruling.Reason)
	}
	for _, check := range j.Checks {
		fmt.Fprintf(&lines, "%s: %s\n", check.ID, check.Outcome)
	}
	return lines.String()
}
