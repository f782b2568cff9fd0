// Package handoff is the file that carries what was made from one command to the next, and the journal that keeps its inventory true.
package handoff

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/provision/dns"
	"github.com/hypershift-on-azure/hypershift/internal/provision/identity"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
	"github.com/hypershift-on-azure/hypershift/internal/wholefile"
)

// The head of a hand-off file; a reader refuses every other version.
const (
	Version = "handoff.hypershift.openshift.io/v1"
	Kind    = "Handoff"
)

// File carries what the Azure administrator made to the one who creates the cluster. It holds paths of secrets, never secrets.
type File struct {
	APIVersion     string      `json:"apiVersion"`
	Kind           string      `json:"kind"`
	Name           string      `json:"name,omitempty"`
	InfraID        string      `json:"infraID,omitempty"`
	Cloud          string      `json:"cloud,omitempty"`
	Location       string      `json:"location,omitempty"`
	SubscriptionID string      `json:"subscriptionID,omitempty"`
	TenantID       string      `json:"tenantID,omitempty"`
	Issuer         *Issuer     `json:"issuer,omitempty"`
	Identities     *Identities `json:"identities,omitempty"`
	DNS            *dns.Output `json:"dns,omitempty"`
	// DNSUnderWay is what a run that has not come to its end was making: the directory's application is in no inventory.
	DNSUnderWay *dns.Output   `json:"dnsUnderWay,omitempty"`
	Infra       *infra.Output `json:"infra,omitempty"`
	// InfraUnderWay is what a run that has not come to its end was making.
	InfraUnderWay *infra.Output `json:"infraUnderWay,omitempty"`
	// Brought are the user's own resources beside the network, by which destroy knows that they stay.
	Brought *Brought `json:"brought,omitempty"`
	// RolesDNSZoneGroup is set when `create infra azure` gave the identities their roles: the group of the public zone, or "none".
	RolesDNSZoneGroup string `json:"rolesDNSZoneGroup,omitempty"`
	// Images are the operators' images in the user's own registry.
	Images    *Images `json:"images,omitempty"`
	Inventory []Made  `json:"inventory,omitempty"`
}

// Images says where the images of the installation are.
type Images struct {
	// Registry with its path, as `install --image-registry` takes it.
	Registry string `json:"registry"`
	// Version of the program that published them, the tag of its images.
	Version string `json:"version"`
	// References by digest, by the name of the image.
	References map[string]string `json:"references"`
}

// Issuer is the issuer's part.
type Issuer struct {
	URL            string `json:"url"`
	ResourceGroup  string `json:"resourceGroup,omitempty"`
	StorageAccount string `json:"storageAccount,omitempty"`
	Container      string `json:"container,omitempty"`
	Shared         bool   `json:"shared,omitempty"`
	PrivateKeyPath string `json:"privateKeyPath,omitempty"`
	PublicKeyPath  string `json:"publicKeyPath,omitempty"`
	// KeyIDs are the ids of the keys that were published: any other was published by somebody else.
	KeyIDs []string `json:"keyIDs,omitempty"`
}

// Identities is the part of the workload identities.
type Identities struct {
	ResourceGroup string                       `json:"resourceGroup,omitempty"`
	Clients       *identity.WorkloadIdentities `json:"clients"`
}

// Brought names resources that neither the HostedCluster nor their names tell to be the user's.
type Brought struct {
	PrivateZoneID  string `json:"privateZoneID,omitempty"`
	PublicIPID     string `json:"publicIPID,omitempty"`
	LoadBalancerID string `json:"loadBalancerID,omitempty"`
}

// Made is a resource that one of our stacks has made, or had begun to make when it was stopped, so that it is ours to remove.
type Made struct {
	Stack string `json:"stack"`
	Kind  string `json:"kind"`
	ID    string `json:"id"`
}

// Parse reads YAML or JSON. The error names the member.
func Parse(raw []byte) (*File, error) {
	var h File
	if err := yaml.UnmarshalStrict(raw, &h); err != nil {
		return nil, fmt.Errorf("not a hand-off file: %w", err)
	}
	return &h, h.validate()
}

func (h *File) validate() error {
	if h.APIVersion != Version || h.Kind != Kind {
		return fmt.Errorf("apiVersion %q, kind %q: this program reads %s, %s", h.APIVersion, h.Kind, Version, Kind)
	}
	if err := h.validateIDs(); err != nil {
		return err
	}
	if err := h.Identities.validate(); err != nil {
		return err
	}
	if h.Images != nil && h.Images.Registry == "" {
		return errors.New("images.registry is missing")
	}
	return h.validatePlaces()
}

// validatePlaces looks at what leads to resources: URLs and ids.
func (h *File) validatePlaces() error {
	if h.Issuer != nil {
		if u, err := url.Parse(h.Issuer.URL); err != nil || u.Scheme != "https" || u.Host == "" {
			return fmt.Errorf("issuer.url %q is not an https URL", h.Issuer.URL)
		}
	}
	for member, dns := range map[string]*dns.Output{"dns": h.DNS, "dnsUnderWay": h.DNSUnderWay} {
		if dns == nil {
			continue
		}
		if _, err := azure.ParseID(dns.ZoneID); err != nil {
			return fmt.Errorf("%s.zoneID: %w", member, err)
		}
	}
	for i, m := range h.Inventory {
		if _, err := azure.ParseID(m.ID); err != nil {
			return fmt.Errorf("inventory[%d].id: %w", i, err)
		}
	}
	return nil
}

func (h *File) validateIDs() error {
	for _, id := range []struct{ member, value string }{{"subscriptionID", h.SubscriptionID}, {"tenantID", h.TenantID}} {
		if id.value != "" && !azure.IsUUID(id.value) {
			return fmt.Errorf("%s %q is not a UUID", id.member, id.value)
		}
	}
	return nil
}

func (i *Identities) validate() error {
	if i == nil {
		return nil
	}
	if i.Clients == nil {
		return errors.New("identities.clients is missing")
	}
	if err := i.Clients.Validate(); err != nil {
		return fmt.Errorf("identities.clients: %w", err)
	}
	return nil
}

// Read reads the file at path.
func Read(path string) (*File, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the hand-off file: %w", err)
	}
	h, err := Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("the hand-off file %s: %w", path, err)
	}
	return h, nil
}

// ReadOrNew is an empty hand-off when there is no such file, or no path.
func ReadOrNew(path string) (*File, error) {
	h, err := &File{APIVersion: Version, Kind: Kind}, error(nil)
	if path == "" {
		return h, nil
	}
	if _, statErr := os.Stat(path); !errors.Is(statErr, fs.ErrNotExist) {
		h, err = Read(path)
	}
	return h, err
}

// Claim says for which cluster, subscription and cloud the file is, and refuses one of another: a file describes one cluster.
func (h *File) Claim(s *azure.Session, name, infraID, cloud, location string) error {
	for _, f := range []struct {
		member string
		have   *string
		want   string
	}{
		{"subscriptionID", &h.SubscriptionID, s.SubscriptionID}, {"tenantID", &h.TenantID, s.TenantID},
		{"name", &h.Name, name}, {"infraID", &h.InfraID, infraID}, {"cloud", &h.Cloud, cloud}, {"location", &h.Location, location},
	} {
		switch {
		case f.want == "":
		case *f.have == "":
			*f.have = f.want
		case !strings.EqualFold(*f.have, f.want):
			return fmt.Errorf("the hand-off file is for %s %s, not %s; give every hosted cluster its own file", f.member, *f.have, f.want)
		}
	}
	return nil
}

// fileMode lets only the user read the file.
const fileMode = 0o600

// Encode gives the content of the file.
func (h *File) Encode() ([]byte, error) {
	raw, err := yaml.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("cannot encode the hand-off file: %w", err)
	}
	return raw, nil
}

// Write replaces the file in one step; only the user can read it.
func (h *File) Write(path string) error {
	raw, err := h.Encode()
	if err != nil {
		return err
	}
	return wholefile.Replace(path, raw, fileMode)
}
