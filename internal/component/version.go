package component

import "github.com/hypershift-on-azure/hypershift/internal/release"

// AtLeast tells whether the payload's programs beside the control plane are of this minor version or a newer one. A version that cannot be read
// counts as the newest: the tables are written for that one.
func (c *Context) AtLeast(major, minor uint) bool {
	is, err := release.AtLeast(c.Version, major, minor)
	return err != nil || is
}

// Since gives arguments to programs that know them from a minor version on, and nothing to older ones, which would refuse them.
func (c *Context) Since(major, minor uint, args ...string) []string {
	if !c.AtLeast(major, minor) {
		return nil
	}
	return args
}
