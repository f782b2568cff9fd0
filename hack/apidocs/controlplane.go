package main

import "github.com/hypershift-on-azure/hypershift/internal/controlplane/table"

// controlPlane prints the table that the tests of the control plane assert.
func controlPlane() (string, error) {
	rows, err := table.Load()
	if err != nil {
		return "", err
	}
	return rows.Markdown(), nil
}
