package provision

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hypershift-on-azure/hypershift/internal/field"
	"github.com/hypershift-on-azure/hypershift/internal/pki/signing"
	"github.com/hypershift-on-azure/hypershift/internal/provision/dns"
	"github.com/hypershift-on-azure/hypershift/internal/provision/iam"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
	"github.com/hypershift-on-azure/hypershift/internal/provision/issuer"
	"github.com/hypershift-on-azure/hypershift/internal/provision/provisiontest"
	"github.com/hypershift-on-azure/hypershift/internal/wholefile"
)

func rotationOptions(t *testing.T) RotateOptions {
	t.Helper()
	return RotateOptions{Issuer: issuer.Options{Name: "demo", ResourceGroup: "os4-common", KeyDirectory: t.TempDir()}, TokenLifetime: time.Hour, Say: func(string, ...any) {}}
}

// A rotation that makes no sense is refused by its field, without a call and without a key.
func TestARotationIsRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*RotateOptions)
		says   string
	}{
		"no life of tokens":    {func(o *RotateOptions) { o.TokenLifetime = 0 }, FieldTokenLifetime.String()},
		"a negative wait":      {func(o *RotateOptions) { o.KeyWait = -1 }, FieldKeyWait.String()},
		"a key somewhere else": {func(o *RotateOptions) { o.Issuer.PrivateKey = "/keys/signer" }, issuer.FieldKeyDirectory.String()},
		"no name":              {func(o *RotateOptions) { o.Issuer.Name = "" }, issuer.FieldName.String()},
		"no folder":            {func(o *RotateOptions) { o.Issuer.KeyDirectory = filepath.Join(o.Issuer.KeyDirectory, "gone") }, issuer.FieldKeyDirectory.String()},
		"nothing to finish":    {func(o *RotateOptions) { o.Finish = true }, "there is no rotation to finish"},
	} {
		o := rotationOptions(t)
		folder := o.Issuer.KeyDirectory
		tc.change(&o)
		if _, err := RotateIssuer(t.Context(), provisiontest.Session(t), o); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v", name, err)
		}
		if left, _ := os.ReadDir(folder); len(left) != 0 {
			t.Errorf("%s: made %v", name, left)
		}
	}
}

// Where a rotation stands is told by its files alone: every order in which it can have stopped goes on from there.
func TestTheFilesTellWhereARotationStands(t *testing.T) {
	o := rotationOptions(t)
	r, err := newRotation(provisiontest.Session(t), o)
	if err != nil {
		t.Fatal(err)
	}
	present, err := signing.EnsurePair(r.issuer.PrivateKeyPath, r.issuer.PublicKeyPath)
	if err != nil {
		t.Fatal(err)
	}
	next, err := signing.EnsurePair(r.nextPrivate, r.nextPublic)
	if err != nil {
		t.Fatal(err)
	}
	if r.published() {
		t.Error("a pair that waits is published")
	}
	if err := signing.WritePublic(r.oldPublic, &present.PublicKey); err != nil { // stopped between the two steps of taking its place
		t.Fatal(err)
	}
	if r.published() {
		t.Error("a pair that has not taken its place is published")
	}
	if err := r.takePlace(); err != nil {
		t.Fatal(err)
	}
	if err := r.repairPublic(); err != nil {
		t.Fatal(err)
	}
	now, err := signing.ReadPair(r.issuer.PrivateKeyPath, r.issuer.PublicKeyPath)
	old, oldErr := signing.ReadPublic(r.oldPublic)
	if err != nil || oldErr != nil || !now.Equal(next) || !old.Equal(&present.PublicKey) || !r.published() || wholefile.Exists(r.nextPublic) {
		t.Errorf("%v, %v; published %v", err, oldErr, r.published())
	}
	if info, err := os.Stat(r.issuer.PrivateKeyPath); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the new key has mode %v, %v", info.Mode(), err)
	}
	report, err := r.report(RotationSwitched, time.Unix(0, 0), nil)
	if err != nil || len(report.KeyIDs) != 2 || report.KeyIDs[1] != report.KeyID || report.KeyIDs[0] == report.KeyID {
		t.Errorf("%+v, %v", report, err)
	}
	if err := r.refuseOwn(&now.PublicKey); err == nil || !strings.Contains(err.Error(), "is the key that signs") {
		t.Errorf("the key that signs would be retired: %v", err)
	}
	if err := r.refuseOwn(old); err != nil {
		t.Error(err)
	}
}

// The hosted cluster is given its key once, and the wait counts from then; who gives it himself says so, and is told where the files are before.
func TestTheSwitchIsMadeOnce(t *testing.T) {
	o := rotationOptions(t)
	var said []string
	o.Say = func(format string, _ ...any) { said = append(said, format) }
	o.Now = func() time.Time { return time.Date(2030, 1, 2, 3, 4, 5, 6, time.UTC) }
	r, err := newRotation(provisiontest.Session(t), o)
	if err != nil {
		t.Fatal(err)
	}
	if _, given, err := r.switchCluster(t.Context()); given || err != nil || len(said) != 1 || wholefile.Exists(r.at) {
		t.Errorf("before the user has done it: given %v, %v, said %q", given, err, said)
	}
	r.Updated = true
	since, given, err := r.switchCluster(t.Context())
	if want := time.Date(2030, 1, 2, 3, 4, 6, 0, time.UTC); !given || err != nil || !since.Equal(want) {
		t.Errorf("%s, %v, %v; want %s, never too early", since, given, err, want)
	}
	r.Updated = false
	if again, given, err := r.switchCluster(t.Context()); !given || err != nil || !again.Equal(since) {
		t.Errorf("a further run: %s, %v, %v", again, given, err)
	}
	if err := os.WriteFile(r.at, []byte("yesterday"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, given, err := r.switchCluster(t.Context()); given || err == nil || !strings.Contains(err.Error(), r.at) {
		t.Errorf("a damaged time: %v, %v", given, err)
	}
}

// Every part of the prerequisites is judged before any of it is made, and the error is for the field that is wrong.
func TestEachPartOfThePrerequisitesIsJudged(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*PrerequisitesOptions)
		field  field.Field
	}{
		"the issuer":                           {func(o *PrerequisitesOptions) { o.Issuer.StorageAccount = "No" }, issuer.FieldStorageAccount},
		"the identities":                       {func(o *PrerequisitesOptions) { o.IAM.InfraID = "Demo" }, iam.FieldInfraID},
		"the zone":                             {func(o *PrerequisitesOptions) { o.DNS.Zone = "clusters" }, dns.FieldZone},
		"ExternalDNS":                          {func(o *PrerequisitesOptions) { o.DNS.ServicePrincipal = "both" }, dns.FieldManagementURL},
		"the infrastructure":                   {func(o *PrerequisitesOptions) { o.Infra.SubnetID = "" }, infra.FieldVNetID},
		"a zone in capitals above the cluster": {func(o *PrerequisitesOptions) { o.DNS.Zone = "Example.COM" }, dns.FieldZone},
	} {
		o := prerequisitesOptions(t)
		tc.change(&o)
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), tc.field.String()) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := CreatePrerequisites(t.Context(), provisiontest.Session(t), o, nil); err == nil {
			t.Errorf("%s: it is made", name)
		}
		if left, _ := os.ReadDir(o.Issuer.KeyDirectory); len(left) != 0 {
			t.Errorf("%s: there is a key: %v", name, left)
		}
	}
	o := prerequisitesOptions(t)
	if o.DNS = (dns.Options{}); o.Validate() != nil {
		t.Errorf("without a zone: %v", o.Validate())
	}
}
