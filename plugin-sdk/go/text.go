package plumbline

import (
	"encoding/json"
	"unicode/utf8"
)

// validEnd reports whether the last character of text is complete.
func validEnd(text string) bool {
	last, size := utf8.DecodeLastRuneInString(text)
	return last != utf8.RuneError || size > 1
}

// EncodedDetail returns a value of Details as the host gets it, and whether it is JSON instead of
// plain text. A value that cannot be encoded becomes a text with the error. It is for test
// harnesses.
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
