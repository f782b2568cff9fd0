package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/provision"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// Names of the stacks in an inventory.
const issuerStack, iamStack, dnsStack = "oidc-issuer", "iam", "dns"

// handoffFile is the hand-off of a command: read before it works, written after it, also when it failed half-way.
type handoffFile struct {
	path string
	*provision.Handoff
}

// addWritten is for the commands that make something: what earlier ones wrote completes the flags, and the result is added.
func (h *handoffFile) addWritten(cmd *cobra.Command) {
	cmd.Flags().StringVar(&h.path, "handoff", "", "hand-off file: completes the flags from earlier commands and takes this one's result (mode 0600)")
}

// addRead is for the commands that work from it.
func (h *handoffFile) addRead(cmd *cobra.Command) {
	cmd.Flags().StringVar(&h.path, "from", "", "hand-off file written by the create commands; flags win over it")
}

func (h *handoffFile) open() (err error) {
	h.Handoff, err = provision.ReadOrNewHandoff(h.path)
	return err
}

// mustOpen refuses a file that is not there.
func (h *handoffFile) mustOpen() (err error) {
	if h.path == "" {
		return h.open()
	}
	h.Handoff, err = provision.ReadHandoff(h.path)
	return err
}

// journal keeps the file true while a stack runs.
func (h *handoffFile) journal(stackName string, progress stack.Progress) stack.Progress {
	return h.Journal(stackName, h.path, progress).Progress
}

// save writes what is known, beside the error of the work.
func (h *handoffFile) save(workErr error) error {
	if h.path == "" {
		return workErr
	}
	return errors.Join(workErr, h.Write(h.path))
}

// claim says whose file it is; nothing is checked without a file.
func (h *handoffFile) claim(s *azure.Session, flags *azureFlags, name, infraID string) error {
	if h.path == "" {
		return nil
	}
	return h.Claim(s, name, infraID, flags.cloud, flags.location)
}

// complete fills the settings that every command shares, where no flag was given.
func (h *handoffFile) complete(cmd *cobra.Command, flags *azureFlags, name, infraID *string) {
	fill := func(flag string, into *string, value string) {
		if into != nil && value != "" && !cmd.Flags().Changed(flag) {
			*into = value
		}
	}
	fill("cloud", &flags.cloud, h.Cloud)
	fill("location", &flags.location, h.Location)
	fill("name", name, h.Name)
	fill("infra-id", infraID, h.InfraID)
}

// orElse keeps a value that is there.
func orElse(into *string, value string) {
	if *into == "" {
		*into = value
	}
}
