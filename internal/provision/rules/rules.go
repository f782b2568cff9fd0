// Package rules are those of Azure and of Kubernetes for what a person types: names, domains, tags.
package rules

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Rules of Azure and of Kubernetes for what a person types. They are checked before the first call, for Azure reports them half-way.
var (
	clusterNamePattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	infraIDPattern     = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)
	groupPattern       = regexp.MustCompile(`^[\p{L}\p{N}_().-]{0,89}[\p{L}\p{N}_()-]$`)
)

const (
	maxVNetName  = 64
	maxTags      = 49 // of 50: one is ours
	maxTagKey    = 128
	maxTagValue  = 256
	tagKeyBanned = `<>%&\?/`
)

// Required refuses a field without a value.
func Required(flag, value string) error {
	if value == "" {
		return fmt.Errorf("%s is required", flag)
	}
	return nil
}

// FirstError is the first that there is.
func FirstError(errs ...error) error {
	i := slices.IndexFunc(errs, func(err error) bool { return err != nil })
	if i < 0 {
		return nil
	}
	return errs[i]
}

func ClusterName(name string) error {
	if name != "" && !clusterNamePattern.MatchString(name) {
		return fmt.Errorf("--name %q is not an RFC1123 label: lower-case letters, digits and dashes, at most 63, beginning and ending with a letter or digit", name)
	}
	return nil
}

func InfraID(id string) error {
	if id != "" && !infraIDPattern.MatchString(id) {
		return fmt.Errorf("--infra-id %q is not valid; use lower-case letters, digits and dashes", id)
	}
	return nil
}

// DerivedNames finds names that are longer than Azure allows: that of the virtual network has the lowest limit.
func DerivedNames(name, infraID string) error {
	if vnet := name + "-" + infraID; len(vnet) > maxVNetName {
		return fmt.Errorf("--name and --infra-id are too long: the virtual network would be named %s, and Azure allows %d characters", vnet, maxVNetName)
	}
	return nil
}

func Group(flag, name string) error {
	if name != "" && !groupPattern.MatchString(name) {
		return fmt.Errorf("%s %q is not a name of a resource group: at most 90 letters, digits and _().- without a dot at its end", flag, name)
	}
	return nil
}

// IssuerURL refuses what Azure would take and never match: it compares an issuer letter by letter.
func IssuerURL(flag, issuer string) error {
	if issuer == "" {
		return nil
	}
	u, err := url.Parse(issuer)
	if err != nil || u.Scheme != "https" || u.Host == "" || strings.HasSuffix(issuer, "/") || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("%s %q must be an https URL without a slash at its end: Azure compares it letter by letter with the tokens' issuer", flag, issuer)
	}
	return nil
}

func Tags(flag string, tags map[string]string) error {
	if len(tags) > maxTags {
		return fmt.Errorf("%s: %d tags; Azure allows 50, and one is needed to mark what is ours", flag, len(tags))
	}
	for key, value := range tags {
		if key == "" || len(key) > maxTagKey || strings.ContainsAny(key, tagKeyBanned) {
			return fmt.Errorf(`%s: tag %q: a name has 1 to %d characters, none of %s`, flag, key, maxTagKey, tagKeyBanned)
		}
		if len(value) > maxTagValue {
			return fmt.Errorf("%s: the value of tag %s is longer than %d characters", flag, key, maxTagValue)
		}
	}
	return nil
}

// domainPattern is a name of at least two labels.
var domainPattern = regexp.MustCompile(`^([a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?\.)+[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?$`)

func IsDomain(name string) bool { return len(name) <= 253 && domainPattern.MatchString(name) }
