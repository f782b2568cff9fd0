package stacks_test

import (
	"net/http"
	"strings"
	"sync"
)

// between does something of others right before the first call of a kind.
type between struct {
	next         http.RoundTripper
	method, path string
	once         sync.Once
	work         func()
}

// before has work done right before the first call of the method to the path.
func before(next http.RoundTripper, method, path string, work func()) *between {
	return &between{next: next, method: method, path: path, work: work}
}

func (b *between) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == b.method && strings.EqualFold(req.URL.Path, b.path) {
		b.once.Do(b.work)
	}
	return b.next.RoundTrip(req)
}
