// Package explain says why a hosted cluster or a node pool is not as it should be: a tree of what is wrong because of what, with the evidence
// and what to do. It reads and never writes. The cases that it knows are a table, which docs/reference/troubleshooting.md prints.
package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/metrics/health"
	"github.com/hypershift-on-azure/hypershift/internal/survey"
)

// Finding is something that is not as it should be, or the object that was asked about. It is also the shape of what programs read, as JSON.
type Finding struct {
	// Object is its kind and name, such as "Pod etcd-0".
	Object string `json:"object"`
	// Condition is the one that tells it; empty where none does.
	Condition string `json:"condition,omitempty"`
	// Healthy is true of an object that was asked about with which nothing is wrong.
	Healthy bool `json:"healthy"`
	// Says is what is so; Reason is the condition's word.
	Says   string `json:"says"`
	Reason string `json:"reason,omitempty"`
	// Since is when it began; nil where nobody says so.
	Since *time.Time `json:"since,omitempty"`
	// Case is the row of the table, Cause and Next what the row says about it.
	Case  string   `json:"case,omitempty"`
	Cause string   `json:"cause,omitempty"`
	Next  []string `json:"next,omitempty"`
	// Evidence is what others say, in their own words.
	Evidence []Evidence `json:"evidence,omitempty"`
	// Because are the causes.
	Because []Finding `json:"because,omitempty"`
}

// Evidence is a word of somebody else.
type Evidence struct {
	Source string `json:"source"`
	Says   string `json:"says"`
}

// Walk visits a finding and its causes.
func (f *Finding) Walk(visit func(*Finding)) {
	visit(f)
	for i := range f.Because {
		f.Because[i].Walk(visit)
	}
}

// causes are the conditions of a HostedCluster that make another one what it is. What is itself made by another of the list comes after that.
var causes = map[string][]string{
	hyperv1.HostedClusterAvailable: {
		hyperv1.KubeAPIServerAvailable, hyperv1.EtcdAvailable, hyperv1.UnmanagedEtcdAvailable, hyperv1.InfrastructureReady, hyperv1.ReconciliationSucceeded,
		hyperv1.ExternalDNSReachable, hyperv1.ValidReleaseInfo, hyperv1.ValidHostedControlPlaneConfig, hyperv1.ValidReleaseImage, hyperv1.PlatformCredentialsFound,
		hyperv1.SupportedHostedCluster, hyperv1.ValidHostedClusterConfiguration, hyperv1.HostedClusterDegraded,
	},
	hyperv1.KubeAPIServerAvailable:       {hyperv1.EtcdAvailable, hyperv1.UnmanagedEtcdAvailable, hyperv1.ValidAzureKMSConfig},
	hyperv1.EtcdAvailable:                {hyperv1.HostedClusterRestoredFromBackup},
	hyperv1.ReconciliationSucceeded:      {hyperv1.ValidReleaseImage, hyperv1.PlatformCredentialsFound, hyperv1.ValidHostedClusterConfiguration, hyperv1.SupportedHostedCluster},
	hyperv1.HostedClusterProgressing:     {hyperv1.ClusterVersionProgressing, hyperv1.ClusterVersionSucceeding, hyperv1.ValidReleaseImage, hyperv1.ClusterVersionUpgradeable},
	hyperv1.ClusterVersionProgressing:    {hyperv1.ClusterVersionSucceeding},
	hyperv1.ClusterVersionAvailable:      {hyperv1.ClusterVersionSucceeding},
	hyperv1.ClusterVersionSucceeding:     {hyperv1.DataPlaneConnectionAvailable, hyperv1.ControlPlaneConnectionAvailable},
	hyperv1.DataPlaneConnectionAvailable: {hyperv1.ControlPlaneConnectionAvailable},
}

// roots are the conditions that are told first.
var roots = []string{hyperv1.ReconciliationActive, hyperv1.HostedClusterAvailable, hyperv1.HostedClusterProgressing, hyperv1.HostedClusterDegraded}

// Cluster explains the hosted cluster with its node pools.
func Cluster(f *Facts) Finding {
	t := &teller{Facts: f, placed: map[string]bool{}}
	out := Finding{Object: "HostedCluster " + f.Cluster.Namespace + "/" + f.Cluster.Name}
	if f.Cluster.Object.DeletionTimestamp != nil {
		out.Because = append(out.Because, t.deletion())
	} else {
		out.Because = t.conditions()
	}
	for _, pool := range f.Cluster.NodePools {
		if told := t.pool(pool); !told.Healthy {
			out.Because = append(out.Because, told)
		}
	}
	out.Healthy = len(out.Because) == 0
	out.Says = t.summary(out.Healthy)
	t.judge(&out)
	return out
}

// NodePool explains one pool of the cluster; ok is false where it has none of this name.
func NodePool(f *Facts, name string) (told Finding, ok bool) {
	t := &teller{Facts: f, placed: map[string]bool{}}
	for _, pool := range f.Cluster.NodePools {
		if pool.Name == name {
			told = t.pool(pool)
			t.judge(&told)
			return told, true
		}
	}
	return told, false
}

// teller builds a tree of the facts.
type teller struct {
	*Facts
	// placed are conditions and pods that stand in the tree.
	placed map[string]bool
}

func (t *teller) summary(healthy bool) string {
	c := t.Cluster
	switch {
	case healthy:
		return fmt.Sprintf("nothing is wrong: version %s, %d node pools", cmp.Or(c.Version, "not known yet"), len(c.NodePools))
	case c.Progress == survey.Deleting:
		return "is being deleted"
	case c.Available == "True":
		return "is available, and not all is well"
	case c.Available == "False":
		return "is not available"
	}
	return "has not said yet whether it is available"
}

// conditions are the findings that no other condition explains, with their causes.
func (t *teller) conditions() []Finding {
	var found []Finding
	order := slices.Clone(roots)
	for _, condition := range t.Cluster.Object.Status.Conditions {
		order = append(order, condition.Type)
	}
	// What explains something else stands below it, wherever it comes in the list.
	below := map[string]bool{}
	for parent, children := range causes {
		if t.broken(parent) {
			for _, child := range children {
				below[child] = true
			}
		}
	}
	for _, condition := range order {
		if t.broken(condition) && !t.placed[condition] && (!below[condition] || slices.Contains(roots[:2], condition)) {
			found = append(found, t.condition(condition))
		}
	}
	// Pods that belong to no condition that is broken.
	return append(found, t.troubledPods(func(string) bool { return true })...)
}

// broken tells whether a condition tells of a failure. What nobody has reported yet is none, but for the one that everybody looks at.
func (t *teller) broken(name string) bool {
	for _, c := range t.Cluster.Object.Status.Conditions {
		if c.Type != name {
			continue
		}
		unknown := c.Status == "Unknown" && c.Reason == hyperv1.StatusUnknownReason
		restore := name == hyperv1.HostedClusterRestoredFromBackup && c.Status == "False" && t.broken(hyperv1.EtcdAvailable)
		return restore || health.ClusterFails(name, string(c.Status)) && (!unknown || name == hyperv1.HostedClusterAvailable)
	}
	return false
}

// condition is a finding of one, with the causes below it.
func (t *teller) condition(name string) Finding {
	t.placed[name] = true
	out := Finding{Object: "HostedCluster " + t.Cluster.Name, Condition: name}
	for _, c := range t.Cluster.Object.Status.Conditions {
		if c.Type == name {
			since := c.LastTransitionTime.UTC()
			out.Says, out.Reason, out.Since = cmp.Or(c.Message, "is "+string(c.Status)), c.Reason, &since
		}
	}
	for _, child := range causes[name] {
		if t.broken(child) && !t.placed[child] {
			out.Because = append(out.Because, t.condition(child))
		}
	}
	out.Because = append(out.Because, t.troubledPods(func(component string) bool { return component != "" && conditionOf(component) == name })...)
	out.Evidence = append(out.Evidence, t.evidenceFor(name)...)
	return out
}

// deletion is what the cluster waits for before it is gone.
func (t *teller) deletion() Finding {
	since := t.Cluster.Object.DeletionTimestamp.UTC()
	out := Finding{Object: "HostedCluster " + t.Cluster.Name, Condition: hyperv1.HostedClusterDestroyed, Says: "waits for what it is made of to go", Reason: survey.Deleting, Since: &since}
	for _, c := range t.Cluster.Object.Status.Conditions {
		if c.Type == hyperv1.HostedClusterDestroyed && c.Message != "" {
			out.Says, out.Reason = c.Message, c.Reason
		}
	}
	return out
}

// judge finds the case of each finding, deepest first. A case that is meant for what has no deeper cause is not given to what has one.
func (t *teller) judge(root *Finding) {
	var visit func(*Finding)
	visit = func(f *Finding) {
		for i := range f.Because {
			visit(&f.Because[i])
		}
		if f.Case != "" || f.Healthy || len(f.Because) > 0 {
			return
		}
		if row := caseOf(f); row != nil {
			f.Case, f.Cause = row.ID, row.Cause
			words := t.words(f)
			for _, next := range row.Next {
				f.Next = append(f.Next, words.Replace(next))
			}
		}
	}
	visit(root)
}

// words are what a row's advice is completed with.
func (t *teller) words(f *Finding) *strings.Replacer {
	hc := t.Cluster.Object
	object := f.Object[strings.LastIndexByte(f.Object, ' ')+1:]
	pairs := []string{
		"{namespace}", hc.Namespace, "{cluster}", hc.Name, "{control-plane}", t.Namespace, "{infra-id}", hc.Spec.InfraID, "{issuer}", hc.Spec.IssuerURL,
		"{location}", t.Cluster.Location, "{api}", cmp.Or(t.Cluster.Endpoint, "the API server's address"), "{ignition}", cmp.Or(hc.Status.IgnitionEndpoint, "the ignition endpoint"),
		"{operator}", t.Operator, "{image}", hc.Spec.Release.Image, "{pull-secret}", hc.Spec.PullSecret.Name, "{object}", object, "{component}", componentOf(object),
		"{base-domain}", hc.Spec.DNS.BaseDomain,
	}
	azure := ptr.Deref(hc.Spec.Platform.Azure, hyperv1.AzurePlatformSpec{})
	pairs = append(pairs, "{group}", cmp.Or(azure.ResourceGroupName, "RESOURCE-GROUP"), "{nsg}", cmp.Or(azure.SecurityGroupID, "NSG-ID"))
	return strings.NewReplacer(append(pairs, t.poolWords(f)...)...)
}

// poolWords are those of the pool, and of the machine, that a finding is about.
func (t *teller) poolWords(f *Finding) []string {
	pool, machine := poolOf(f, t.Cluster.NodePools)
	azure, name := hyperv1.AzureNodePoolPlatform{}, "NODEPOOL"
	if pool != nil {
		name, azure = pool.Name, ptr.Deref(pool.Object.Spec.Platform.Azure, azure)
	}
	urn := "PUBLISHER:OFFER:SKU:VERSION"
	if image := azure.Image.AzureMarketplace; image != nil && image.Publisher != "" {
		urn = strings.Join([]string{image.Publisher, image.Offer, image.SKU, image.Version}, ":")
	}
	return []string{"{pool}", name, "{subnet}", cmp.Or(azure.SubnetID, "SUBNET-ID"), "{size}", cmp.Or(azure.VMSize, "SIZE"), "{urn}", urn, "{vm}", cmp.Or(machine.VM, "VM")}
}

// poolOf is the pool that a finding belongs to, nil where it belongs to none, with the machine that it names.
func poolOf(f *Finding, pools []survey.Pool) (*survey.Pool, survey.Machine) {
	for i := range pools {
		if strings.HasSuffix(f.Object, "/"+pools[i].Name) {
			return &pools[i], survey.Machine{}
		}
		for _, m := range pools[i].Machines {
			if strings.Contains(f.Object, m.Name) {
				return &pools[i], m
			}
		}
	}
	return nil, survey.Machine{}
}
