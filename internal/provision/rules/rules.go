// Package rules are those of Azure and of Kubernetes for what a person types: names, domains, tags.
package rules

import (
	"net/url"
	"regexp"
	"strings"
	"sync"

	"github.com/hypershift-on-azure/hypershift/internal/field"
)

// Rules of Azure and of Kubernetes for what a person types. They are checked before the first call, for Azure reports them half-way.
var (
	clusterNamePattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	})
	infraIDPattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)
	})
	groupPattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[\p{L}\p{N}_().-]{0,89}[\p{L}\p{N}_()-]$`)
	})
)

const (
	maxVNetName  = 64
	maxTags      = 49 // of 50: one is ours
	maxTagKey    = 128
	maxTagValue  = 256
	tagKeyBanned = `<>%&\?/`
)

// Required refuses a field without a value.
func Required(f field.Field, value string) error {
	if value == "" {
		return f.Wrong("is required")
	}
	return nil
}

// ClusterName refuses what cannot name a hosted cluster.
func ClusterName(f field.Field, name string) error {
	if name != "" && !clusterNamePattern().MatchString(name) {
		return f.Wrong("%q is not an RFC1123 label: lower-case letters, digits and dashes, at most 63, beginning and ending with a letter or digit", name)
	}
	return nil
}

// InfraID refuses what cannot be an infrastructure id.
func InfraID(f field.Field, id string) error {
	if id != "" && !infraIDPattern().MatchString(id) {
		return f.Wrong("%q is not valid; use lower-case letters, digits and dashes", id)
	}
	return nil
}

// DerivedNames finds names that are longer than Azure allows: that of the virtual network has the lowest limit.
func DerivedNames(ofName field.Field, name string, ofID field.Field, infraID string) error {
	if vnet := name + "-" + infraID; len(vnet) > maxVNetName {
		return ofName.Wrong("and %s are too long: the virtual network would be named %s, and Azure allows %d characters", ofID, vnet, maxVNetName)
	}
	return nil
}

// Group refuses what cannot name a resource group.
func Group(f field.Field, name string) error {
	if name != "" && !groupPattern().MatchString(name) {
		return f.Wrong("%q is not a name of a resource group: at most 90 letters, digits and _().- without a dot at its end", name)
	}
	return nil
}

// IssuerURL refuses what Azure would take and never match: it compares an issuer letter by letter.
func IssuerURL(f field.Field, issuer string) error {
	if issuer == "" {
		return nil
	}
	u, err := url.Parse(issuer)
	if err != nil || u.Scheme != "https" || u.Host == "" || strings.HasSuffix(issuer, "/") || u.RawQuery != "" || u.Fragment != "" {
		return f.Wrong("%q must be an https URL without a slash at its end: Azure compares it letter by letter with the tokens' issuer", issuer)
	}
	return nil
}

// Tags refuses tags that Azure would not take.
func Tags(f field.Field, tags map[string]string) error {
	if len(tags) > maxTags {
		return field.Errorf(f, "%s: %d tags; Azure allows 50, and one is needed to mark what is ours", f, len(tags))
	}
	for key, value := range tags {
		if key == "" || len(key) > maxTagKey || strings.ContainsAny(key, tagKeyBanned) {
			return field.Errorf(f, `%s: tag %q: a name has 1 to %d characters, none of %s`, f, key, maxTagKey, tagKeyBanned)
		}
		if len(value) > maxTagValue {
			return field.Errorf(f, "%s: the value of tag %s is longer than %d characters", f, key, maxTagValue)
		}
	}
	return nil
}

// domainPattern is a name of at least two labels.
var domainPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?\.)+[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?$`)
})

// IsDomain tells whether a name is a domain name of at least two labels.
func IsDomain(name string) bool { return len(name) <= 253 && domainPattern().MatchString(name) }
