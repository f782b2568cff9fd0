package guest

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var drawnWords = rapid.SliceOfN(rapid.StringOfN(rapid.RuneFrom([]rune("ab= \t'\"\\$%{}nté")), 0, 8, -1), 0, 4)

// Whatever a unit quotes, its program gets as it was meant: any list of words, quoted, is split into itself.
func TestQuotedWordsComeBack(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		words := drawnWords.Draw(r, "words")
		quote := rapid.SampledFrom([]string{`"`, `'`}).Draw(r, "quote")
		var quoted []string
		for _, w := range words {
			quoted = append(quoted, quote+strings.NewReplacer(`\`, `\\`, quote, `\`+quote).Replace(w)+quote)
		}
		line := strings.Join(quoted, rapid.SampledFrom([]string{" ", "\t", "  "}).Draw(r, "blank"))
		if got, err := splitWords(line); err != nil || !slices.Equal(got, words) {
			r.Fatalf("%s was split into %q, want %q (%v)", line, got, words, err)
		}
	})
}

// A dollar or a percent sign that is doubled stands for itself: nothing of the environment gets into such a word, and no word is lost.
func TestDoubledSignsStandForThemselves(t *testing.T) {
	env := map[string]string{"a": "leaked", "b": "leaked leaked", "": "leaked"}
	rapid.Check(t, func(r *rapid.T) {
		words := drawnWords.Draw(r, "words")
		var doubled []string
		for _, w := range words {
			doubled = append(doubled, strings.NewReplacer("$", "$$", "%", "%%").Replace(w))
		}
		if got, err := expand(doubled, "u.service", "host", env); err != nil || !slices.Equal(got, words) {
			r.Fatalf("%q was expanded into %q, want %q (%v)", doubled, got, words, err)
		}
	})
}
