package cluster

// Prepare writes everything the processes read. It may be repeated and changes
// only what differs.
func (c Config) Prepare() error {
	steps := []func() error{
		c.makeDirs, c.ensureClusterPKI, c.ensureRegistries, c.writeContainerd, c.writeKubelet, c.writeKubeProxy, c.makeNodes, c.writeCloudConfig,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
