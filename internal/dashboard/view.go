package dashboard

import (
	"fmt"
	"strings"

	"github.com/hypershift-on-azure/hypershift/internal/survey"
)

// tone is the class of a state. The word says it too: colour alone tells nobody.
func tone(word string) string {
	switch word {
	case survey.Completed, survey.Ready, "True", "available":
		return "good"
	case "Failed", "False", "not available":
		return "bad"
	}
	return "busy"
}

func state(available string) string {
	switch available {
	case "True":
		return "available"
	case "False":
		return "not available"
	}
	return "not known"
}

// nodes are those that a cluster has of those that it is to have. A pool that scales itself wants what it has.
func nodes(c survey.Cluster) string {
	var has, wants int32
	for _, p := range c.NodePools {
		has += p.Nodes
		wants += max(p.Wanted, 0)
		if p.Wanted < 0 {
			wants += max(p.Nodes, p.Minimum)
		}
	}
	return fmt.Sprintf("%d/%d", has, wants)
}

func versions(c survey.Cluster) string {
	switch {
	case c.Target != "" && c.Version != "":
		return c.Version + " → " + c.Target
	case c.Target != "":
		return "→ " + c.Target
	case c.Version != "":
		return c.Version
	}
	return "–"
}

func disk(p survey.Pool) string {
	if p.DiskGiB == 0 {
		return ""
	}
	return strings.TrimSpace(fmt.Sprintf("%d GiB %s", p.DiskGiB, p.DiskKind))
}
