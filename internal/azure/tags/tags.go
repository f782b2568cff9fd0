// Package tags reads and checks the tags that a user gives to what a cluster makes in Azure.
package tags

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Limits of tags that a user gives to what a cluster makes in Azure
// (https://learn.microsoft.com/azure/azure-resource-manager/management/tag-resources#limitations). Azure takes 50 of a resource; Cluster
// API, the cloud provider and the drivers of volumes add their own, no more than ten.
const (
	maxUserTags  = 40
	maxTagName   = 512
	maxTagValue  = 256
	tagNameBans  = `<>%&\?/`
	tagSeparator = ",="
)

// reservedTags begin names of tags that Azure keeps for itself, or that Cluster API, the cloud provider and the drivers of volumes know
// their own resources by.
var reservedTags = []string{"azure", "microsoft", "windows", "kubernetes.io", "k8s-azure", "sigs.k8s.io", "openshift"}

// Parse reads tags written as NAME=VALUE,NAME=VALUE; an empty text has none. It refuses what Check refuses.
func Parse(text string) (map[string]string, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	out, seen := map[string]string{}, map[string]bool{}
	for pair := range strings.SplitSeq(text, ",") {
		name, value, found := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		if !found {
			return nil, fmt.Errorf("%q is no tag: write NAME=VALUE,NAME=VALUE", pair)
		}
		if seen[strings.ToLower(name)] {
			return nil, fmt.Errorf("tag %q is there twice; Azure does not tell upper from lower case in names", name)
		}
		seen[strings.ToLower(name)], out[name] = true, strings.TrimSpace(value)
	}
	return out, Check(out)
}

// Format writes tags as Parse reads them, by name.
func Format(tags map[string]string) string {
	pairs := make([]string, 0, len(tags))
	for _, name := range slices.Sorted(maps.Keys(tags)) {
		pairs = append(pairs, name+"="+tags[name])
	}
	return strings.Join(pairs, ",")
}

// Check refuses tags that Azure does not take, that programs need for themselves, or that cannot be handed to all of them: their
// settings separate tags by commas and equals signs.
func Check(tags map[string]string) error {
	if len(tags) > maxUserTags {
		return fmt.Errorf("%d tags are too many: Azure takes 50 of a resource, and ten are for those of Cluster API, the cloud provider and the drivers of volumes", len(tags))
	}
	seen := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(tags)) {
		if err := checkTag(name, tags[name]); err != nil {
			return err
		}
		folded := strings.ToLower(name)
		if other := seen[folded]; other != "" {
			return fmt.Errorf("tags %q and %q are one to Azure, which does not tell upper from lower case in names", other, name)
		}
		seen[folded] = name
	}
	return nil
}

func checkTag(name, value string) error {
	switch {
	case name == "" || len(name) > maxTagName:
		return fmt.Errorf("tag %q: a name has 1 to %d characters", name, maxTagName)
	case strings.ContainsAny(name, tagNameBans+tagSeparator) || strings.TrimSpace(name) != name:
		return fmt.Errorf("tag %q: a name has none of %s%s and no blanks around it", name, tagNameBans, tagSeparator)
	case len(value) > maxTagValue:
		return fmt.Errorf("tag %q: a value has at most %d characters", name, maxTagValue)
	case strings.ContainsAny(value, tagSeparator) || strings.TrimSpace(value) != value:
		return fmt.Errorf("tag %q: value %q has one of %s or blanks around it; the settings of the cloud provider and of drivers separate tags by them", name, value, tagSeparator)
	case strings.EqualFold(name, "name"):
		return fmt.Errorf("tag %q is what Cluster API calls its resources by; choose another name", name)
	}
	for _, prefix := range reservedTags {
		if strings.HasPrefix(strings.ToLower(name), prefix) {
			return fmt.Errorf("tag %q: names that begin with %s are kept for those who make the resources; choose another name", name, prefix)
		}
	}
	return nil
}
