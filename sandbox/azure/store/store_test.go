package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
