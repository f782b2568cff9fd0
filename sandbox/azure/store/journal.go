package store

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// compactAbove is the journal size in bytes below which compacting is not worth it.
const compactAbove = 4 << 20

type entry struct {
	Rev uint64  `json:"rev"`
	Set []write `json:"set,omitempty"`
	Del []write `json:"del,omitempty"`
}

type write struct {
	Table Table  `json:"t"`
	Key   string `json:"k"`
	Seq   uint64 `json:"s,omitempty"`
	Doc   Doc    `json:"d"`
}

func (e *entry) add(t Table, r *Record) {
	if r.Doc == nil {
		e.Del = append(e.Del, write{Table: t, Key: r.Key})
		return
	}
	e.Set = append(e.Set, write{Table: t, Key: r.Key, Seq: r.Seq, Doc: r.Doc})
}

// journal is a file of one JSON entry per line. A line reaches the kernel before its request is answered, so it survives the death of the
// process; only a crash of the machine can lose the last lines.
type journal struct {
	path    string
	file    *os.File
	size    int64
	compact int64 // size after the last compaction
}

func openJournal(dir string, apply func(entry)) (*journal, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	j := &journal{path: filepath.Join(dir, "journal.jsonl")}
	f, err := os.OpenFile(j.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	j.file = f
	if j.size, err = readEntries(f, apply); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", j.path, err)
	}
	// A torn last line was never acknowledged.
	if err := f.Truncate(j.size); err != nil {
		f.Close()
		return nil, err
	}
	if _, err := f.Seek(j.size, io.SeekStart); err != nil {
		f.Close()
		return nil, err
	}
	return j, nil
}

// readEntries returns the size of the part that is whole.
func readEntries(r io.Reader, apply func(entry)) (int64, error) {
	br := bufio.NewReaderSize(r, 1<<20)
	size := int64(0)
	for {
		line, err := br.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return size, nil
		}
		if err != nil {
			return size, err
		}
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			return size, fmt.Errorf("unreadable entry at byte %d; restore the file or remove it to start empty: %w", size, err)
		}
		apply(e)
		size += int64(len(line))
	}
}

func encode(e entry) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(e)
	return b.Bytes(), err
}

func (j *journal) append(e entry) error {
	line, err := encode(e)
	if err != nil {
		return err
	}
	n, err := j.file.Write(line)
	if err != nil && n > 0 { // leave no half line in front of the next one
		if terr := j.file.Truncate(j.size); terr == nil {
			_, _ = j.file.Seek(j.size, io.SeekStart)
		}
	}
	if err == nil {
		j.size += int64(n)
	}
	return err
}

func (j *journal) worthCompacting() bool {
	return j.size > compactAbove && j.size > 4*j.compact
}

// rewrite replaces the journal by one entry that holds everything.
func (j *journal) rewrite(whole entry) error {
	line, err := encode(whole)
	if err != nil {
		return err
	}
	tmp, err := os.OpenFile(j.path+".tmp", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if _, err = tmp.Write(line); err == nil {
		err = tmp.Sync()
	}
	if err == nil {
		err = os.Rename(tmp.Name(), j.path)
	}
	if err != nil {
		tmp.Close()
		return fmt.Errorf("compacting the journal: %w", err)
	}
	j.file.Close()
	j.file, j.size, j.compact = tmp, int64(len(line)), int64(len(line))
	return nil
}

func (j *journal) close() error {
	return errors.Join(j.file.Sync(), j.file.Close())
}
