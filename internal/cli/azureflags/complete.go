package azureflags

import (
	"context"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

// completionLimit is how long a person waits for the tab key.
const completionLimit = 4 * time.Second

// asked signs in for the tab key: with the credentials that are typed, else with those of $AZURE_CREDS.
func asked(cmd *cobra.Command, list func(context.Context, *azure.Session) ([]string, error)) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	file := os.Getenv(contract.AzureCredsEnv)
	if f := cmd.Flag("azure-creds"); f != nil && f.Value.String() != "" {
		file = f.Value.String()
	}
	credentials, err := azure.ReadCredentials(file)
	if err != nil {
		return nil, none
	}
	cloud := ""
	if f := cmd.Flag("cloud"); f != nil {
		cloud = f.Value.String()
	}
	session, err := azure.NewSession(credentials, cloud)
	if err != nil {
		return nil, none
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionLimit)
	defer cancel()
	names, err := list(ctx, session)
	if err != nil { // who types is told nothing in the middle of a word
		return nil, none
	}
	slices.Sort(names)
	return names, none
}

// CompleteLocations offers the regions of the subscription.
func CompleteLocations(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return asked(cmd, func(ctx context.Context, s *azure.Session) ([]string, error) { return s.Locations(ctx) })
}

// CompleteSizes offers the sizes of machines that the region of --location has, of the architecture that is typed.
func CompleteSizes(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	location := cmd.Flag("location")
	if location == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return CompleteSizesIn(cmd, location.Value.String())
}

// CompleteSizesIn is CompleteSizes for a region that no flag names.
func CompleteSizesIn(cmd *cobra.Command, location string) ([]string, cobra.ShellCompDirective) {
	return asked(cmd, func(ctx context.Context, s *azure.Session) ([]string, error) {
		sizes, err := s.MachineSizes(ctx, location)
		if err != nil {
			return nil, err
		}
		maps.DeleteFunc(sizes, func(_ string, size azure.MachineSize) bool {
			arch := cmd.Flag("arch")
			return arch != nil && arch.Value.String() != "" && size.Arch != arch.Value.String()
		})
		var names []string
		for _, size := range sizes {
			names = append(names, size.Name)
		}
		return names, nil
	})
}
