package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func open(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func put(t *testing.T, s *Store, key string, d Doc) {
	t.Helper()
	if err := s.Update(func(tx *Tx) error { tx.Put(ARM, key, d); return nil }); err != nil {
		t.Fatal(err)
	}
}

func get(s *Store, key string) (d Doc) {
	s.View(func(tx *Tx) { d = tx.Get(ARM, key) })
	return d
}

// The journal is read again without Close, as after kill -9, with half a line at its end.
func TestSurvivesKill(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	put(t, s, "a", Doc{"v": "1"})
	put(t, s, "b", Doc{"v": "2"})
	put(t, s, "a", Doc{"v": "3"})
	if err := s.Update(func(tx *Tx) error { tx.Delete(ARM, "b"); return nil }); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "journal.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(f, `{"rev":9,"set":[{"t":"arm","k":"c"`)
	f.Close()

	again := open(t, dir)
	if get(again, "a")["v"] != "3" || get(again, "b") != nil || get(again, "c") != nil {
		t.Error("the state differs")
	}
	if rev, _ := again.Revision(); rev != 4 {
		t.Errorf("revision %d, want 4", rev)
	}
	put(t, again, "d", Doc{})
	if get(open(t, dir), "d") == nil {
		t.Error("a change after the torn line is lost")
	}
}

func TestFailedUpdateLeavesNothing(t *testing.T) {
	s := open(t, t.TempDir())
	put(t, s, "a", Doc{"n": Doc{"v": "1"}})
	bad := errors.New("no")
	err := s.Update(func(tx *Tx) error {
		tx.Edit(ARM, "a")["n"].(Doc)["v"] = "2"
		tx.Put(ARM, "b", Doc{})
		if len(tx.Scan(ARM, "")) != 2 {
			t.Error("a transaction does not see its own writes")
		}
		return bad
	})
	if !errors.Is(err, bad) || get(s, "b") != nil || get(s, "a")["n"].(Doc)["v"] != "1" {
		t.Error("a failed update left something", err)
	}
}

func TestCompaction(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	big := string(make([]byte, 100_000))
	for i := range 30 {
		put(t, s, "k", Doc{"v": big, "i": float64(i)})
	}
	put(t, s, "small", Doc{"v": "x"})
	if s.journal.size > compactAbove+2*600_000 {
		t.Errorf("the journal has %d bytes", s.journal.size)
	}
	again := open(t, dir)
	if get(again, "k")["i"] != float64(29) || get(again, "small") == nil {
		t.Error("compaction lost something")
	}
	r1, _ := s.Revision()
	if r2, _ := again.Revision(); r1 != r2 {
		t.Errorf("revision %d became %d", r1, r2)
	}
}

// What a transaction sees is what it would leave behind, and what it leaves is all or nothing.
func TestTransactions(t *testing.T) {
	s := open(t, t.TempDir())
	put(t, s, "b", Doc{"n": "1"})
	put(t, s, "a", Doc{"n": "2"})
	keys := func(tx *Tx, prefix string) string {
		var out []string
		for _, r := range tx.Scan(ARM, prefix) {
			out = append(out, r.Key)
		}
		each := 0
		tx.Each(ARM, func(key string, _ Doc) bool {
			if strings.HasPrefix(key, prefix) {
				each++
			}
			return true
		})
		if each != len(out) {
			t.Errorf("Scan finds %v, and Each %d", out, each)
		}
		return strings.Join(out, " ")
	}
	err := s.Update(func(tx *Tx) error {
		tx.Put(ARM, "c", Doc{})
		tx.Put(ARM, "ab", Doc{})
		tx.Put(ARM, "b", Doc{"n": "3"})
		if got := keys(tx, ""); got != "b a c ab" { // in the order in which they came, written again or not
			t.Errorf("inside: %s", got)
		}
		if got := keys(tx, "a"); got != "a ab" {
			t.Errorf("inside, by a prefix: %s", got)
		}
		tx.Delete(ARM, "a")
		tx.Delete(ARM, "c")
		tx.Delete(ARM, "none")
		if tx.Get(ARM, "a") != nil || tx.Edit(ARM, "a") != nil || tx.Edit(ARM, "none") != nil || tx.Get(Blobs, "b") != nil {
			t.Error("what was deleted is there, or what is in another table")
		}
		tx.Put(ARM, "a", Doc{"n": "4"}) // made again: it is the youngest
		tx.Edit(ARM, "a")["n"] = "5"
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s.View(func(tx *Tx) {
		if got := keys(tx, ""); got != "b ab a" {
			t.Errorf("afterwards: %s", got)
		}
		if tx.Get(ARM, "a")["n"] != "5" || tx.Get(ARM, "b")["n"] != "3" {
			t.Error("the last word does not count")
		}
	})
	stopped := 0
	s.View(func(tx *Tx) { tx.Each(ARM, func(string, Doc) bool { stopped++; return false }) })
	if stopped != 1 {
		t.Errorf("Each goes on %d times after it was told to stop", stopped)
	}
}

// Who waits for a change hears of the next one, and only of one.
func TestRevisions(t *testing.T) {
	s := open(t, t.TempDir())
	before, changed := s.Revision()
	if err := s.Update(func(*Tx) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if err := s.Update(func(tx *Tx) error { tx.Delete(ARM, "none"); tx.Edit(ARM, "none"); return nil }); err != nil {
		t.Fatal(err)
	}
	select {
	case <-changed:
		t.Error("nothing has changed")
	default:
	}
	put(t, s, "a", Doc{})
	select {
	case <-changed:
	default:
		t.Error("a change is not told")
	}
	if after, _ := s.Revision(); after != before+1 {
		t.Errorf("revision %d after %d", after, before)
	}
}

// A document in the store is changed by nobody who has it: neither by who put it nor by who reads it.
func TestDocumentsAreKeptApart(t *testing.T) {
	s := open(t, t.TempDir())
	put(t, s, "a", Doc{"in": Doc{"v": "1"}, "list": []any{Doc{"v": "1"}}})
	seen := get(s, "a")
	if err := s.Update(func(tx *Tx) error {
		d := tx.Edit(ARM, "a")
		d["in"].(Doc)["v"] = "2"
		d["list"].([]any)[0].(Doc)["v"] = "2"
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if seen["in"].(Doc)["v"] != "1" || seen["list"].([]any)[0].(Doc)["v"] != "1" {
		t.Error("a change reaches those who read before it")
	}
	if now := get(s, "a"); now["in"].(Doc)["v"] != "2" || now["list"].([]any)[0].(Doc)["v"] != "2" {
		t.Error("a change deep inside is lost")
	}
	defer func() {
		if recover() == nil {
			t.Error("a view writes")
		}
	}()
	s.View(func(tx *Tx) { tx.Put(ARM, "b", Doc{}) })
}

// A journal that cannot be read is not taken for an empty one: what is in it would be lost with the next write.
func TestUnreadableJournal(t *testing.T) {
	for name, text := range map[string]string{"no JSON": "{\"rev\":1}\nnonsense\n{\"rev\":2}\n",
		"a torn line in the middle": "{\"rev\":1,\"set\":[{\"t\":\"arm\n{\"rev\":2}\n"} {
		dir := t.TempDir()
		file := filepath.Join(dir, "journal.jsonl")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", name, err)
		}
		if left, err := os.ReadFile(file); err != nil || string(left) != text {
			t.Errorf("%s: the file is now %q, %v", name, left, err)
		}
	}
}
