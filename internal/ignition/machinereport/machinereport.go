// Package machinereport is what machines say of themselves while they are no nodes yet, and how a token secret keeps it.
package machinereport

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	// Path of the ignition server takes what machines say.
	Path = "/report"
	// reportKey and stageKey precede the machine's name among the keys of a token secret.
	reportKey = "report."
	stageKey  = "stage."
)

// Stages of a machine that only it knows, in their order; docs/nodes.md says what each of them is.
const (
	StageBooted              = "Booted"
	StageKubeletStarted      = "KubeletStarted"
	StageCertificateAsked    = "CertificateAsked"
	StageCertificateApproved = "CertificateApproved"
)

var stages = map[string]bool{StageBooted: true, StageKubeletStarted: true, StageCertificateAsked: true, StageCertificateApproved: true}

// KnownStage tells whether a machine can say that it is so far.
func KnownStage(stage string) bool { return stages[stage] }

// Report is what a machine said last.
type Report struct {
	// Stage is how far it is, and Since when; empty while it has not said so.
	Stage string
	Since time.Time
	// Text is why it is no node yet, on one line.
	Text string
}

// Of is what machines said last of how far they are and why they are no nodes yet, by machine.
func Of(secret *corev1.Secret) map[string]Report {
	reports := map[string]Report{}
	for key, value := range secret.Data {
		if machine, ok := strings.CutPrefix(key, reportKey); ok {
			report := reports[machine]
			report.Text = string(value)
			reports[machine] = report
		}
		if machine, ok := strings.CutPrefix(key, stageKey); ok {
			report := reports[machine]
			stage, since, _ := strings.Cut(string(value), " ")
			if at, err := time.Parse(time.RFC3339, since); err == nil && stages[stage] {
				report.Stage, report.Since = stage, at
			}
			reports[machine] = report
		}
	}
	return reports
}

// Drop removes those of the machines from the secret, and tells whether there were any.
func Drop(secret *corev1.Secret, drop func(machine string) bool) bool {
	dropped := false
	for machine := range Of(secret) {
		if drop(machine) {
			delete(secret.Data, reportKey+machine)
			delete(secret.Data, stageKey+machine)
			dropped = true
		}
	}
	return dropped
}

// Keep stores the machine's latest report. An empty report removes the stored one.
func Keep(secret *corev1.Secret, machine string, said Report) {
	Drop(secret, func(other string) bool { return other == machine })
	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	if said.Text != "" {
		secret.Data[reportKey+machine] = []byte(said.Text)
	}
	if said.Stage != "" {
		secret.Data[stageKey+machine] = []byte(said.Stage + " " + said.Since.UTC().Format(time.RFC3339))
	}
}
