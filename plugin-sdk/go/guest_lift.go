//go:build wasip1 && (plumbline_summarizer_module || plumbline_judge_module)

package plumbline

import (
	"encoding/json"

	contract "github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/contract/plumbline_plugin_types"
	witTypes "github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/wit/types"
)

// batchBytes is how much memory is lent for a batch of items of the tree. The host ends a batch at
// about 1 MiB of texts.
const batchBytes = 2 << 20

func lift(from contract.Item) Item {
	item := Item{Depth: int(from.Depth), Name: from.Name}
	if from.Status.Tag() == witTypes.OptionSome {
		item.Status = liftStatus(from.Status.Some())
	}
	if len(from.Meta) > 0 {
		item.Meta = make(Meta, len(from.Meta))
		for _, fact := range from.Meta {
			item.Meta[fact.F0] = fact.F1
		}
	}
	if len(from.Details) > 0 {
		item.Details = make(Details, len(from.Details))
		for _, detail := range from.Details {
			if detail.F1.Tag() == contract.DetailJson {
				item.Details[detail.F0] = json.RawMessage(detail.F1.Json())
			} else {
				item.Details[detail.F0] = detail.F1.Text()
			}
		}
	}
	return item
}

func liftStatus(status contract.Status) Status {
	switch status.Tag() {
	case contract.StatusPassed:
		return Passed
	case contract.StatusFailed:
		return Failed
	case contract.StatusSkipped:
		return Skipped
	case contract.StatusTimeout:
		return Timeout
	case contract.StatusCustom:
		return Status(status.Custom())
	default:
		return Unknown
	}
}
