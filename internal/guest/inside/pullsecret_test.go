package inside

import (
	"strings"
	"testing"
)

func TestMergePullSecrets(t *testing.T) {
	for _, test := range []struct{ original, additional, want, fails string }{
		{original: `{"auths":{"a":{"auth":"1"}}}`, additional: `{"auths":{"b":{"auth":"2"}}}`, want: `{"auths":{"a":{"auth":"1"},"b":{"auth":"2"}}}`},
		{original: `{"auths":{"a":{"auth":"1"}}}`, additional: `{"auths":{"a":{"auth":"secret"},"a/b":{"auth":"3"}}}`, want: `{"auths":{"a":{"auth":"1"},"a/b":{"auth":"3"}}}`},
		{original: `{"auths":{}}`, additional: `{"auths":{"b":{"auth":"2"}},"credHelpers":{"b":"x"}}`, want: `{"auths":{"b":{"auth":"2"}}}`},
		{original: `{"auths":{}}`, additional: `{"auths":{}}`, fails: "names no registry"},
		{original: `{"auths":{}}`, additional: ``, fails: "is no JSON"},
		{original: `{"auths":{}}`, additional: `{"auths":"secret"}`, fails: "is no JSON"},
		{original: `{"auths":{}}`, additional: `{"auths":{"b":"secret"}}`, fails: "is no object"},
		{original: `{"auths":{}}`, additional: `{"auths":{"b":null}}`, fails: "is no object"},
	} {
		got, err := mergePullSecrets([]byte(test.original), []byte(test.additional))
		if test.fails == "" && (err != nil || string(got) != test.want) {
			t.Errorf("%s + %s: %s, %v", test.original, test.additional, got, err)
		}
		if test.fails != "" && (err == nil || !strings.Contains(err.Error(), test.fails) || strings.Contains(err.Error(), "secret\"")) {
			t.Errorf("%s + %s: %s, %v", test.original, test.additional, got, err)
		}
	}
}
