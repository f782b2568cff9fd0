package identity

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/provision/provisiontest"
)

func credential(name, issuer, subject string, audiences ...any) azure.Resource {
	return azure.Resource{Name: name, Properties: map[string]any{"issuer": issuer, "subject": subject, "audiences": audiences}}
}

// Azure compares issuer, subject and audience letter by letter: of a credential that does not fit each field that differs is told, with both values.
func TestTheNearestCredential(t *testing.T) {
	f := GuestFederation("https://i.example.com/demo", "kube-system:capi-provider")
	fits := credential("fits", f.Issuer, f.Subject, "openshift")
	for _, tc := range []struct {
		name        string
		credentials []azure.Resource
		says        []string // none: one fits
		not         string
	}{
		{"one that fits among others", []azure.Resource{credential("other", "https://x", "y", "z"), fits}, nil, ""},
		{"none", nil, []string{"found none", f.Subject}, ""},
		{"a slash", []azure.Resource{credential("a", f.Issuer+"/", f.Subject, "openshift")}, []string{"issuer of federated credential a", "expected '" + f.Issuer + "'", "found '" + f.Issuer + "/'"}, "subject"},
		{"another audience", []azure.Resource{credential("a", f.Issuer, f.Subject, "api://AzureADTokenExchange")}, []string{"audience", "found 'api://AzureADTokenExchange'"}, "issuer of"},
		{"two audiences", []azure.Resource{credential("a", f.Issuer, f.Subject, "openshift", "b")}, []string{"audience"}, ""},
		{"the nearest of several", []azure.Resource{credential("far", "https://x", "y", "openshift"), credential("near", f.Issuer, "y", "openshift")}, []string{"subject of federated credential near"}, "far"},
	} {
		got := f.Nearest(tc.credentials)
		if (got == "") != (len(tc.says) == 0) || tc.not != "" && strings.Contains(got, tc.not) {
			t.Errorf("%s: %s", tc.name, got)
		}
		for _, word := range tc.says {
			if !strings.Contains(got, word) {
				t.Errorf("%s: %q is not said: %s", tc.name, word, got)
			}
		}
	}
	for name, c := range map[string]azure.Resource{"fits": fits, "case": credential("a", strings.ToUpper(f.Issuer), f.Subject, "openshift"), "no audience": credential("a", f.Issuer, f.Subject)} {
		if f.is(&c) != (name == "fits") {
			t.Errorf("%s is as wanted: %v", name, f.is(&c))
		}
	}
	if back := federationOf(&fits); back != f {
		t.Errorf("%+v, want %+v", back, f)
	}
}

// The credentials of one identity are written one after the other, as Azure wants it; those of different identities are not.
func TestCredentialsShareALane(t *testing.T) {
	s := provisiontest.Session(t)
	lane := func(identity, name string) string {
		return FederatedNode(s, "/subscriptions/s/resourceGroups/g/providers/Microsoft.ManagedIdentity/userAssignedIdentities/"+identity+"/federatedIdentityCredentials/"+name, Federation{}, name, identity).Lane
	}
	if lane("a", "1") != lane("a", "2") || lane("a", "1") == lane("b", "1") || lane("a", "1") == "" {
		t.Errorf("%s, %s, %s", lane("a", "1"), lane("a", "2"), lane("b", "1"))
	}
}

// Every component has a name of its own within Azure's limit, is found in the file under its key, and no two service accounts share a credential.
func TestComponents(t *testing.T) {
	const longest = 120 // of a credential's name: https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules
	parts, suffixes, subjects := map[string]bool{}, map[string]bool{}, map[string]bool{}
	w := &WorkloadIdentities{}
	for _, c := range Components {
		if parts[c.Part] || len(c.Credentials) == 0 {
			t.Errorf("%s: part %s, %d credentials", c.Key, c.Part, len(c.Credentials))
		}
		parts[c.Part] = true
		if w.Get(c.Key) != "" {
			t.Errorf("%s is there before it is set", c.Key)
		}
		if w.Set(c.Key, "id-of-"+c.Key); w.Get(c.Key) != "id-of-"+c.Key {
			t.Errorf("%s is %q", c.Key, w.Get(c.Key))
		}
		for _, f := range c.Credentials {
			if suffixes[f.Suffix] || subjects[f.Subject] || strings.Count(f.Subject, ":") != 1 || len(strings.Repeat("n", 63)+"-"+f.Suffix) > longest {
				t.Errorf("%s: %+v", c.Key, f)
			}
			suffixes[f.Suffix], subjects[f.Subject] = true, true
		}
	}
	if w.Get("somebody") != "" || sameIssuer("https://i/", "https://i") != true || sameIssuer("https://i", "https://I") {
		t.Error("an unknown key, or issuers of other letters")
	}
}

// Files that cannot be used are refused with the file and the member.
func TestFilesOfIdentities(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	id := `"` + provisiontest.Client + `"`
	good := `{"imageRegistryMSIClientID":` + id + `,"diskMSIClientID":` + id + `,"fileMSIClientID":` + id + `}`
	if out, err := ReadDataPlaneIdentities(file("good.json", good)); err != nil || out.DiskMSIClientID != provisiontest.Client {
		t.Errorf("%+v, %v", out, err)
	}
	for _, tc := range []struct {
		name string
		read func() error
		says []string
	}{
		{"no data plane", func() error { _, err := ReadDataPlaneIdentities(filepath.Join(dir, "gone")); return err }, []string{FieldDataPlaneFile.String()}},
		{"a data plane without disks", func() error {
			_, err := ReadDataPlaneIdentities(file("d.json", strings.Replace(good, "diskMSI", "other", 1)))
			return err
		}, []string{"d.json", "diskMSIClientID"}},
		{"no control plane", func() error { _, err := ReadManagedIdentities(filepath.Join(dir, "gone")); return err }, []string{FieldManagedFile.String()}},
		{"an empty control plane", func() error { _, err := ReadManagedIdentities(file("m.json", "{}")); return err }, []string{"m.json", "managedIdentitiesKeyVault"}},
		{"no workload identities", func() error { _, err := ReadWorkloadIdentities(filepath.Join(dir, "gone")); return err }, []string{FieldWorkloadFile.String()}},
		{"a list of workload identities", func() error { _, err := ReadWorkloadIdentities(file("w.json", "[]")); return err }, []string{"w.json", "not a JSON object"}},
	} {
		err := tc.read()
		if err == nil {
			t.Errorf("%s: accepted", tc.name)
			continue
		}
		for _, word := range tc.says {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%s: %q is not said: %v", tc.name, word, err)
			}
		}
	}
	w := allButKMS()
	for _, key := range []string{"controlPlaneOperator", "kms"} {
		broken := *w
		if broken.Set(key, "x"); broken.Validate() == nil || !strings.Contains(broken.Validate().Error(), key) {
			t.Errorf("%s: %v", key, broken.Validate())
		}
	}
}
