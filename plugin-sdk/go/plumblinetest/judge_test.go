package plumblinetest

import (
	"errors"
	"strings"
	"testing"

	plumbline "github.com/plumbline-dev/plumbline/plugin-sdk/go"
)

func suite() []plumbline.Item {
	return []plumbline.Item{
		{Name: "suite", Status: plumbline.Failed},
		{Depth: 1, Name: "a", Status: plumbline.Failed},
		{Depth: 1, Name: "b", Status: plumbline.Timeout},
		{Depth: 1, Name: "c", Status: plumbline.Passed},
	}
}

func judgedCase() *Case {
	sum := plumbline.Item{Name: "sum", Status: plumbline.Failed}
	return New().File("data/known.txt", "a\nb\nc\n").Results("n1", suite()...).Results("n2", suite()...).Results("", sum)
}

// known reads the whole tree, then excuses the names in the evidence, and counts what it read.
func known(_ plumbline.Plugin, tree *plumbline.Tree, evidence []*plumbline.File, out *plumbline.Rulings) error {
	list := map[string]bool{}
	for _, file := range evidence {
		for line, err := range file.Lines() {
			if err != nil {
				return err
			}
			list[line] = true
		}
	}
	var read []plumbline.JudgedItem
	for judged, err := range tree.All() {
		if err != nil {
			return errors.New("no more: " + err.Error())
		}
		read = append(read, judged)
	}
	for _, judged := range read {
		if judged.IsFailure() && judged.Ruling == nil && list[judged.Item.Name] {
			out.Rule(judged.Index, plumbline.Ruling{Class: "known-failure", Reason: "in " + judged.Set, Source: strings.Repeat("ü", 5000)})
		}
	}
	out.Report(plumbline.Check{ID: "READ-1", Outcome: "warning", Got: strings.Repeat("ü", len(read))})
	return nil
}

func TestAJudgeRulesOnLeavesAndReportsChecks(t *testing.T) {
	judged := judgedCase().Ruled("b", plumbline.Ruling{Class: "flaky", Counts: true}).Judge(t, known)
	want := "n1/a: known-failure, excused: in n1\nn2/a: known-failure, excused: in n2\nn2/b: known-failure, excused: in n2\nREAD-1: unknown\n"
	if judged.Outline() != want || judged.Err != nil {
		t.Errorf("got %s, %v", judged.Outline(), judged.Err)
	}
	if source := judged.Ruling("a").Source; len(source) != plumbline.MaxJudgeText || judged.Ruling("b") != nil {
		t.Errorf("a source of %d bytes", len(source))
	}
	if got := judged.Check("READ-1").Got; got != strings.Repeat("ü", 9) || judged.Tree[2].Ruling.Class != "flaky" {
		t.Errorf("got %q", got)
	}
	if judged := judgedCase().BrokenResults("the spool is gone").Judge(t, known); judged.Err == nil || len(judged.Rulings) != 0 {
		t.Errorf("got %v", judged.Err)
	}
	many := make([]plumbline.Item, 1000)
	for index := range many {
		many[index] = plumbline.Item{Name: "a", Status: plumbline.Failed}
	}
	if judged := New().File("data/known.txt", "a\n").Results("n", many...).Judge(t, known); len(judged.Rulings) != 1000 {
		t.Errorf("%d rulings", len(judged.Rulings))
	}
}

func TestWhatTheHostRefusesOfAJudgeIsNamed(t *testing.T) {
	ruled := func(index uint64, class string) Judged {
		tree := judgedCase().tree(t)
		return Judged{Tree: tree, Rulings: []plumbline.RuledItem{{Index: index, Ruling: plumbline.Ruling{Class: class}}}}
	}
	checks := func(ids ...string) (judged Judged) {
		for _, id := range ids {
			judged.Checks = append(judged.Checks, plumbline.Check{ID: id})
		}
		return judged
	}
	for _, wrong := range []struct {
		judged Judged
		given  int
		says   string
	}{
		{ruled(0, "x"), 9, "item 0 (`suite`) has a ruling, but is not a leaf"},
		{ruled(9, "x"), 9, "item 9 has a ruling, but only 9 items were read"},
		{ruled(1, "x"), 1, "but only 1 items were read"},
		{ruled(1, ""), 9, "the class `` of item 1"},
		{ruled(1, "aXb"), 9, "the class `aXb` of item 1"},
		{ruled(1, strings.Repeat("x", 65)), 9, "of item 1 is invalid"},
		{checks(""), 0, "is empty"},
		{checks(strings.Repeat("ü", 65)), 0, "longer than 64 characters"},
		{checks("A", "A"), 0, "check `A` is reported twice"},
	} {
		if got := wrong.judged.broken(wrong.given); !strings.Contains(got, wrong.says) {
			t.Errorf("got %q for %q", got, wrong.says)
		}
	}
	if got := ruled(1, "x").broken(9) + checks("A", strings.Repeat("ü", 64)).broken(0); got != "" {
		t.Errorf("got %q", got)
	}
}
