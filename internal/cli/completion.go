package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hypershift-on-azure/hypershift/internal/cli/azureflags"
	"github.com/hypershift-on-azure/hypershift/internal/cli/management"
)

// choices are the values of flags that take one of a few, wherever a command has such a flag.
var choices = map[string][]string{
	"apps-zone":                         {"own", "shared"},
	"arch":                              {"amd64", "arm64"},
	"availability-zone":                 {"1", "2", "3"},
	"cloud":                             azureflags.Clouds,
	"control-plane-availability-policy": {"SingleReplica", "HighlyAvailable"},
	"diagnostics-storage-account-type":  {"Disabled", "Managed", "UserManaged"},
	"disk-storage-account-type":         {"Premium_LRS", "PremiumV2_LRS", "Standard_LRS", "StandardSSD_LRS"},
	"encryption-at-host":                {"Enabled", "Disabled"},
	"endpoint-access":                   {"Public", "PublicAndPrivate", "Private"},
	"external-dns-provider":             {"aws", "azure", "google"},
	"feature-set":                       {"TechPreviewNoUpgrade", "DevPreviewNoUpgrade"},
	"image-generation":                  {"Gen1", "Gen2"},
	"image-pull-policy":                 {"Always", "Never", "IfNotPresent"},
	"infra-availability-policy":         {"SingleReplica", "HighlyAvailable"},
	"install-scope":                     {"all", "crds", "resources"},
	"metrics-set":                       {"Telemetry", "SRE", "All"},
	"network-type":                      {"OVNKubernetes", "OpenShiftSDN", "Calico", "Other"},
	"node-upgrade-type":                 {"Replace", "InPlace"},
	"oauth-publishing-strategy":         {"Route", "LoadBalancer"},
	"olm-catalog-placement":             {"management", "guest"},
	"platform-monitoring":               {"None", "OperatorOnly", "All"},
}

// completeFlags has the tab key offer what flags take, where a command offers nothing of its own.
func completeFlags(cmd *cobra.Command) {
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if _, own := cmd.GetFlagCompletionFunc(f.Name); own {
			return
		}
		values := choices[f.Name]
		if f.Name == "output" && strings.Contains(f.Usage, "json or yaml") {
			values = []string{"json", "yaml"}
		}
		switch {
		case values != nil:
			_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
		case f.Name == "namespace" && strings.Contains(f.Usage, "hosted cluster"):
			_ = cmd.RegisterFlagCompletionFunc(f.Name, management.CompleteNamespaces)
		}
	})
	for _, child := range cmd.Commands() {
		completeFlags(child)
	}
}
