package machine

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

const maxUplinks = 256

// uplinks remembers the number of each network's uplink, which its namespace is configured with.
type uplinks struct {
	cfg     Config
	path    string
	numbers map[string]int
}

func loadUplinks(cfg Config) (*uplinks, error) {
	u := &uplinks{cfg: cfg, path: filepath.Join(cfg.Dir, ".uplinks.json"), numbers: map[string]int{}}
	raw, err := os.ReadFile(u.path)
	if errors.Is(err, os.ErrNotExist) {
		return u, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, &u.numbers); err != nil {
		return nil, fmt.Errorf("%s: %w", u.path, err)
	}
	return u, nil
}

// number gives a network its number, the smallest that is free.
func (u *uplinks) number(id string) (int, error) {
	if n, ok := u.numbers[id]; ok {
		return n, nil
	}
	taken := map[int]bool{}
	for _, n := range u.numbers {
		taken[n] = true
	}
	for n := u.cfg.FirstUplink; n < maxUplinks; n++ {
		if !taken[n] {
			u.numbers[id] = n
			return n, u.save()
		}
	}
	return 0, fmt.Errorf("no uplink is left for another virtual network: at most %d", maxUplinks-u.cfg.FirstUplink)
}

// keep forgets the networks that are not wanted and removes their links.
func (u *uplinks) keep(wanted map[string]bool) error {
	var errs []error
	dropped := false
	for id, n := range u.numbers {
		if wanted[id] {
			continue
		}
		if err := deleteLink(u.cfg.uplink(n)); err != nil {
			errs = append(errs, err)
			continue
		}
		delete(u.numbers, id)
		dropped = true
	}
	if dropped {
		errs = append(errs, u.save())
	}
	return errors.Join(errs...)
}

func (u *uplinks) save() error {
	raw, err := json.MarshalIndent(u.numbers, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(u.path, string(raw)+"\n", 0o644)
}
