// Package store keeps the documents of the embedded Azure in memory and every acknowledged change in an append-only journal.
package store

import (
	"fmt"
	"sort"
	"strings"
	"sync"
)

// Doc is a JSON object. A document that is in the store is never changed in place: Tx.Edit gives a copy to work on.
type Doc = map[string]any

// Table is a named set of documents.
type Table string

// The tables. Keys are chosen by the package that owns a table.
const (
	ARM         Table = "arm"         // lower-cased resource id -> resource as ARM shows it
	Leaving     Table = "leaving"     // lower-cased resource id -> until when its deletion is under way
	UserData    Table = "userdata"    // lower-cased VM id -> what ARM takes and never shows
	Power       Table = "power"       // lower-cased VM id -> wanted and reported power
	StorageKeys Table = "storagekeys" // lower-cased storage account id -> its keys
	Blobs       Table = "blobs"       // account/container/blob -> its properties; the content is a file
	Apps        Table = "apps"        // object id -> application
	Principals  Table = "principals"  // object id -> service principal
	Credentials Table = "credentials" // key id -> hash of a client secret
	AppRoles    Table = "approles"    // id -> app role of Microsoft Graph that a principal has

	Providers Table = "providers" // lower-cased namespace -> its registration, where that is not the default

	VaultKeys     Table = "vaultkeys"     // vault/key/version, the names lower-cased -> a key of a vault
	VaultSecrets  Table = "vaultsecrets"  // the same of its secrets
	DeletedVaults Table = "deletedvaults" // "/" and the lower-cased name of a vault -> the vault and how it is shown
)

// Record is a document with its key. Seq is the order of first insertion.
type Record struct {
	Key string
	Seq uint64
	Doc Doc
}

// Store is safe for concurrent use.
type Store struct {
	mu      sync.RWMutex
	tables  map[Table]map[string]*Record
	rev     uint64
	changed chan struct{}
	journal *journal
}

// Open reads the journal in the folder, making both if needed.
func Open(dir string) (*Store, error) {
	s := &Store{tables: map[Table]map[string]*Record{}, changed: make(chan struct{})}
	j, err := openJournal(dir, s.replay)
	if err != nil {
		return nil, fmt.Errorf("opening the state of the embedded Azure: %w", err)
	}
	s.journal = j
	return s, s.compactIfWorth()
}

// Close flushes the journal. The store must not be used afterwards.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.journal.close()
}

// Revision is the number of the last commit, and a channel that is closed by the next one.
func (s *Store) Revision() (uint64, <-chan struct{}) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.rev, s.changed
}

// View runs fn on a consistent state. Documents seen in it must not be changed.
func (s *Store) View(fn func(*Tx)) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	fn(&Tx{s: s})
}

// Update runs fn alone and commits what it put and deleted, or nothing when fn fails.
// When Update returns nil the change is in the journal.
func (s *Store) Update(fn func(*Tx) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	tx := &Tx{s: s, writes: map[Table]map[string]*Record{}, seq: s.rev << 20}
	if err := fn(tx); err != nil {
		return err
	}
	return s.commit(tx)
}

func (s *Store) commit(tx *Tx) error {
	e := entry{Rev: s.rev + 1}
	for t, recs := range tx.writes {
		for _, r := range recs {
			e.add(t, r)
		}
	}
	if len(e.Set)+len(e.Del) == 0 {
		return nil
	}
	if err := s.journal.append(e); err != nil {
		return fmt.Errorf("writing the journal of the embedded Azure: %w", err)
	}
	s.replay(e)
	close(s.changed)
	s.changed = make(chan struct{})
	return s.compactIfWorth()
}

// replay applies a journal entry to memory.
func (s *Store) replay(e entry) {
	s.rev = e.Rev
	for _, w := range e.Set {
		t := s.tables[w.Table]
		if t == nil {
			t = map[string]*Record{}
			s.tables[w.Table] = t
		}
		t[w.Key] = &Record{Key: w.Key, Seq: w.Seq, Doc: w.Doc}
	}
	for _, w := range e.Del {
		delete(s.tables[w.Table], w.Key)
	}
}

func (s *Store) compactIfWorth() error {
	if !s.journal.worthCompacting() {
		return nil
	}
	whole := entry{Rev: s.rev}
	for t, recs := range s.tables {
		for _, r := range recs {
			whole.add(t, r)
		}
	}
	return s.journal.rewrite(whole)
}

// Tx is a view of the store; in Update it also holds what will be committed.
type Tx struct {
	s      *Store
	writes map[Table]map[string]*Record // Doc nil: deleted
	seq    uint64
}

func (tx *Tx) find(t Table, key string) *Record {
	if r, ok := tx.writes[t][key]; ok {
		if r.Doc == nil {
			return nil
		}
		return r
	}
	return tx.s.tables[t][key]
}

// Get returns a document, nil when absent. It must not be changed.
func (tx *Tx) Get(t Table, key string) Doc {
	if r := tx.find(t, key); r != nil {
		return r.Doc
	}
	return nil
}

// Edit returns a copy of a document that will be committed with all changes made to it, nil when absent.
func (tx *Tx) Edit(t Table, key string) Doc {
	if r, ok := tx.writes[t][key]; ok {
		return r.Doc
	}
	r := tx.s.tables[t][key]
	if r == nil {
		return nil
	}
	d := Clone(r.Doc)
	tx.write(t, &Record{Key: key, Seq: r.Seq, Doc: d})
	return d
}

// Put sets a document; the store owns it from now on, the transaction may still change it.
func (tx *Tx) Put(t Table, key string, d Doc) {
	seq := uint64(0)
	if r := tx.find(t, key); r != nil {
		seq = r.Seq
	} else {
		tx.seq++
		seq = tx.seq
	}
	tx.write(t, &Record{Key: key, Seq: seq, Doc: d})
}

// Delete removes a document, if it is there.
func (tx *Tx) Delete(t Table, key string) {
	if tx.find(t, key) != nil {
		tx.write(t, &Record{Key: key})
	}
}

func (tx *Tx) write(t Table, r *Record) {
	if tx.writes == nil {
		panic("store: write in a view")
	}
	if tx.writes[t] == nil {
		tx.writes[t] = map[string]*Record{}
	}
	tx.writes[t][r.Key] = r
}

// Scan returns the records whose key starts with the prefix, in order of insertion.
func (tx *Tx) Scan(t Table, prefix string) []*Record {
	var out []*Record
	for k, r := range tx.s.tables[t] {
		if _, overlaid := tx.writes[t][k]; !overlaid && strings.HasPrefix(k, prefix) {
			out = append(out, r)
		}
	}
	for k, r := range tx.writes[t] {
		if r.Doc != nil && strings.HasPrefix(k, prefix) {
			out = append(out, r)
		}
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].Seq != out[j].Seq {
			return out[i].Seq < out[j].Seq
		}
		return out[i].Key < out[j].Key
	})
	return out
}

// Each calls fn with every document of a table, in no order, until fn returns false. It is what to use when most documents are of no interest.
func (tx *Tx) Each(t Table, fn func(key string, d Doc) bool) {
	for k, r := range tx.s.tables[t] {
		if _, overlaid := tx.writes[t][k]; !overlaid && !fn(k, r.Doc) {
			return
		}
	}
	for k, r := range tx.writes[t] {
		if r.Doc != nil && !fn(k, r.Doc) {
			return
		}
	}
}

// Clone copies a document deeply.
func Clone(d Doc) Doc { return cloneValue(d).(Doc) }

func cloneValue(v any) any {
	switch x := v.(type) {
	case Doc:
		out := make(Doc, len(x))
		for k, e := range x {
			out[k] = cloneValue(e)
		}
		return out
	case []any:
		out := make([]any, len(x))
		for i, e := range x {
			out[i] = cloneValue(e)
		}
		return out
	default:
		return v
	}
}
