package export

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/hypershift-on-azure/hypershift/internal/cli/cluster/export/compare"
	"github.com/hypershift-on-azure/hypershift/internal/cli/clusterfile"
)

// exported collects the members of the file, what is given beside it, and what neither says.
type exported struct {
	key    client.ObjectKey
	flags  *pflag.FlagSet
	spec   map[string]any
	beside Beside
	notes  []string // what is not in the file, for it is given beside it
	told   []string // the paths of the HostedCluster for which a note is enough
	unsaid []string
}

// set keeps a value that is neither empty nor what the flag is by default.
func (e *exported) set(flag string, value any) {
	v := reflect.ValueOf(value)
	switch v.Kind() {
	case reflect.String:
		value = v.String()
	case reflect.Slice, reflect.Map:
		if v.Len() == 0 {
			return
		}
	case reflect.Int32:
		value = v.Int()
	}
	if v.IsZero() {
		return
	}
	text := fmt.Sprint(value)
	if list, ok := value.([]string); ok {
		text = "[" + strings.Join(list, ",") + "]"
	}
	if text != e.flags.Lookup(flag).DefValue {
		e.spec[flag] = value
	}
}

func (e *exported) note(format string, args ...any) {
	e.notes = append(e.notes, fmt.Sprintf(format, args...))
}

// file notes a member that names a file: the flag is given beside the file, and stands for what the cluster has at the paths.
func (e *exported) file(flag, what string, paths ...string) {
	e.beside.Files = append(e.beside.Files, flag)
	e.note("%s: %s (%s)", flag, what, strings.Join(paths, ", "))
}

// finish compares the cluster with the one that the file makes: all in which they differ is unsaid.
func (e *exported) finish(stored *unstructured.Unstructured, pools []pool, remake Remake) (*Exported, error) {
	raw, err := yaml.Marshal(clusterfile.File{APIVersion: clusterfile.APIVersion, Kind: clusterfile.Kind, Spec: e.spec})
	if err != nil {
		return nil, fmt.Errorf("cannot encode the cluster file of HostedCluster %s: %w", e.key, err)
	}
	made, refused := remake(raw, e.beside)
	if refused != nil {
		for _, line := range strings.Split(refused.Error(), "\n") {
			e.unsaid = append(e.unsaid, "what create cluster azure takes: "+line)
		}
	}
	if len(made) == 0 {
		return nil, fmt.Errorf("cannot see what the cluster file of HostedCluster %s makes: %w", e.key, refused)
	}
	if err := e.differ("HostedCluster "+e.key.Name, stored, made[0], e.told); err != nil {
		return nil, err
	}
	if err := e.comparePools(pools, made[1:]); err != nil {
		return nil, err
	}
	return e.written(raw), nil
}

// comparePools compares each pool with the one of its name.
func (e *exported) comparePools(pools []pool, made []client.Object) error {
	byName := map[string]client.Object{}
	for _, object := range made {
		byName[object.GetName()] = object
	}
	for _, p := range pools {
		object := byName[p.Name]
		delete(byName, p.Name)
		if object == nil {
			e.unsaid = append(e.unsaid, fmt.Sprintf("NodePool %s: all of it; `hypershift create nodepool azure` makes such a pool", p.Name))
			continue
		}
		if err := e.differ("NodePool "+p.Name, p.stored, object, nil); err != nil {
			return err
		}
	}
	for _, object := range made {
		if byName[object.GetName()] != nil {
			e.unsaid = append(e.unsaid, fmt.Sprintf("NodePool %s: that it is not there; the file makes it", object.GetName()))
		}
	}
	return nil
}

func (e *exported) differ(whose string, stored *unstructured.Unstructured, made client.Object, told []string) error {
	differences, err := compare.Of(stored, made, told)
	for _, d := range differences {
		text := whose + ": " + d.Path
		if d.OnlyMade {
			text += ": that it is not set; the file sets it"
		}
		e.unsaid = append(e.unsaid, text)
	}
	return err
}

// written is the file with its comments.
func (e *exported) written(raw []byte) *Exported {
	out := &Exported{Unsaid: e.unsaid, advice: []string{
		"Values: kubectl --namespace " + e.key.Namespace + " get hostedcluster,nodepool --output yaml. What cannot change later goes into what",
		"`hypershift create cluster azure --file FILE --render` prints before that is applied; the rest can follow with kubectl edit.",
	}}
	var b strings.Builder
	lines := func(head string, all []string) {
		b.WriteString("# " + head + "\n")
		for _, line := range all {
			b.WriteString("#   " + line + "\n")
		}
	}
	lines("Not here, for they are files, or the management cluster does not know them:", e.notes)
	if len(out.Unsaid) > 0 {
		lines("No member of this file says this; write it by hand:", out.Unsaid)
		for _, line := range out.advice {
			b.WriteString("# " + line + "\n")
		}
	}
	b.Write(raw)
	out.File = []byte(b.String())
	return out
}
