package blob

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/access"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/storage"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/roles"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// Versions of shared access signatures. What is signed changed with each of the middle ones; a later one than the newest is refused, because
// nobody here knows what it signs.
const (
	sasOldest     = "2015-04-05"
	sasResource   = "2018-11-09" // the kind of resource and the snapshot are signed
	sasObjectIDs  = "2020-02-10" // and the object ids of a user delegation
	sasEncryption = "2020-12-06" // and the encryption scope
	sasNewest     = "2025-05-05"
)

// sasTimes are the ISO 8601 forms that a signature may give times in.
var sasTimes = []string{"2006-01-02T15:04:05Z", "2006-01-02T15:04:05.0000000Z", "2006-01-02T15:04Z", "2006-01-02"}

// sas is a shared access signature: a right that a URL carries, signed with a key of the account or with one delegated to a user.
type sas struct {
	url.Values
	starts, ends time.Time
}

func (s sas) account() bool   { return s.Has("srt") }
func (s sas) delegated() bool { return s.Has("skoid") }
func (s sas) since(version string) bool {
	return s.Get("sv") >= version
}

// forged is the refusal of whoever is not proven. Clients know the code; people read the detail.
func forged(format string, args ...any) *Error {
	e := fail(http.StatusForbidden, "AuthenticationFailed", "Server failed to authenticate the request. Make sure the value of Authorization header is formed correctly including the signature.")
	e.Detail = fmt.Sprintf(format, args...)
	return e
}

func mismatch(what string) *Error {
	code := map[string]string{"permission": "AuthorizationPermissionMismatch", "resource type": "AuthorizationResourceTypeMismatch",
		"service": "AuthorizationServiceMismatch"}[what]
	return fail(http.StatusForbidden, code, "This request is not authorized to perform this operation using this "+what+".")
}

// signature lets in who holds a shared access signature that covers the request.
func (c *call) signature(h *handler) error {
	s, err := parseSAS(c.req.URL.Query())
	if err != nil {
		return err
	}
	if err := c.checkSignature(s); err != nil {
		return err
	}
	if err := s.checkTime(); err != nil {
		return err
	}
	if err := s.checkAddress(c.req.RemoteAddr); err != nil {
		return err
	}
	if err := c.checkPermission(s, h); err != nil {
		return err
	}
	if !s.delegated() {
		access.SetPrincipal(c.req.Context(), "key:"+c.name)
		return nil
	}
	access.SetPrincipal(c.req.Context(), s.Get("skoid"))
	if !c.allowed(roles.Data, s.Get("skoid"), actionPrefix+h.action, c.scope()) { // nobody delegates more than he may himself
		return mismatch("permission")
	}
	return nil
}

func (s sas) checkTime() error {
	if now := time.Now(); now.Before(s.starts) || now.After(s.ends) {
		return forged("Signature not valid in the specified time frame: Start [%s] - Expiry [%s] - Current [%s]", httpTime(s.starts), httpTime(s.ends), httpTime(now))
	}
	return nil
}

func httpTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(http.TimeFormat)
}

func parseSAS(q url.Values) (sas, error) {
	s := sas{Values: q}
	switch version := q.Get("sv"); {
	case q.Has("si"):
		return s, forged("Signature fields not well formed: the embedded Azure has no stored access policies (si).")
	case version < sasOldest || version > sasNewest:
		return s, forged("Signature fields not well formed: the embedded Azure reads versions %s to %s (sv), not '%s'.", sasOldest, sasNewest, version)
	case q.Get("sp") == "":
		return s, forged("sp is mandatory. Cannot be empty")
	case q.Get("se") == "":
		return s, forged("se is mandatory. Cannot be empty")
	case !s.account() && q.Get("sr") != "b" && q.Get("sr") != "c":
		return s, forged("sr is mandatory. It is b for a blob or c for a container, not '%s'", q.Get("sr"))
	}
	if p := q.Get("spr"); p != "" && p != "https" && p != "https,http" {
		return s, forged("Signature fields not well formed: the protocol (spr) is https or https,http, not '%s'.", p)
	}
	var err error
	if s.starts, err = parseSASTime(q.Get("st")); err != nil {
		return s, err
	}
	s.ends, err = parseSASTime(q.Get("se"))
	return s, err
}

func parseSASTime(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, form := range sasTimes {
		if t, err := time.Parse(form, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, forged("Signature fields not well formed: '%s' is no time in ISO 8601, UTC.", text)
}

// checkSignature compares with what each key makes of the same fields.
func (c *call) checkSignature(s sas) error {
	text := c.serviceText(s)
	if s.account() {
		text = c.accountText(s)
	}
	keys := c.accountKeys()
	switch {
	case s.delegated():
		key, err := c.delegatedKey(s)
		if err != nil {
			return err
		}
		keys = [][]byte{key}
	case wire.Props(c.account)["allowSharedKeyAccess"] == false:
		return noKeys()
	}
	for _, key := range keys {
		if hmac.Equal([]byte(sign(key, text)), []byte(s.Get("sig"))) {
			return nil
		}
	}
	return forged("Signature did not match. String to sign used was %s", text)
}

func sign(key []byte, text string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// serviceText is what a signature of one container or blob signs.
func (c *call) serviceText(s sas) string {
	resource := "/blob/" + c.name + "/" + c.container
	if s.Get("sr") == "b" {
		resource += "/" + c.blob
	}
	lines := []string{s.Get("sp"), s.Get("st"), s.Get("se"), resource}
	add := func(names ...string) {
		for _, n := range names {
			lines = append(lines, s.Get(n))
		}
	}
	if s.delegated() {
		add("skoid", "sktid", "skt", "ske", "sks", "skv")
		if s.since(sasObjectIDs) {
			add("saoid", "suoid", "scid")
		}
	} else {
		add("si")
	}
	add("sip", "spr", "sv")
	if s.since(sasResource) {
		add("sr", "snapshot")
	}
	if s.since(sasEncryption) {
		add("ses")
	}
	add("rscc", "rscd", "rsce", "rscl", "rsct")
	return strings.Join(lines, "\n")
}

// accountText is what a signature of a whole account signs; every line is ended.
func (c *call) accountText(s sas) string {
	lines := []string{c.name, s.Get("sp"), s.Get("ss"), s.Get("srt"), s.Get("st"), s.Get("se"), s.Get("sip"), s.Get("spr"), s.Get("sv")}
	if s.since(sasEncryption) {
		lines = append(lines, s.Get("ses"))
	}
	return strings.Join(lines, "\n") + "\n"
}

func (s sas) checkAddress(remote string) error {
	from, to, isRange := strings.Cut(s.Get("sip"), "-")
	if from == "" {
		return nil
	}
	if !isRange {
		to = from
	}
	host, _, _ := net.SplitHostPort(remote)
	at, err := netip.ParseAddr(host)
	low, lowErr := netip.ParseAddr(from)
	high, highErr := netip.ParseAddr(to)
	switch {
	case lowErr != nil || highErr != nil:
		return forged("Signature fields not well formed: '%s' is no address and no range of addresses (sip).", s.Get("sip"))
	case err != nil || at.Unmap().Less(low) || high.Less(at.Unmap()):
		return fail(http.StatusForbidden, "AuthorizationSourceIPMismatch", fmt.Sprintf("This request is not authorized to perform this operation using this source IP %s.", host))
	}
	return nil
}

// checkPermission compares the operation with the letters of the signature.
func (c *call) checkPermission(s sas, h *handler) error {
	if s.account() {
		switch {
		case !strings.Contains(s.Get("ss"), "b"):
			return mismatch("service")
		case h.level == "" || !strings.Contains(s.Get("srt"), h.level):
			return mismatch("resource type")
		}
	} else if h.level != levelBlob && h != listBlobs {
		return mismatch("permission")
	}
	letters := h.letters
	if h.level == levelBlob && letters == "w" && c.tx.Get(store.Blobs, c.blobKey()) == nil {
		letters += "c" // to create is to write what is not there
	}
	if letters == "" || !strings.ContainsAny(s.Get("sp"), letters) {
		return mismatch("permission")
	}
	return nil
}

// scope is what the roles of a caller are looked up at.
func (c *call) scope() string {
	scope := wire.Text(c.account, "id")
	if c.container != "" {
		scope += "/blobServices/default/containers/" + c.container
	}
	return scope
}

// delegatedKey is the key that the signature says it was signed with.
func (c *call) delegatedKey(s sas) ([]byte, error) {
	starts, startErr := parseSASTime(s.Get("skt"))
	ends, endErr := parseSASTime(s.Get("ske"))
	now := time.Now()
	switch {
	case startErr != nil || endErr != nil || ends.IsZero() || s.Get("sks") != "b" || !s.since(sasResource):
		return nil, forged("Signature fields not well formed: those of a user delegation are skoid, sktid, skt, ske, sks=b and skv, from version %s on.", sasResource)
	case !strings.EqualFold(s.Get("sktid"), c.tenant):
		return nil, forged("Authentication scheme is not supported: the key is of tenant %s, and the account of %s.", s.Get("sktid"), c.tenant)
	case now.Before(starts) || now.After(ends):
		return nil, forged("Signature not valid in the specified key time frame: Key start [%s] - Key expiry [%s] - Current [%s]", httpTime(starts), httpTime(ends), httpTime(now))
	}
	secret := c.delegationSecret()
	if secret == "" {
		return nil, forged("Signature did not match. No user delegation key of this account is valid.")
	}
	return userKey(secret, s.Get("skoid"), s.Get("sktid"), s.Get("skt"), s.Get("ske"), s.Get("skv")), nil
}

// delegationSecret is what the account's user delegation keys are derived from, "" before the first.
func (c *call) delegationSecret() string {
	return wire.Text(c.tx.Get(store.StorageKeys, strings.ToLower(wire.Text(c.account, "id"))), storage.DelegationSecret)
}

// userKey derives a key from what its holder repeats in each signature: so nothing has to be kept for it.
func userKey(secret string, fields ...string) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(strings.ToLower(strings.Join(fields, "\n"))))
	return mac.Sum(nil)
}
