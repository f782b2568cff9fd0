package tags

import (
	"fmt"
	"maps"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]map[string]string{
		"": nil, " ": nil,
		"team=blue":                       {"team": "blue"},
		"team=blue, cost centre=12 ,env=": {"team": "blue", "cost centre": "12", "env": ""},
		"owner=a@example.com:x/y":         {"owner": "a@example.com:x/y"},
	} {
		got, err := Parse(text)
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("%q: %v, %v", text, got, err)
			continue
		}
		if again, err := Parse(Format(got)); err != nil || !maps.Equal(again, got) {
			t.Errorf("%q written again: %v, %v", text, again, err)
		}
	}
}

func TestTagsThatAreRefused(t *testing.T) {
	var many []string
	for i := range maxUserTags + 1 {
		many = append(many, fmt.Sprintf("t%d=v", i))
	}
	for text, reason := range map[string]string{
		"team": "is no tag", "=blue": "1 to 512", strings.Repeat("a", 513) + "=b": "1 to 512", "a=" + strings.Repeat("b", 257): "at most 256",
		"a/b=c": "has none of", "a%=c": "has none of", "a=b=c": "has one of", "a=b,,c=d": "is no tag", "a=1,A=2": "twice",
		"Name=x": "Cluster API", "azure-team=x": "begin with azure", "Microsoft=x": "begin with microsoft",
		"sigs.k8s.io_cluster-api-provider-azure_role=x": "begin with sigs.k8s.io", "kubernetes.io/x=y": "has none of", "kubernetes.io-x=y": "begin with kubernetes.io",
		strings.Join(many, ","): "too many",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%.60q: %v, want %q", text, err, reason)
		}
	}
	if err := Check(map[string]string{"team": "a", "Team": "b"}); err == nil || !strings.Contains(err.Error(), "one to Azure") {
		t.Error(err)
	}
}
