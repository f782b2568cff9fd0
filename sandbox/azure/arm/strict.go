package arm

import (
	"bytes"
	"encoding/json"
	"strings"
)

// strictJSON rewrites what Azure's parser takes beyond JSON and its clients send with templates: comments, and names without quotes.
func strictJSON(data []byte) []byte {
	var out bytes.Buffer
	for i := 0; i < len(data); {
		rest := data[i:]
		switch c := data[i]; {
		case c == '"':
			n := quotedLength(rest)
			out.Write(rest[:n])
			i += n
		case bytes.HasPrefix(rest, []byte("//")):
			i += until(rest, "\n")
		case bytes.HasPrefix(rest, []byte("/*")):
			i += until(rest, "*/")
		case isWord(c) && (c < '0' || c > '9') && c != '-':
			n := 1
			for n < len(rest) && isWord(rest[n]) {
				n++
			}
			word := string(rest[:n])
			if strings.HasPrefix(strings.TrimLeft(string(rest[n:]), " \t\r\n"), ":") {
				quoted, _ := json.Marshal(word) // a string always can be
				out.Write(quoted)
			} else {
				out.WriteString(word)
			}
			i += n
		default:
			out.WriteByte(c)
			i++
		}
	}
	return out.Bytes()
}

// quotedLength is the length of the string at the start, all when it has no end.
func quotedLength(data []byte) int {
	for n := 1; n < len(data); n++ {
		switch data[n] {
		case '\\':
			n++
		case '"':
			return n + 1
		}
	}
	return len(data)
}

func until(data []byte, end string) int {
	if at := bytes.Index(data, []byte(end)); at >= 0 {
		return at + len(end)
	}
	return len(data)
}

func isWord(c byte) bool {
	return c == '_' || c == '$' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
