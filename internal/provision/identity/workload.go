// Package identity knows the identities of a hosted cluster: its components, the service accounts that sign in as them, and their files.
package identity

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/field"
)

// Identity is one member of the identities file.
type Identity struct {
	ClientID string `json:"clientID"`
}

// WorkloadIdentities is the content of workload-identities.json, members in its order.
type WorkloadIdentities struct {
	ImageRegistry        Identity  `json:"imageRegistry"`
	Ingress              Identity  `json:"ingress"`
	File                 Identity  `json:"file"`
	Disk                 Identity  `json:"disk"`
	NodePoolManagement   Identity  `json:"nodePoolManagement"`
	CloudProvider        Identity  `json:"cloudProvider"`
	Network              Identity  `json:"network"`
	ControlPlaneOperator *Identity `json:"controlPlaneOperator,omitempty"`
	KMSClientID          string    `json:"kmsClientID,omitempty"`
}

// Set puts a client id behind a member.
func (w *WorkloadIdentities) Set(key, clientID string) {
	id := Identity{ClientID: clientID}
	switch key {
	case "imageRegistry":
		w.ImageRegistry = id
	case "ingress":
		w.Ingress = id
	case "file":
		w.File = id
	case "disk":
		w.Disk = id
	case "nodePoolManagement":
		w.NodePoolManagement = id
	case "cloudProvider":
		w.CloudProvider = id
	case "network":
		w.Network = id
	case "controlPlaneOperator":
		w.ControlPlaneOperator = &id
	case "kms":
		w.KMSClientID = clientID
	}
}

// Get returns the client id behind a member, "" when there is none.
func (w *WorkloadIdentities) Get(key string) string {
	members := map[string]string{
		"imageRegistry": w.ImageRegistry.ClientID, "ingress": w.Ingress.ClientID, "file": w.File.ClientID, "disk": w.Disk.ClientID,
		"nodePoolManagement": w.NodePoolManagement.ClientID, "cloudProvider": w.CloudProvider.ClientID, "network": w.Network.ClientID,
		"kms": w.KMSClientID,
	}
	if w.ControlPlaneOperator != nil {
		members["controlPlaneOperator"] = w.ControlPlaneOperator.ClientID
	}
	return members[key]
}

// requiredMembers are the members that the API demands.
var requiredMembers = []string{"imageRegistry", "ingress", "file", "disk", "nodePoolManagement", "cloudProvider", "network"}

// ParseWorkloadIdentities reads an identities file; the error names the member.
func ParseWorkloadIdentities(raw []byte) (*WorkloadIdentities, error) {
	var w WorkloadIdentities
	if err := json.Unmarshal(raw, &w); err != nil {
		return nil, fmt.Errorf("not a JSON object of identities: %w", err)
	}
	if err := w.Validate(); err != nil {
		return nil, err
	}
	return &w, nil
}

// Validate names the member that is wrong.
func (w *WorkloadIdentities) Validate() error {
	for _, key := range requiredMembers {
		if !azure.IsUUID(w.Get(key)) {
			return fmt.Errorf("%s.clientID must be a valid UUID, it is %q", key, w.Get(key))
		}
	}
	if w.ControlPlaneOperator != nil && !azure.IsUUID(w.ControlPlaneOperator.ClientID) {
		return errors.New("controlPlaneOperator.clientID must be a valid UUID")
	}
	if w.KMSClientID != "" && !azure.IsUUID(w.KMSClientID) {
		return fmt.Errorf("kmsClientID must be a valid UUID, it is %q", w.KMSClientID)
	}
	return nil
}

// ReadWorkloadIdentities reads the file at path.
func ReadWorkloadIdentities(path string) (*WorkloadIdentities, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, field.Errorf(FieldWorkloadFile, "cannot read %s: %w", FieldWorkloadFile, err)
	}
	w, err := ParseWorkloadIdentities(raw)
	if err != nil {
		return nil, FieldWorkloadFile.Wrong("%s: %w", path, err)
	}
	return w, nil
}
