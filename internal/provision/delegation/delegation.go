// Package delegation knows how a zone of Azure DNS is delegated: by an NS record set in its parent zone that names the zone's servers.
package delegation

import (
	"slices"
	"strings"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
)

// ttl of the records, in seconds.
const ttl = 300

// Host is a name as it is compared: in lower case, without a dot at its end.
func Host(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

// ServersOf are the zone's own servers, sorted.
func ServersOf(zone *azure.Resource) []string {
	var names []string
	list, _ := zone.Properties["nameServers"].([]any)
	for _, entry := range list {
		if text, ok := entry.(string); ok {
			names = append(names, Host(text))
		}
	}
	slices.Sort(names)
	return names
}

// LeadsTo are the servers that an NS record set names, sorted.
func LeadsTo(set *azure.Resource) []string {
	var names []string
	list, _ := set.Properties["NSRecords"].([]any)
	for _, entry := range list {
		if record, ok := entry.(map[string]any); ok {
			text, _ := record["nsdname"].(string)
			names = append(names, Host(text))
		}
	}
	slices.Sort(names)
	return names
}

// RecordSet is the NS record set that leads to the servers, with a mark in its metadata by which its maker knows it again.
func RecordSet(servers []string, key, value string) azure.Resource {
	var records []any
	for _, name := range servers {
		records = append(records, map[string]any{"nsdname": name + "."})
	}
	return azure.Resource{Properties: map[string]any{"TTL": ttl, "NSRecords": records, "metadata": map[string]any{key: value}}}
}

// ID is that of the NS record set of a zone in its parent; its name is what the zone adds to the parent's. It is "" without a parent.
func ID(zone, parentZoneID string) string {
	parent, err := azure.ParseID(parentZoneID)
	if err != nil || len(zone) <= len(parent.Name) {
		return ""
	}
	return parentZoneID + "/NS/" + zone[:len(zone)-len(parent.Name)-1]
}
