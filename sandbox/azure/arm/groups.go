package arm

import (
	"regexp"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

var groupName = &provider.NameRule{Pattern: regexp.MustCompile(`^[\w.()-]{0,89}[\w()-]$`), Code: "InvalidResourceGroup", Demand: "The name can only be a letter, digit, '-', '.', '(', ')' or '_', must not end with '.' and has at most 90 characters."}

func putResourceGroup(_ *provider.Call, r *provider.Resource, old wire.Doc) error {
	at := wire.Text(r.Body, "location")
	if old != nil && wire.Text(old, "location") != at {
		return provider.Conflict("InvalidResourceGroupLocation", "Invalid resource group location '%s'. The Resource group already exists in location '%s'.", at, wire.Text(old, "location"))
	}
	return nil
}
