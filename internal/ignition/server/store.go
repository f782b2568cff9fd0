package server

import "sync"

// entry is what one token opens.
type entry struct {
	secret   string
	nodePool string
	payload  []byte
	// offered: the secret of a pool that is changed in place has the payload, too.
	offered bool
}

// store maps tokens to finished configurations. A token without an entry is unknown, expired, or its payload is not ready.
type store struct {
	mu      sync.RWMutex
	byToken map[string]entry
}

func newStore() *store { return &store{byToken: map[string]entry{}} }

func (s *store) get(token string) (entry, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	found, ok := s.byToken[token]
	return found, ok
}

// set replaces every token of a secret.
func (s *store) set(e entry, tokens ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setLocked(e, tokens)
}

func (s *store) setLocked(e entry, tokens []string) {
	s.removeLocked(e.secret)
	for _, token := range tokens {
		if token != "" {
			s.byToken[token] = e
		}
	}
}

// rekey opens what a secret's tokens open by these tokens instead.
func (s *store) rekey(secret string, tokens ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, known := range s.byToken {
		if known.secret == secret {
			s.setLocked(known, tokens)
			return
		}
	}
}

func (s *store) remove(secret string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removeLocked(secret)
}

func (s *store) removeLocked(secret string) {
	for token, known := range s.byToken {
		if known.secret == secret {
			delete(s.byToken, token)
		}
	}
}

func (s *store) len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.byToken)
}
