package plumbline

import (
	"encoding/json"
	"unicode/utf8"
)

// validEnd says whether the last character of text is whole.
func validEnd(text string) bool {
	last, size := utf8.DecodeLastRuneInString(text)
	return last != utf8.RuneError || size > 1
}

// EncodedDetail is a value of Details as the host gets it: JSON, and whether it is that or plain text. A value that cannot be encoded is a
// text that says so. Harnesses need it; authors do not.
func EncodedDetail(value any) (text string, isJSON bool) {
	if text, ok := value.(string); ok {
		return clean(text, 0), false
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return "cannot be shown: " + err.Error(), false
	}
	return clean(string(encoded), 0), true
}
