package look

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/survey/surveytest"
)

var update = flag.Bool("update", false, "rewrite golden files")

// golden compares what is printed with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("%s differs; run the test with -update and read the difference\n--- got\n%s", path, got)
	}
}

// fleet is a cluster at rest, one that is being upgraded and one that has just been asked for.
func fleet() []client.Object {
	rolling := surveytest.Cluster("rolling", func(hc *hyperv1.HostedCluster) {
		hc.Status.Version.Desired.Version = "4.22.0"
		hc.Status.Version.History = append([]hyperv1.UpdateHistory{{State: hyperv1.PartialUpdate, Version: "4.22.0"}}, hc.Status.Version.History...)
	})
	fresh := surveytest.Cluster("fresh", func(hc *hyperv1.HostedCluster) {
		hc.Status = hyperv1.HostedClusterStatus{}
		surveytest.Says(hc, hyperv1.HostedClusterAvailable, metav1.ConditionFalse, "InvalidImage", "release image \x1b[31mquay.io/none\ncannot be pulled")
	})
	broken := surveytest.Pool("demo", "broken", 2, func(np *hyperv1.NodePool) {
		np.Status.Replicas = 0
		surveytest.PoolSays(np, hyperv1.NodePoolReady, corev1.ConditionFalse, "Unavailable", "Minimum availability requires 2 replicas, current 0 available")
	})
	return []client.Object{
		surveytest.Cluster("demo"), rolling, fresh, broken,
		surveytest.Pool("demo", "demo", 2),
		surveytest.Pool("rolling", "scaling", 3, func(np *hyperv1.NodePool) {
			np.Spec.Replicas, np.Spec.AutoScaling = nil, &hyperv1.NodePoolAutoScaling{Min: 2, Max: 9}
			np.Spec.PausedUntil = ptr.To("true")
		}),
		surveytest.NodeOf(surveytest.Machine("demo", "demo-a", "InfrastructureReady True Ready", "NodeReady True NodeReady"), "node-a"),
		surveytest.AzureMachine("demo-a", "Standard_D4s_v5", "1"),
		surveytest.NodeOf(surveytest.Machine("demo", "demo-b", "InfrastructureReady True Ready", "NodeReady False KubeletNotReady cni plugin not initialized"), "node-b"),
		surveytest.Machine("broken", "broken-a", "InfrastructureReady False Creating"),
		surveytest.Machine("broken", "broken-b", "InfrastructureReady False VMProvisionFailed Operation could not be completed as it results in exceeding approved Total Regional Cores quota"),
	}
}

func scoped() scope {
	return scope{namespace: "clusters", now: func() time.Time { return surveytest.Now }}
}

// TestTables: what get and status print.
func TestTables(t *testing.T) {
	c := surveytest.Client(fleet()...).Build()
	for name, do := range map[string]func(*scope, *bytes.Buffer) error{
		"clusters":  func(s *scope, out *bytes.Buffer) error { return s.clusters(t.Context(), c, "", out, out) },
		"nodepools": func(s *scope, out *bytes.Buffer) error { return s.pools(t.Context(), c, "", "", out, out) },
		"status": func(s *scope, out *bytes.Buffer) error {
			return (&status{scope: *s}).run(t.Context(), c, "", out, out)
		},
	} {
		for _, output := range []string{"", "wide", "json", "yaml"} {
			s := scoped()
			s.output = output
			var out bytes.Buffer
			if err := do(&s, &out); err != nil {
				t.Fatal(err)
			}
			golden(t, strings.TrimSuffix(name+"."+output, ".")+".txt", out.String())
		}
	}
}

// One cluster, one pool, the pools of one cluster.
func TestNames(t *testing.T) {
	c := surveytest.Client(fleet()...).Build()
	s := scoped()
	var out bytes.Buffer
	if err := s.clusters(t.Context(), c, "demo", &out, &out); err != nil || !strings.Contains(out.String(), "demo") || strings.Contains(out.String(), "rolling") {
		t.Errorf("%v\n%s", err, out.String())
	}
	out.Reset()
	if err := s.pools(t.Context(), c, "demo", "broken", &out, &out); err != nil || strings.Count(out.String(), "\n") != 2 || !strings.Contains(out.String(), "broken") {
		t.Errorf("%v\n%s", err, out.String())
	}
	for want, err := range map[string]error{
		"there is no HostedCluster clusters/dmeo; did you mean demo?":             s.clusters(t.Context(), c, "dmeo", &out, &out),
		"there is no NodePool brokne in namespace clusters; did you mean broken?": s.pools(t.Context(), c, "", "brokne", &out, &out),
		"there is no HostedCluster xyz in any namespace": func() error {
			all := s
			all.all = true
			return all.clusters(t.Context(), c, "xyz", &out, &out)
		}(),
	} {
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	s.namespace = "empty"
	out.Reset()
	if err := s.clusters(t.Context(), c, "", &out, &out); err != nil || out.String() != "no hosted clusters in namespace empty; --all-namespaces looks at the others\n" {
		t.Errorf("%v, %q", err, out.String())
	}
	s.output = "json"
	out.Reset()
	if err := s.clusters(t.Context(), c, "", &out, &out); err != nil || out.String() != "{\n  \"clusters\": []\n}\n" {
		t.Errorf("a program reads %q (%v)", out.String(), err)
	}
}

// Status that is watched is told when it changes; that time goes by is no change.
func TestWatchTellsChanges(t *testing.T) {
	c := surveytest.Client(fleet()...).Build()
	s := &status{scope: scoped(), watch: true}
	clock, turns := surveytest.Now, 0
	s.now = func() time.Time { return clock }
	done := errors.New("nobody looks any more")
	s.tick = func(ctx context.Context) error {
		clock, turns = clock.Add(time.Minute), turns+1
		switch turns {
		case 2:
			hc := &hyperv1.HostedCluster{}
			if err := c.Get(ctx, client.ObjectKey{Namespace: "clusters", Name: "demo"}, hc); err != nil {
				return err
			}
			surveytest.Says(hc, hyperv1.HostedClusterAvailable, metav1.ConditionFalse, "EtcdWaitingForQuorum", "etcd is gone")
			return c.Update(ctx, hc)
		case 4:
			return done
		}
		return nil
	}
	var out bytes.Buffer
	if err := s.run(t.Context(), c, "demo", &out, &out); !errors.Is(err, done) {
		t.Fatal(err)
	}
	if pages := strings.Count(out.String(), "Cluster clusters/demo"); pages != 2 || strings.Count(out.String(), "etcd is gone") != 1 || strings.Contains(out.String(), "\x1b") {
		t.Errorf("%d pages\n%s", pages, out.String())
	}
}

// What is looked at: a namespace, all of them, the pools of one cluster.
func TestScopes(t *testing.T) {
	objects := fleet()
	other := surveytest.Cluster("other")
	other.Namespace = "elsewhere"
	c := surveytest.Client(append(objects, other)...).Build()
	for line, want := range map[string]int{"": 3, "--namespace elsewhere": 1, "--all-namespaces": 4} {
		s := &scope{}
		cmd := &cobra.Command{}
		s.add(cmd)
		if err := cmd.ParseFlags(strings.Fields(line)); err != nil {
			t.Fatal(err)
		}
		found, err := s.read(t.Context(), c, "")
		if err != nil || len(found.Clusters) != want {
			t.Errorf("%q: %d clusters, %v; want %d", line, len(found.Clusters), err, want)
		}
	}
	both := &scope{}
	cmd := &cobra.Command{}
	both.add(cmd)
	if err := cmd.ParseFlags([]string{"--all-namespaces", "--namespace", "x"}); err != nil {
		t.Fatal(err)
	}
	if _, err := both.client(cmd); err == nil || !strings.Contains(err.Error(), "exclude each other") {
		t.Errorf("%v", err)
	}
	s := scoped()
	var out bytes.Buffer
	// --cluster-name
	if err := s.pools(t.Context(), c, "rolling", "", &out, &out); err != nil || strings.Contains(out.String(), "broken") || !strings.Contains(out.String(), "scaling") {
		t.Errorf("%v\n%s", err, out.String())
	}
}
