package azureflags

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/cli/flagfile"
	"github.com/hypershift-on-azure/hypershift/internal/provision/dns"
	"github.com/hypershift-on-azure/hypershift/internal/provision/handoff"
	"github.com/hypershift-on-azure/hypershift/internal/provision/issuer"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// HandoffFile is the hand-off of a command: read before it works, written after it, also when it failed half-way.
type HandoffFile struct {
	Path string
	*handoff.File
	asRead []byte
	isNew  bool // there was no such file when it was read
	unlock func()
}

// AddWritten is for the commands that make something: what earlier ones wrote completes the flags, and the result is added.
func (h *HandoffFile) AddWritten(cmd *cobra.Command) {
	cmd.Flags().StringVar(&h.Path, "handoff", "", "hand-off file: completes the flags from earlier commands and takes this one's result (mode 0600)")
}

// AddRead is for the commands that work from it.
func (h *HandoffFile) AddRead(cmd *cobra.Command) {
	cmd.Flags().StringVar(&h.Path, "from", "", "hand-off file written by the create commands; flags win over it")
}

// Open reads the file; one that is not there is empty.
func (h *HandoffFile) Open() (err error) {
	_, statErr := os.Stat(h.Path)
	h.isNew = h.Path != "" && errors.Is(statErr, os.ErrNotExist)
	if h.File, err = handoff.ReadOrNew(h.Path); err != nil {
		return err
	}
	h.asRead, err = h.Encode()
	return err
}

// OpenWritten is open for a command that writes the file, which has to be possible.
func (h *HandoffFile) OpenWritten() error {
	if err := flagfile.CheckWritable("--handoff", h.Path); err != nil {
		return err
	}
	return h.Open()
}

// MustOpen refuses a file that is not there.
func (h *HandoffFile) MustOpen() error {
	if h.Path != "" {
		if _, err := os.Stat(h.Path); err != nil {
			return fmt.Errorf("cannot read the hand-off file: %w", err)
		}
	}
	return h.Open()
}

// KeepTrue keeps the file true while a stack runs.
func (h *HandoffFile) KeepTrue(stackName string, progress stack.Progress) stack.Progress {
	return h.Journal(stackName, h.Path, progress).Progress
}

// RecordDNS has the complete zone on file.
func (h *HandoffFile) RecordDNS(out *dns.Output) {
	onFile := *out
	onFile.CredentialsPath = h.relative(out.CredentialsPath)
	h.EndDNS(&onFile)
}

// IssuerHandoff is the issuer as the file names it.
func (h *HandoffFile) IssuerHandoff(o issuer.Options, issuer issuer.Issuer) (*handoff.Issuer, error) {
	id, err := issuer.KeyID()
	return &handoff.Issuer{KeyIDs: []string{id}, URL: issuer.URL, ResourceGroup: o.ResourceGroup, StorageAccount: issuer.StorageAccount, Container: issuer.Container,
		Shared: o.Shared, PrivateKeyPath: h.relative(issuer.PrivateKeyPath), PublicKeyPath: h.relative(issuer.PublicKeyPath)}, err
}

// Save writes what is known, beside the error of the work, and lets other commands write the file.
func (h *HandoffFile) Save(workErr error) error {
	if h.Path == "" {
		return workErr
	}
	defer h.Release()
	return errors.Join(workErr, h.Write(h.Path))
}

// AnnounceDNS has the application on file before it is made: nothing else of it would be on record.
func (h *HandoffFile) AnnounceDNS(s *azure.Session, o dns.Options) error {
	o.CredentialsPath = h.relative(o.CredentialsPath)
	if err := h.BeginDNS(s, o); err != nil || h.Path == "" || o.ServicePrincipal == "" {
		return err
	}
	return h.Write(h.Path)
}

// Abandon ends work that failed. What it was given may be why, so a run that has made nothing leaves nothing of that for the next, and
// no file where there was none.
func (h *HandoffFile) Abandon(workErr error) error {
	before, err := handoff.Parse(h.asRead)
	if err != nil {
		return h.Save(errors.Join(workErr, err))
	}
	h.Undo(before)
	if now, err := h.Encode(); h.isNew && err == nil && bytes.Equal(now, h.asRead) {
		defer h.Release()
		os.Remove(h.Path) // it may hold what the run was about to make
		return workErr
	}
	return h.Save(workErr)
}

// Locate finds what the file names: its paths are relative to its own folder, so that they lead to the same files from everywhere.
func (h *HandoffFile) Locate(path string) string {
	if path == "" || h.Path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(h.Path), path)
}

// relative is the path as the file names it. One that was typed from the root stays so.
func (h *HandoffFile) relative(path string) string {
	if path == "" || h.Path == "" || filepath.IsAbs(path) {
		return path
	}
	folder, err := filepath.Abs(filepath.Dir(h.Path))
	target, targetErr := filepath.Abs(path)
	if err != nil || targetErr != nil {
		return path
	}
	if near, err := filepath.Rel(folder, target); err == nil {
		return near
	}
	return target
}

// Begin begins the work: it keeps other commands from writing the file until save, and says whose file it is.
func (h *HandoffFile) Begin(s *azure.Session, flags *Flags, name, infraID string) error {
	if err := h.Lock(); err != nil {
		return err
	}
	err := h.IsOf(s, flags, name, infraID)
	if err != nil {
		h.Release()
	}
	return err
}

// IsOf refuses the file of another cluster, subscription or cloud.
func (h *HandoffFile) IsOf(s *azure.Session, flags *Flags, name, infraID string) error {
	return h.Claim(s, name, infraID, flags.Cloud, flags.Location)
}

// Lock holds the file, and refuses one that another command has changed since it was read.
func (h *HandoffFile) Lock() error {
	if h.Path == "" {
		return nil
	}
	unlock, err := handoff.Lock(h.Path)
	if err != nil {
		return err
	}
	h.unlock = unlock
	now, err := handoff.ReadOrNew(h.Path)
	var raw []byte
	if err == nil {
		raw, err = now.Encode()
	}
	if err == nil && !bytes.Equal(raw, h.asRead) {
		err = fmt.Errorf("another command has written the hand-off file %s meanwhile; run this one again", h.Path)
	}
	if err != nil {
		h.Release()
	}
	return err
}

// Release lets other commands write the file.
func (h *HandoffFile) Release() {
	if h.unlock != nil {
		h.unlock()
		h.unlock = nil
	}
}

// Complete fills the settings that every command shares, where no flag was given.
func (h *HandoffFile) Complete(cmd *cobra.Command, flags *Flags, name, infraID *string) {
	fill := func(flag string, into *string, value string) {
		if into != nil && value != "" && !cmd.Flags().Changed(flag) {
			*into = value
		}
	}
	fill("cloud", &flags.Cloud, h.Cloud)
	fill("location", &flags.Location, h.Location)
	fill("name", name, h.Name)
	fill("infra-id", infraID, h.InfraID)
}
