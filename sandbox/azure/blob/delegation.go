package blob

import (
	"encoding/base64"
	"encoding/xml"
	"net/http"
	"strings"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/storage"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
)

// longestDelegation is how long a user delegation key may be good.
const longestDelegation = 7 * 24 * time.Hour

// delegatedVersion is the service version that keys are made by.
const delegatedVersion = "2025-01-05"

var delegateKey = &handler{action: "generateUserDelegationKey/action", management: true, write: true, run: (*call).userDelegationKey}

type keyInfo struct {
	XMLName       xml.Name `xml:"KeyInfo"`
	Start, Expiry string
}

// delegation is a user delegation key as it is shown.
type delegation struct {
	XMLName                   xml.Name `xml:"UserDelegationKey"`
	SignedOid, SignedTid      string
	SignedStart, SignedExpiry string
	SignedService             string
	SignedVersion             string
	Value                     string
}

// userDelegationKey makes the caller a key to sign with in his own name.
func (c *call) userDelegationKey() (*result, error) {
	var info keyInfo
	if err := xml.Unmarshal(c.document, &info); err != nil {
		return nil, fail(http.StatusBadRequest, "InvalidXmlDocument", "XML specified is not syntactically valid.")
	}
	starts, startErr := parseSASTime(info.Start)
	ends, endErr := parseSASTime(info.Expiry)
	now := time.Now().UTC()
	if startErr != nil || endErr != nil || !ends.After(now) || ends.Before(starts) || ends.After(now.Add(longestDelegation+time.Minute)) {
		return nil, fail(http.StatusBadRequest, "InvalidXmlNodeValue", "The value for one of the XML nodes is not in the correct format: a user delegation key ends in the future and at most 7 days from now.")
	}
	if starts.IsZero() {
		starts = now
	}
	secret, key := c.delegationSecret(), strings.ToLower(c.scope())
	if secret == "" {
		secret = storage.NewKey()
		c.tx.Edit(store.StorageKeys, key)[storage.DelegationSecret] = secret
	}
	d := delegation{SignedOid: c.caller, SignedTid: c.tenant, SignedStart: starts.Format(sasTimes[0]), SignedExpiry: ends.Format(sasTimes[0]), SignedService: "b", SignedVersion: delegatedVersion}
	d.Value = base64.StdEncoding.EncodeToString(userKey(secret, d.SignedOid, d.SignedTid, d.SignedStart, d.SignedExpiry, d.SignedVersion))
	body, err := xml.Marshal(d)
	if err != nil {
		return nil, err
	}
	c.w.Header().Set("Content-Type", "application/xml")
	return &result{status: http.StatusOK, body: append([]byte(xml.Header), body...)}, nil
}
