package look

import (
	"context"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/survey/surveytest"
)

// resources are Azure's answer.
type resources []azure.Resource

func (r resources) List(context.Context, string, string, string) ([]azure.Resource, error) {
	return r, nil
}

// The picture has every side, in both forms; the control plane's workloads are read from its namespace alone.
func TestGraph(t *testing.T) {
	deployment := func(namespace, name string, ready int32) *appsv1.Deployment {
		return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](2)}, Status: appsv1.DeploymentStatus{ReadyReplicas: ready}}
	}
	objects := append(fleet(), deployment("clusters-demo", "kube-apiserver", 2), deployment("clusters-demo", "scheduler", 0), deployment("clusters-demo", "router", 1), deployment("other", "stranger", 2),
		&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-demo", Name: "etcd"}, Status: appsv1.StatefulSetStatus{ReadyReplicas: 1}})
	c := surveytest.Client(objects...).Build()
	plain := ""
	for _, output := range []string{"mermaid", "dot"} {
		s := scoped()
		s.output = output
		picture, err := s.draw(t.Context(), c, nil, "demo")
		if err != nil {
			t.Fatal(err)
		}
		golden(t, "graph."+output, picture)
		if output == "mermaid" {
			plain = picture
		}
	}
	s := scoped()
	s.output = "mermaid"
	asked := resources{{Type: "Microsoft.Compute/disks", Name: "data", Properties: map[string]any{"provisioningState": "Failed"}}, {Type: "Microsoft.Compute/VirtualMachines", Name: "DEMO-a-vm"}, {Type: "Contoso/x/things", Name: "x/strange"}}
	picture, err := s.draw(t.Context(), c, asked, "demo")
	for _, part := range []string{`["Disk<br/>data<br/>Failed"]:::bad`, `["things<br/>strange"]:::unknown`, `-- "has" -->`} {
		if err != nil || !strings.Contains(picture, part) {
			t.Errorf("%v: no %s in\n%s", err, part, picture)
		}
	}
	if strings.Count(picture, "Virtual machine<br/>") != strings.Count(plain, "Virtual machine<br/>") {
		t.Errorf("a machine is drawn twice:\n%s", picture)
	}
	s.output = "dot"
	if _, err := s.draw(t.Context(), c, nil, "dmeo"); err == nil || !strings.Contains(err.Error(), "did you mean demo?") {
		t.Errorf("%v", err)
	}
	cmd := newGraphClusterCommand()
	cmd.SetArgs([]string{"demo", "--namespace", "clusters", "--output", "png"})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	if err := cmd.Execute(); err == nil || !strings.Contains(err.Error(), "use mermaid or dot") {
		t.Errorf("%v", err)
	}
}
