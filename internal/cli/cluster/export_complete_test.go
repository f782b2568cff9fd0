package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/cli/clitest"
	"github.com/hypershift-on-azure/hypershift/internal/cli/cluster/export"
	"github.com/hypershift-on-azure/hypershift/internal/cli/cluster/export/compare"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// leaf is a value somewhere in a spec. Steps are names of members, "0" is the first entry of a list.
type leaf struct {
	path  string
	steps []string
	value any
}

// wholes are types that are written as one value.
var wholes = map[reflect.Type]func(n int) any{
	reflect.TypeFor[resource.Quantity]():  func(n int) any { return fmt.Sprintf("%dGi", n) },
	reflect.TypeFor[metav1.Duration]():    func(n int) any { return (time.Duration(n) * time.Second).String() },
	reflect.TypeFor[metav1.Time]():        func(n int) any { return time.Unix(int64(n), 0).UTC().Format(time.RFC3339) },
	reflect.TypeFor[intstr.IntOrString](): func(n int) any { return int64(n) },
}

// leaves are all that a value of a type can hold, each with a value of its own.
func leaves(t *testing.T, in reflect.Type) []leaf {
	t.Helper()
	var all []leaf
	var walk func(at reflect.Type, path string, steps []string, above []reflect.Type)
	walk = func(at reflect.Type, path string, steps []string, above []reflect.Type) {
		for _, outer := range above {
			if outer == at && at.Kind() == reflect.Struct {
				return // a type that holds itself
			}
		}
		above = append(append([]reflect.Type{}, above...), at)
		deeper := func(step string) []string { return append(append([]string{}, steps...), step) }
		add := func(value any) { all = append(all, leaf{path, steps, value}) }
		if at == reflect.TypeFor[runtime.RawExtension]() { // it may hold anything
			path, steps = compare.Member(path, "zz"), deeper("zz")
			add(int64(7000 + len(all)))
			return
		}
		if whole := wholes[at]; whole != nil {
			add(whole(7000 + len(all)))
			return
		}
		switch at.Kind() {
		case reflect.Pointer:
			walk(at.Elem(), path, steps, above)
		case reflect.Slice:
			walk(at.Elem(), path+"[0]", deeper("0"), above)
		case reflect.Map:
			walk(at.Elem(), path+".zz", deeper("zz"), above)
		case reflect.Struct:
			for i := range at.NumField() {
				name, options, _ := strings.Cut(at.Field(i).Tag.Get("json"), ",")
				switch {
				case name == "-":
				case name == "" && (at.Field(i).Anonymous || options == "inline"):
					walk(at.Field(i).Type, path, steps, above)
				default:
					walk(at.Field(i).Type, compare.Member(path, name), deeper(name), above)
				}
			}
		case reflect.String:
			add(fmt.Sprintf("zz%d", 7000+len(all)))
		case reflect.Bool:
			add(true)
		case reflect.Int32, reflect.Int64, reflect.Int:
			add(int64(7000 + len(all)))
		default:
			t.Fatalf("%s is of type %s, which this test does not fill", path, at)
		}
	}
	walk(in, "spec", []string{"spec"}, nil)
	return all
}

// put sets a value in an object or list, and makes what is above it; it returns the changed one.
func put(in any, steps []string, value any) any {
	if len(steps) == 0 {
		return value
	}
	if steps[0] == "0" {
		list, _ := in.([]any)
		if len(list) == 0 {
			list = []any{nil}
		}
		list[0] = put(list[0], steps[1:], value)
		return list
	}
	members, _ := in.(map[string]any)
	if members == nil {
		members = map[string]any{}
	}
	members[steps[0]] = put(members[steps[0]], steps[1:], value)
	return members
}

func get(in any, steps []string) any {
	for _, step := range steps {
		switch v := in.(type) {
		case map[string]any:
			in = v[step]
		case []any:
			in = nil
			if len(v) > 0 {
				in = v[0]
			}
		default:
			return nil
		}
	}
	return in
}

func asStored(t *testing.T, object client.Object) *unstructured.Unstructured {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		t.Fatal(err)
	}
	stored := &unstructured.Unstructured{Object: content}
	return stored.DeepCopy()
}

// ordinary are a HostedCluster and its pool as create cluster azure makes them, and what stands beside their file.
func ordinary(t *testing.T, flags ...string) ([]client.Object, export.Beside) {
	t.Helper()
	args := append(append(clitest.Inputs(t), "--name", "demo", "--infra-id", "demo-x"), flags...)
	objects := objectsOf(t, rendered(t, args...))
	azure := objects[0].(*hyperv1.HostedCluster).Spec.Platform.Azure
	files := []string{"azure-creds", "pull-secret", "workload-identities-file"}
	return objects, export.Beside{Files: files, SubscriptionID: azure.SubscriptionID, TenantID: azure.TenantID}
}

func exportOf(t *testing.T, objects ...client.Object) *export.Exported {
	t.Helper()
	found, err := export.Of(t.Context(), clitest.Client(objects...), client.ObjectKey{Namespace: "clusters", Name: "demo"}, ForExport())
	if err != nil {
		t.Fatal(err)
	}
	return found
}

var path = regexp.MustCompile(`(spec|metadata)\.[^\s,();]*[^\s,();:]`)

// mentions tells whether a comment of the file has the path, or one that leads to it, of an object.
func mentions(file []byte, whose, at string) bool {
	for line := range strings.Lines(string(file)) {
		ofPool := strings.Contains(line, "NodePool ")
		if !strings.HasPrefix(line, "#") || ofPool != strings.HasPrefix(whose, "NodePool ") || ofPool && !strings.Contains(line, whose+":") {
			continue
		}
		for _, told := range path.FindAllString(line, -1) {
			if compare.IsWithin(at, told) {
				return true
			}
		}
	}
	return false
}

// Whatever a HostedCluster or a NodePool can hold, one value after the other: the file makes it again, or the file's comments name it. A
// field that is new in the API, and that neither a member of the file nor a comment has, fails here.
func TestExportLosesNothing(t *testing.T) {
	base, beside := ordinary(t)
	for i, kind := range []struct {
		whose string
		spec  reflect.Type
		least int
	}{
		{"HostedCluster demo", reflect.TypeFor[hyperv1.HostedClusterSpec](), 150},
		{"NodePool demo", reflect.TypeFor[hyperv1.NodePoolSpec](), 40},
	} {
		all := leaves(t, kind.spec)
		if len(all) < kind.least {
			t.Errorf("%s: only %d values are tried", kind.whose, len(all))
		}
		for _, l := range all {
			if l.path == "spec.clusterName" {
				continue // the pool of another cluster
			}
			objects := []client.Object{base[0], base[1]}
			live := asStored(t, base[i])
			before := get(live.Object, l.steps)
			put(live.Object, l.steps, l.value)
			objects[i] = live.DeepCopy()
			if reflect.DeepEqual(before, l.value) {
				t.Fatalf("%s: %s is so already", kind.whose, l.path)
			}
			found := exportOf(t, objects...)
			made, _ := Remake(found.File, beside) // by what stood beside the file before
			var again any
			if len(made) > i {
				again = get(asStored(t, made[i]).Object, l.steps)
			}
			if !reflect.DeepEqual(again, l.value) && !mentions(found.File, kind.whose, l.path) {
				t.Errorf("%s: %s is lost: %v, the file makes %v\n%s", kind.whose, l.path, l.value, again, found.File)
			}
		}
	}
}

// configuration is one for which there is no flag.
func configuration(t *testing.T) *hyperv1.ClusterConfiguration {
	t.Helper()
	conf := &hyperv1.ClusterConfiguration{}
	const text = `{"apiServer":{"servingCerts":{"namedCertificates":[{"names":["a"]}]},"audit":{"profile":"None"}},"proxy":{"httpProxy":"p"}}`
	if err := json.Unmarshal([]byte(text), conf); err != nil {
		t.Fatal(err)
	}
	return conf
}

// What a cluster has besides: labels and annotations of a person, pools that the command does not make.
func TestExportTellsWhatIsBeside(t *testing.T) {
	base, _ := ordinary(t, "--availability-zones", "1,2")
	hc := base[0].(*hyperv1.HostedCluster)
	hc.Annotations = map[string]string{
		"hypershift.openshift.io/topology": "x", hyperv1.HasBeenAvailableAnnotation: "true", "example.com/a": "b,c=d",
	}
	hc.Labels = map[string]string{"hypershift.openshift.io/silence-cluster-alerts": "true", hyperv1.AutoInfraLabel: "demo-x"}
	hc.Spec.ClusterID = clitest.UUID
	hc.Spec.Configuration = configuration(t)
	pools := []*hyperv1.NodePool{base[1].(*hyperv1.NodePool), base[2].(*hyperv1.NodePool)}
	pools[0].Annotations = map[string]string{hyperv1.NodePoolCurrentConfigAnnotation: "0", "hypershift.openshift.io/haproxy-image": "i"}
	pools[1].Spec.Replicas = new(int32(7))
	others := []*hyperv1.NodePool{pools[1].DeepCopy(), pools[1].DeepCopy(), pools[1].DeepCopy()}
	others[0].Name, others[1].Name, others[2].Name, others[2].Spec.ClusterName = "gpu", "demo", "foreign", "another"
	found := exportOf(t, base[0], base[1], base[2], others[0], others[1], others[2])
	want := []string{
		"HostedCluster demo: spec.configuration.apiServer.audit",
		"HostedCluster demo: spec.configuration.apiServer.servingCerts",
		"HostedCluster demo: spec.configuration.proxy.httpProxy",
		"NodePool demo: all of it; `hypershift create nodepool azure` makes such a pool",
		"NodePool demo-1: metadata.annotations[hypershift.openshift.io/haproxy-image]",
		"NodePool demo-2: spec.replicas",
		"NodePool gpu: all of it; `hypershift create nodepool azure` makes such a pool",
	}
	if !reflect.DeepEqual(found.Unsaid, want) {
		t.Errorf("unsaid is %q", found.Unsaid)
	}
	var said bytes.Buffer
	found.Warn(&said)
	for _, text := range append(want, "kubectl edit", "--render") {
		if !strings.Contains(said.String(), text) || !strings.Contains(string(found.File), text) {
			t.Errorf("%q is not in %s%s", text, said.String(), found.File)
		}
	}
	for _, member := range []string{
		"- example.com/a=b,c=d", "- hypershift.openshift.io/topology=x", "- hypershift.openshift.io/silence-cluster-alerts=true",
		"spec.clusterID: every cluster gets its own",
	} {
		if !strings.Contains(string(found.File), member) {
			t.Errorf("%q is not in\n%s", member, found.File)
		}
	}
	for _, machines := range []string{hyperv1.HasBeenAvailableAnnotation, hyperv1.AutoInfraLabel, hyperv1.NodePoolCurrentConfigAnnotation} {
		if strings.Contains(string(found.File), machines) {
			t.Errorf("%s is written\n%s", machines, found.File)
		}
	}
}

// A file that the command refuses is called so.
func TestExportTellsWhatIsRefused(t *testing.T) {
	base, _ := ordinary(t)
	hc := base[0].(*hyperv1.HostedCluster)
	hc.Spec.Platform.Azure.SecurityGroupID = "/subscriptions/s/theirs"
	found := exportOf(t, base...)
	if len(found.Unsaid) != 1 || !strings.Contains(found.Unsaid[0], "--resource-group-name is required") {
		t.Errorf("unsaid is %q", found.Unsaid)
	}
}

// Whatever a flag says of a cluster, the file says: with each flag of the table nothing is told, nor written by hand.
func TestExportSaysWhatFlagsSay(t *testing.T) {
	tried := 0
	clitest.FlagsAct(t, "create cluster azure", func(t *testing.T, line []string) clitest.Made {
		t.Helper()
		var made clitest.Made
		cmd := NewCreateAzureCommand(func(ctx context.Context, s *azure.Session, o infra.Options, say func(stack.Event)) (*infra.Output, error) {
			made.Infra = &o
			return ownInfra(ctx, s, o, say)
		}, clitest.Releases{}, nil)
		args := append(append(clitest.Inputs(t), "--name", "demo", "--infra-id", "demo-x1", "--render-sensitive"), line...)
		if made.Objects, made.Messages, made.Err = typedAt(t, cmd, args...); made.Err != nil {
			return made
		}
		objects := objectsOf(t, made.Objects)
		if len(objects) == 0 {
			return made
		}
		tried++
		found, err := export.Of(t.Context(), clitest.Client(objects...), client.ObjectKeyFromObject(objects[0]), ForExport())
		if err != nil || len(found.Unsaid) > 0 {
			t.Errorf("%v: %v, the file does not say %q", line, err, found.Unsaid)
		}
		return made
	})
	if tried < 50 {
		t.Errorf("only %d clusters are exported", tried)
	}
}
