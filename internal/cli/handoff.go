package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/provision/dns"
	"github.com/hypershift-on-azure/hypershift/internal/provision/handoff"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// handoffFile is the hand-off of a command: read before it works, written after it, also when it failed half-way.
type handoffFile struct {
	path string
	*handoff.File
	asRead []byte
	isNew  bool // there was no such file when it was read
	unlock func()
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
	_, statErr := os.Stat(h.path)
	h.isNew = h.path != "" && errors.Is(statErr, os.ErrNotExist)
	if h.File, err = handoff.ReadOrNew(h.path); err != nil {
		return err
	}
	h.asRead, err = h.Encode()
	return err
}

// openWritten is open for a command that writes the file, which has to be possible.
func (h *handoffFile) openWritten() error {
	if err := checkWritable("--handoff", h.path); err != nil {
		return err
	}
	return h.open()
}

// mustOpen refuses a file that is not there.
func (h *handoffFile) mustOpen() error {
	if h.path != "" {
		if _, err := os.Stat(h.path); err != nil {
			return fmt.Errorf("cannot read the hand-off file: %w", err)
		}
	}
	return h.open()
}

// journal keeps the file true while a stack runs.
func (h *handoffFile) journal(stackName string, progress stack.Progress) stack.Progress {
	return h.Journal(stackName, h.path, progress).Progress
}

// endDNS has the complete zone on file.
func (h *handoffFile) endDNS(out *dns.Output) {
	onFile := *out
	onFile.CredentialsPath = h.relative(out.CredentialsPath)
	h.EndDNS(&onFile)
}

// save writes what is known, beside the error of the work, and lets other commands write the file.
func (h *handoffFile) save(workErr error) error {
	if h.path == "" {
		return workErr
	}
	defer h.release()
	return errors.Join(workErr, h.Write(h.path))
}

// beginDNS has the application on file before it is made: nothing else of it would be on record.
func (h *handoffFile) beginDNS(s *azure.Session, o dns.Options) error {
	o.CredentialsPath = h.relative(o.CredentialsPath)
	if err := h.BeginDNS(s, o); err != nil || h.path == "" || o.ServicePrincipal == "" {
		return err
	}
	return h.Write(h.path)
}

// undo ends work that failed. What it was given may be why, so a run that has made nothing leaves nothing of that for the next, and
// no file where there was none.
func (h *handoffFile) undo(workErr error) error {
	before, err := handoff.Parse(h.asRead)
	if err != nil {
		return h.save(errors.Join(workErr, err))
	}
	h.Undo(before)
	if now, err := h.Encode(); h.isNew && err == nil && bytes.Equal(now, h.asRead) {
		defer h.release()
		os.Remove(h.path) // it may hold what the run was about to make
		return workErr
	}
	return h.save(workErr)
}

// locate finds what the file names: its paths are relative to its own folder, so that they lead to the same files from everywhere.
func (h *handoffFile) locate(path string) string {
	if path == "" || h.path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(h.path), path)
}

// relative is the path as the file names it. One that was typed from the root stays so.
func (h *handoffFile) relative(path string) string {
	if path == "" || h.path == "" || filepath.IsAbs(path) {
		return path
	}
	folder, err := filepath.Abs(filepath.Dir(h.path))
	target, targetErr := filepath.Abs(path)
	if err != nil || targetErr != nil {
		return path
	}
	if near, err := filepath.Rel(folder, target); err == nil {
		return near
	}
	return target
}

// claim begins the work: it keeps other commands from writing the file until save, and says whose file it is.
func (h *handoffFile) claim(s *azure.Session, flags *azureFlags, name, infraID string) error {
	if err := h.lock(); err != nil {
		return err
	}
	err := h.isOf(s, flags, name, infraID)
	if err != nil {
		h.release()
	}
	return err
}

// isOf refuses the file of another cluster, subscription or cloud.
func (h *handoffFile) isOf(s *azure.Session, flags *azureFlags, name, infraID string) error {
	return h.Claim(s, name, infraID, flags.cloud, flags.location)
}

// lock holds the file, and refuses one that another command has changed since it was read.
func (h *handoffFile) lock() error {
	if h.path == "" {
		return nil
	}
	unlock, err := handoff.Lock(h.path)
	if err != nil {
		return err
	}
	h.unlock = unlock
	now, err := handoff.ReadOrNew(h.path)
	var raw []byte
	if err == nil {
		raw, err = now.Encode()
	}
	if err == nil && !bytes.Equal(raw, h.asRead) {
		err = fmt.Errorf("another command has written the hand-off file %s meanwhile; run this one again", h.path)
	}
	if err != nil {
		h.release()
	}
	return err
}

func (h *handoffFile) release() {
	if h.unlock != nil {
		h.unlock()
		h.unlock = nil
	}
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
