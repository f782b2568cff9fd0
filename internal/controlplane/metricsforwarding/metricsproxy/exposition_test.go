package metricsproxy

import (
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/monitor"
)

const told = `# HELP etcd_server_has_leader Whether a leader exists.
# TYPE etcd_server_has_leader gauge
etcd_server_has_leader 1
# TYPE etcd_disk_wal_fsync_duration_seconds histogram
etcd_disk_wal_fsync_duration_seconds_bucket{le="0.001",pod="a \"quoted\", {one}"} 5
etcd_disk_wal_fsync_duration_seconds_sum 0.5 1700000000000
go_goroutines 12
`

// TestExposition: the set decides what is shown, series of a metric are together, and who told them is known.
func TestExposition(t *testing.T) {
	for set, want := range map[monitor.Set]string{
		monitor.Telemetry: `# HELP etcd_server_has_leader Whether a leader exists.
# TYPE etcd_server_has_leader gauge
etcd_server_has_leader{pod="etcd-0"} 1
etcd_server_has_leader{pod="etcd-1"} 1
# TYPE etcd_disk_wal_fsync_duration_seconds histogram
etcd_disk_wal_fsync_duration_seconds_bucket{pod="etcd-0",le="0.001",exported_pod="a \"quoted\", {one}"} 5
etcd_disk_wal_fsync_duration_seconds_bucket{pod="etcd-1",le="0.001",exported_pod="a \"quoted\", {one}"} 5
`,
		monitor.All: `# HELP etcd_server_has_leader Whether a leader exists.
# TYPE etcd_server_has_leader gauge
etcd_server_has_leader{pod="etcd-0"} 1
etcd_server_has_leader{pod="etcd-1"} 1
# TYPE etcd_disk_wal_fsync_duration_seconds histogram
etcd_disk_wal_fsync_duration_seconds_bucket{pod="etcd-0",le="0.001",exported_pod="a \"quoted\", {one}"} 5
etcd_disk_wal_fsync_duration_seconds_sum{pod="etcd-0"} 0.5 1700000000000
etcd_disk_wal_fsync_duration_seconds_bucket{pod="etcd-1",le="0.001",exported_pod="a \"quoted\", {one}"} 5
etcd_disk_wal_fsync_duration_seconds_sum{pod="etcd-1"} 0.5 1700000000000
go_goroutines{pod="etcd-0"} 12
go_goroutines{pod="etcd-1"} 12
`,
	} {
		rules, err := rulesOf(monitor.Relabelings("etcd", set, nil))
		if err != nil {
			t.Fatal(err)
		}
		all := exposition{}
		for _, pod := range []string{"etcd-0", "etcd-1"} {
			if err := all.add(strings.NewReader(told), rules, []label{{"pod", pod}}); err != nil {
				t.Fatal(err)
			}
		}
		if got := string(all.text()); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", set, got, want)
		}
	}
}

// TestDrops: what even the largest set leaves out may follow from a label.
func TestDrops(t *testing.T) {
	rules, err := rulesOf(monitor.Relabelings("kube-apiserver", monitor.All, nil))
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]bool{
		`apiserver_request_duration_seconds_bucket{le="0.15"} 1`: false, `apiserver_request_duration_seconds_bucket{le="0.1"} 1`: true,
		"etcd_debugging_x 1": false, "apiserver_request_total 1": true,
	} {
		name, labels, _, err := parse(line)
		if got := wanted(rules, name, labels); err != nil || got != want {
			t.Errorf("%s: %t, %v", line, got, err)
		}
	}
}

func TestMalformed(t *testing.T) {
	for _, line := range []string{"up", `up{a="b"}`, `up{a="b`, `up{a} 1`, `{a="b"} 1`} {
		if err := (&exposition{}).add(strings.NewReader(line), nil, nil); err == nil {
			t.Errorf("%q is taken for metrics", line)
		}
	}
}
