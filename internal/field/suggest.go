package field

import "strings"

// farthest is how many letters may be wrong in a word that was meant.
const farthest = 2

// Suggest is "; did you mean X?" for the known word that is nearest to what was typed, empty where none is near.
func Suggest(typed string, known []string) string {
	best, distance := "", farthest+1
	for _, word := range known {
		if d := editDistance(strings.ToLower(typed), strings.ToLower(word)); d < distance && d < len(word) {
			best, distance = word, d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// editDistance is the number of letters to add, remove, change or swap with their neighbour (Damerau and Levenshtein).
func editDistance(a, b string) int {
	previous, before := make([]int, len(b)+1), []int(nil)
	for j := range previous {
		previous[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			changed := previous[j-1]
			if a[i-1] != b[j-1] {
				changed++
			}
			row[j] = min(previous[j]+1, row[j-1]+1, changed)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, previous = previous, row
	}
	return previous[len(b)]
}
