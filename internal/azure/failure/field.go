package failure

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// shown says which part of Azure's sentence tells what it expected and what it found in a field.
type shown struct {
	pattern *regexp.Regexp
	text    string // with $1, $2 ... of the pattern
}

// values are compiled when an answer of Azure is to be explained first.
var values = sync.OnceValue(func() map[string]shown {
	assertion := func(claim string) shown {
		return shown{regexp.MustCompile(`presented assertion ` + claim + ` '([^']+)'`), "found '$1' in the token"}
	}
	return map[string]shown{
		"AADSTS700016":  {regexp.MustCompile(`identifier '([^']+)'.* directory '([^']+)'`), "found client id '$1', expected one of the directory '$2'"},
		"AADSTS90002":   {regexp.MustCompile(`Tenant '([^']+)'`), "found '$1'"},
		"AADSTS7000215": {regexp.MustCompile(`app '([^']+)'`), "found a value that is no secret of app '$1'"},
		"AADSTS700211":  assertion("issuer"),
		"AADSTS700212":  assertion("audience"),
		"AADSTS700213":  assertion("subject"),
		"AADSTS70021": {regexp.MustCompile(`Assertion Issuer: '([^']*)'\. Assertion Subject: '([^']*)'`),
			"found issuer '$1' with subject '$2' in the token"},
		"AADSTS700024": {regexp.MustCompile(`Current time: (\S+), assertion valid from (\S+), expiry time of assertion (\S+Z)`),
			"found a token for $2 to $3, expected one that covers Entra's time $1"},

		"AuthorizationFailed":   {regexp.MustCompile(`action '([^']+)' over scope '([^']+)'`), "expected one that allows '$1' on '$2', found none"},
		"PrincipalNotFound":     {regexp.MustCompile(`Principal (\S+) does not exist`), "found '$1', expected one that the directory has"},
		"RoleAssignmentExists":  {regexp.MustCompile(`existing role assignment is (\w+)`), "found '$1' in place of the expected one"},
		"ResourceGroupNotFound": {regexp.MustCompile(`[Rr]esource group '([^']+)'`), "found '$1', expected one that exists"},
		"QuotaExceeded": {regexp.MustCompile(`Current Limit: (\d+), Current Usage: (\d+), Additional Required: (\d+)`),
			"found $2 of $1 in use, expected $3 to be free"},
		"SkuNotAvailable": {regexp.MustCompile(`: (\S+)' is currently not available in location '([^']+)'`), "found '$1' in '$2'"},
		"InvalidTemplate": {regexp.MustCompile(`parameter '([^']+)'`), "it is '$1'"},
	}
})

// fieldOf completes the name of a field with the values that Azure's answer shows.
func fieldOf(code, field string, body []byte) string {
	if field == "" {
		return ""
	}
	var found []string
	if s, ok := values()[familyOf(code)]; ok {
		sentence := sentence(body)
		if at := s.pattern.FindStringSubmatchIndex(sentence); at != nil {
			found = append(found, string(s.pattern.ExpandString(nil, s.text, sentence, at)))
		}
	}
	if found = append(found, evaluated(body)...); len(found) == 0 {
		return field
	}
	return field + ": " + strings.Join(found, ", ")
}

// evaluated reads what a policy found in which property.
func evaluated(body []byte) []string {
	var doc struct {
		Error struct {
			Info []struct {
				Info struct {
					Details struct {
						Expressions []struct {
							Expression string `json:"expression"`
							Operator   string `json:"operator"`
							Value      any    `json:"expressionValue"`
							Target     any    `json:"targetValue"`
						} `json:"evaluatedExpressions"`
					} `json:"evaluationDetails"`
				} `json:"info"`
			} `json:"additionalInfo"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &doc) != nil {
		return nil // the sentence has to do
	}
	var out []string
	for _, i := range doc.Error.Info {
		for _, e := range i.Info.Details.Expressions {
			if e.Expression == "type" {
				continue // which resource it is, the sentence says
			}
			out = append(out, fmt.Sprintf("found %s '%v', which the policy denies with %s '%v'", e.Expression, e.Value, e.Operator, e.Target))
		}
	}
	return out
}
