package metrics

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/metrics/health"
	"github.com/hypershift-on-azure/hypershift/internal/metrics/series"
)

// TestHealthIsAsDocumented compares the tables of healthy statuses with what the comments of the conditions say.
func TestHealthIsAsDocumented(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../api/v1beta1/conditions.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]map[string]string{}
	for _, declaration := range file.Decls {
		block, ok := declaration.(*ast.GenDecl)
		if !ok || block.Tok != token.CONST {
			continue
		}
		title, _, _ := strings.Cut(block.Doc.Text(), ".")
		documented[title] = map[string]string{}
		for _, spec := range block.Specs {
			constant := spec.(*ast.ValueSpec)
			value, err := strconv.Unquote(constant.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			if comment := constant.Comment.Text(); !strings.HasPrefix(comment, "of ") {
				documented[title][value] = comment
			}
		}
	}
	for title, table := range map[string]map[string]health.Rule{
		"Conditions of HostedCluster and HostedControlPlane": health.Cluster, "Conditions of NodePool": health.Pool,
	} {
		if len(documented[title]) < len(table) {
			t.Fatalf("the constants have no block %q with %d conditions", title, len(table))
		}
		for condition, comment := range documented[title] {
			got, known := table[condition]
			if want, tells := parseHealth(comment); tells != known || want != got {
				t.Errorf("%s is documented as %q and reported as %+v (%t)", condition, comment, got, known)
			}
		}
	}
}

func parseHealth(comment string) (health.Rule, bool) {
	unknown := strings.Contains(comment, "or Unknown") || strings.Contains(comment, "or absent")
	switch {
	case strings.HasPrefix(comment, "healthy True"), strings.HasPrefix(comment, "healthy when absent: False"), strings.HasPrefix(comment, "absent unless False"):
		return health.Rule{Status: "True", OrUnknown: unknown}, true
	case strings.HasPrefix(comment, "healthy False"), strings.HasPrefix(comment, "healthy when absent"):
		return health.Rule{Status: "False"}, true
	}
	return health.Rule{}, false
}

func TestVMSizes(t *testing.T) {
	for size, want := range map[string]int{
		"Standard_D4s_v3": 4, "Standard_D4s_v4": 4, "Standard_DS3_v2": 4, "Standard_DS14": 16, "Standard_D15_v2": 20, "Standard_G5": 32, "Standard_GS1": 2,
		"Standard_E8-2ds_v5": 2, "Standard_NC24ads_A100_v4": 24, "Standard_B2ms": 2, "Standard_M128s": 128, "Standard_A2_v2": 2, "Standard_F8s_v2": 8,
		"Standard_L8s_v3": 8, "Standard_DC4as_v5": 4, "Standard_HB120rs_v3": 120,
	} {
		if got, known := vmSizeVCPUs(size); !known || got != want {
			t.Errorf("%s: %d %t, want %d", size, got, known, want)
		}
	}
	for _, size := range []string{"", "Standard_D", "Gigantic", "Standard_D9_v2", "standard d4"} {
		if got, known := vmSizeVCPUs(size); known {
			t.Errorf("%q: %d", size, got)
		}
	}
}

func TestFirstExpiryOfNoBundle(t *testing.T) {
	for _, bundle := range []string{"", "text", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"} {
		if at, err := firstExpiry([]byte(bundle)); err == nil {
			t.Errorf("%q expires at %s", bundle, at)
		}
	}
}

// TestSets: each set contains the one before, and the last has everything.
func TestSets(t *testing.T) {
	telemetry, sre, all := series.Of(series.Telemetry), series.Of(series.SRE), series.Of(series.All)
	for _, name := range telemetry {
		if !slices.Contains(sre, name) {
			t.Errorf("%s is in Telemetry and not in SRE", name)
		}
	}
	if len(telemetry) >= len(sre) || len(sre) > len(all) || len(all) != len(Definitions()) {
		t.Errorf("%d, %d, %d of %d", len(telemetry), len(sre), len(all), len(Definitions()))
	}
}

// TestKeep: the series of a metric are kept with it, and those of a larger set are not.
func TestKeep(t *testing.T) {
	if keep := series.Keep(series.All); keep != "" {
		t.Errorf("All keeps only %s", keep)
	}
	for set, wanted := range map[series.Set]map[string]bool{
		series.Telemetry: {"hypershift_hostedclusters": true, "hypershift_hosted_cluster_transition_seconds_bucket": false, "workqueue_depth": true, "go_gc_duration_seconds": false},
		series.SRE:       {"hypershift_hostedclusters": true, "hypershift_hosted_cluster_transition_seconds_bucket": true, "hypershift_hosted_cluster_transition_seconds_count": true},
	} {
		kept := regexp.MustCompile("^(?:" + series.Keep(set) + ")$")
		for series, want := range wanted {
			if got := kept.MatchString(series); got != want {
				t.Errorf("%s keeps %s: %t", set, series, got)
			}
		}
	}
}

// TestDeletedClusterLeavesNoSeries: a gauge of an object that is gone is gone.
func TestDeletedClusterLeavesNoSeries(t *testing.T) {
	one := hostedCluster("one", 10)
	all := newFleet(t, one)
	series := func() int { return testutil.CollectAndCount(all.gauges, "hypershift_cluster_silence_alerts") }
	if series() != 1 {
		t.Fatalf("%d series of one hosted cluster", series())
	}
	if err := all.gauges.reader.(client.Client).Delete(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	if series() != 0 {
		t.Errorf("%d series of no hosted cluster", series())
	}
}

// TestPlatformsAreZeroWithoutObjects: rules compare with zero, not with an absent series.
func TestPlatformsAreZeroWithoutObjects(t *testing.T) {
	all := newFleet(t)
	for metric, want := range map[string]int{
		"hypershift_hostedclusters": 2, "hypershift_nodepools": 2,
		"hypershift_hostedclusters_failure_conditions": 2 * len(health.Cluster), "hypershift_nodepools_failure_conditions": 2 * len(health.Pool),
	} {
		if got := testutil.CollectAndCount(all.gauges, metric); got != want {
			t.Errorf("%d series of %s, want %d", got, metric, want)
		}
	}
}

// TestFollowerCountsOnce: a condition that comes back after the first rollout, or was True already, is no milestone.
func TestFollowerCountsOnce(t *testing.T) {
	f := newFollower()
	before, after := hostedCluster("one", 100), hostedCluster("one", 100)
	before.Annotations = map[string]string{hyperv1.HasBeenAvailableAnnotation: "true"}
	before.Status.Conditions, after.Status.Conditions = conditions("EtcdAvailable", "False"), conditions("EtcdAvailable", "True")
	f.clusterChanged(before, after)
	before.Annotations = nil
	f.clusterChanged(after, after)
	if got := testutil.CollectAndCount(f.clusters); got != 0 {
		t.Errorf("%d series", got)
	}
	f.clusterChanged(before, after)
	if got := testutil.CollectAndCount(f.clusters); got != 1 {
		t.Errorf("%d series", got)
	}
}

// TestSeriesAreKnown: who installs the operator knows the names of all that it tells, without what computes it.
func TestSeriesAreKnown(t *testing.T) {
	all := []series.Set{series.Telemetry, series.SRE, series.All}
	for _, set := range all {
		var told []string
		for _, d := range definitions {
			if slices.Index(all, d.Set) > slices.Index(all, set) {
				continue
			}
			told = append(told, d.Name)
			kept := "|" + series.Keep(set) + "|"
			if d.Type == Histogram && set != series.All && !strings.Contains(kept, "|"+d.Name+"_bucket|") {
				t.Errorf("set %s does not keep histogram %s", set, d.Name)
			}
		}
		slices.Sort(told)
		if known := series.Of(set); !slices.Equal(told, known) {
			t.Errorf("set %s: known are\n%v\nand told are\n%v", set, known, told)
		}
	}
}
