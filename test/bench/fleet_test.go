package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestPodOfGroup(t *testing.T) {
	const uid = "5a2d0b0e-0000-4000-8000-000000000001"
	for folder, want := range map[string]string{
		"pod" + uid: uid, "kubepods-burstable-pod5a2d0b0e_0000_4000_8000_000000000001.slice": uid,
		"kubepods.slice": "s", "system.slice": "", "pod": "",
	} {
		if got, ok := podOfGroup(folder); ok != (want != "") || got != want {
			t.Errorf("%s: %q, %t, want %q", folder, got, ok, want)
		}
	}
}

func TestStatistic(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{"cpuacct.usage": "1500\n", "memory.stat": "cache 7\ntotal_rss 42\ntotal_rss_huge 9\n"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		file, key string
		want      int64
	}{{"cpuacct.usage", "", 1500}, {"memory.stat", "total_rss", 42}, {"memory.stat", "anon", 0}, {"cpu.stat", "usage_usec", 0}} {
		if got := statistic(filepath.Join(folder, test.file), test.key); got != test.want {
			t.Errorf("%s %s: %d, want %d", test.file, test.key, got, test.want)
		}
	}
}
