// Package azure is the one place that knows the Azure SDK: sessions, a client for any ARM resource, blobs and
// principals. Package failure below it turns Azure's errors into what happened, why, and what to do.
package azure

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

// Credentials are the four values of an Azure credentials file; who is signed in with the Azure CLI needs no client.
type Credentials struct {
	SubscriptionID string
	TenantID       string
	ClientID       string
	ClientSecret   string
}

var uuidPattern = regexp.MustCompile(`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`)

// IsUUID tells whether s is written as 8-4-4-4-12 hexadecimal digits.
func IsUUID(s string) bool { return uuidPattern.MatchString(s) }

// ReadCredentials reads an Azure credentials file. The error names the file and the field.
func ReadCredentials(path string) (Credentials, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return Credentials{}, fmt.Errorf("cannot read the Azure credentials file: %w", err)
	}
	c, err := ParseCredentials(raw)
	if err != nil {
		return Credentials{}, fmt.Errorf("the Azure credentials file %s: %w", path, err)
	}
	return c, nil
}

// ParseCredentials reads JSON or YAML. Keys match without regard to case; the spellings of
// `az ad sp create-for-rbac` (appId, password, tenant) and snake case are accepted too; unknown keys are ignored.
func ParseCredentials(raw []byte) (Credentials, error) {
	var doc map[string]any
	if err := yaml.Unmarshal(raw, &doc); err != nil {
		return Credentials{}, errors.New("is neither JSON nor YAML; it should hold subscriptionId, tenantId, clientId and clientSecret")
	}
	values := map[string]string{}
	for key, value := range doc {
		if text, ok := value.(string); ok {
			values[strings.ToLower(strings.ReplaceAll(key, "_", ""))] = strings.TrimSpace(text)
		}
	}
	pick := func(names ...string) string {
		for _, n := range names {
			if values[n] != "" {
				return values[n]
			}
		}
		return ""
	}
	c := Credentials{
		SubscriptionID: pick("subscriptionid", "subscription"),
		TenantID:       pick("tenantid", "tenant"),
		ClientID:       pick("clientid", "appid"),
		ClientSecret:   pick("clientsecret", "password"),
	}
	return c, c.validate()
}

// validate names the field that is wrong. Without a secret the user is signed in otherwise, for instance with the Azure CLI: a person has no
// client id.
func (c Credentials) validate() error {
	fields := []struct {
		name, value string
		optional    bool
	}{{"subscriptionId", c.SubscriptionID, false}, {"tenantId", c.TenantID, false}, {"clientId", c.ClientID, c.ClientSecret == ""}}
	for _, f := range fields {
		if f.value == "" && f.optional {
			continue
		}
		if f.value == "" {
			return fmt.Errorf("field %s is missing", f.name)
		}
		if !IsUUID(f.value) {
			return fmt.Errorf("field %s is not a UUID", f.name)
		}
	}
	return nil
}
