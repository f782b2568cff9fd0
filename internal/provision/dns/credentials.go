package dns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/hypershift-on-azure/hypershift/internal/field"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
	"github.com/hypershift-on-azure/hypershift/internal/wholefile"
)

// Credentials is what ExternalDNS reads, in its own spelling.
type Credentials struct {
	TenantID         string `json:"tenantId"`
	SubscriptionID   string `json:"subscriptionId"`
	ResourceGroup    string `json:"resourceGroup"`
	ClientID         string `json:"aadClientId,omitempty"`
	ClientSecret     string `json:"aadClientSecret,omitempty"`
	WorkloadIdentity bool   `json:"useWorkloadIdentityExtension,omitempty"`
}

func (d *zoneStack) settings() Credentials {
	return Credentials{TenantID: d.s.TenantID, SubscriptionID: d.s.SubscriptionID, ResourceGroup: d.ResourceGroup}
}

func (f Credentials) write(path string) error {
	raw, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return fmt.Errorf("cannot encode the credentials of ExternalDNS: %w", err)
	}
	return wholefile.Replace(path, raw, 0o600)
}

// ReadCredentials reads the file at path.
func ReadCredentials(path string) (Credentials, error) {
	var f Credentials
	raw, err := os.ReadFile(path)
	if err != nil {
		return f, fmt.Errorf("cannot read the credentials of ExternalDNS: %w", err)
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		return f, fmt.Errorf("%s is not the credentials file of ExternalDNS: %w", path, err)
	}
	return f, nil
}

// ownFileNode refuses the file of something else before anything is made.
func (d *zoneStack) ownFileNode() *stack.Node {
	return &stack.Node{ID: "own file", Kind: "file", Name: d.CredentialsPath, Brought: true,
		Observe: func(context.Context) (stack.State, error) {
			f, err := ReadCredentials(d.CredentialsPath)
			if errors.Is(err, os.ErrNotExist) {
				return stack.Current, nil
			}
			want := d.settings()
			want.WorkloadIdentity = d.out.ExternalDNS == ByWorkloadIdentity
			f.ClientID, f.ClientSecret = "", ""
			if err != nil || f != want {
				err = d.elses()
			}
			return stack.Current, err
		}}
}

// elses is the error for a file that is something else's.
func (d *zoneStack) elses() error {
	return field.Errorf(FieldCredentialsPath, "%s belongs to something else; choose another %s", d.CredentialsPath, FieldCredentialsPath)
}

// settingsNode writes the file for ExternalDNS by workload identity; it holds no secret.
func (d *zoneStack) settingsNode() *stack.Node {
	want := func() Credentials {
		f := d.settings()
		f.ClientID, f.WorkloadIdentity = d.client(), true // known once the identity is there
		return f
	}
	return &stack.Node{ID: "file", Kind: "file", Name: d.CredentialsPath, DependsOn: []string{"identity"},
		Observe: func(context.Context) (stack.State, error) {
			f, err := ReadCredentials(d.CredentialsPath)
			nameless := want()
			nameless.ClientID = ""
			switch {
			case errors.Is(err, os.ErrNotExist):
				return stack.Missing, nil
			case err == nil && f == nameless:
				return stack.Drifted, nil
			case err == nil && f != want():
				err = d.elses()
			}
			return stack.Current, err
		},
		Apply: func(context.Context) error { return want().write(d.CredentialsPath) }}
}

// applicationNode makes the application, and a secret when the credentials file has none of it: Azure shows a secret only once.
func (d *zoneStack) applicationNode() *stack.Node {
	return &stack.Node{ID: "application", Kind: "service principal", Name: d.ServicePrincipal, DependsOn: []string{"group"},
		Observe: func(ctx context.Context) (stack.State, error) {
			app, err := d.s.FindApplication(ctx, d.ServicePrincipal)
			if err != nil || app == nil {
				return stack.Missing, err
			}
			d.setClient(app.ClientID)
			f, err := ReadCredentials(d.CredentialsPath)
			if errors.Is(err, os.ErrNotExist) {
				return stack.Drifted, nil
			}
			want := d.settings()
			want.ClientID, want.ClientSecret = app.ClientID, f.ClientSecret
			if err == nil && (f != want || f.ClientSecret == "") {
				err = d.elses()
			}
			return stack.Current, err
		},
		Apply: func(ctx context.Context) error {
			if _, err := os.Stat(d.CredentialsPath); err == nil {
				return field.Errorf(FieldCredentialsPath, "%s exists and belongs to something else; choose another %s", d.CredentialsPath, FieldCredentialsPath)
			}
			app, err := d.s.EnsureApplication(ctx, d.ServicePrincipal)
			if err != nil {
				return err
			}
			d.setClient(app.ClientID)
			f := d.settings()
			f.ClientID = app.ClientID
			// A run that ended before it wrote the file has left a secret that is in nobody's hands.
			if err := d.s.RemovePasswords(ctx, app, passwordLabel); err != nil {
				return err
			}
			if f.ClientSecret, err = d.s.AddPassword(ctx, app, passwordLabel, passwordLife); err != nil {
				return err
			}
			return f.write(d.CredentialsPath)
		},
		Delete: func(ctx context.Context) error { return d.s.DeleteApplication(ctx, d.ServicePrincipal) }}
}
