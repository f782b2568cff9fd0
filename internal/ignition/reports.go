package ignition

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

// Reports come from machines with a token of their pool, which is all that is known of them: sizes, number and rate are bounded, and a
// report is only ever shown as what a machine says.
const (
	reportPath    = "/report"
	headerMachine = "Machine"
	headerStage   = "Stage"
	// reportKey and stageKey precede the machine's name among the keys of a token secret.
	reportKey = "report."
	stageKey  = "stage."
	// maxReport is in bytes, maxReports in machines of one token secret.
	maxReport  = 2048
	maxReports = 20
	// reportPeriod is how often the machines of a token secret may write on average, reportBurst how often at once.
	reportPeriod = 5 * time.Second
	reportBurst  = 10
)

var (
	machineName    = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$`)
	errManyReports = errors.New("too many reports; try again later")
)

// Stages of a machine that only it knows, in their order; docs/nodes.md says what each of them is.
const (
	StageBooted              = "Booted"
	StageKubeletStarted      = "KubeletStarted"
	StageCertificateAsked    = "CertificateAsked"
	StageCertificateApproved = "CertificateApproved"
)

var stages = map[string]bool{StageBooted: true, StageKubeletStarted: true, StageCertificateAsked: true, StageCertificateApproved: true}

// Report is what a machine said last.
type Report struct {
	// Stage is how far it is, and Since when; empty while it has not said so.
	Stage string
	Since time.Time
	// Text is why it is no node yet, on one line.
	Text string
}

// Reports are what machines said last of how far they are and why they are no nodes yet, by machine.
func Reports(secret *corev1.Secret) map[string]Report {
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

// DropReports removes those of the machines from the secret, and tells whether there were any.
func DropReports(secret *corev1.Secret, drop func(machine string) bool) bool {
	dropped := false
	for machine := range Reports(secret) {
		if drop(machine) {
			delete(secret.Data, reportKey+machine)
			delete(secret.Data, stageKey+machine)
			dropped = true
		}
	}
	return dropped
}

// reports keeps what machines say in the token secret of their pool, where the pool's conditions read it.
type reports struct {
	client    client.Client
	namespace string
	now       func() time.Time

	mu       sync.Mutex
	limiters map[string]*rate.Limiter
}

func (r *reports) allowed(secret string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.limiters == nil {
		r.limiters = map[string]*rate.Limiter{}
	}
	limiter := r.limiters[secret]
	if limiter == nil {
		limiter = rate.NewLimiter(rate.Every(reportPeriod), reportBurst)
		r.limiters[secret] = limiter
	}
	return limiter.AllowN(r.now(), 1)
}

// keep replaces the machine's report; one of neither stage nor text takes it back. A stage is since when it was first told.
func (r *reports) keep(ctx context.Context, name, machine, stage, text string) error {
	if !r.allowed(name) {
		return errManyReports
	}
	secret := &corev1.Secret{}
	if err := r.client.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: name}, secret); err != nil {
		return fmt.Errorf("read the token secret %s: %w", name, err)
	}
	all := Reports(secret)
	known, there := all[machine]
	if known.Stage == stage && known.Text == text {
		return nil
	}
	if !there && len(all) >= maxReports {
		return errManyReports
	}
	changed := secret.DeepCopy()
	DropReports(changed, func(other string) bool { return other == machine })
	if changed.Data == nil {
		changed.Data = map[string][]byte{}
	}
	if text != "" {
		changed.Data[reportKey+machine] = []byte(text)
	}
	if stage != "" {
		since := r.now().UTC().Format(time.RFC3339)
		if known.Stage == stage {
			since = known.Since.UTC().Format(time.RFC3339)
		}
		changed.Data[stageKey+machine] = []byte(stage + " " + since)
	}
	if err := r.client.Patch(ctx, changed, client.MergeFrom(secret)); err != nil {
		return fmt.Errorf("keep the report of %s in %s: %w", machine, name, err)
	}
	return nil
}

// receive answers a machine that reports.
func (r *reports) receive(w http.ResponseWriter, request *http.Request, from entry) {
	machine := request.Header.Get(headerMachine)
	if !machineName.MatchString(machine) {
		http.Error(w, "Machine names no machine", http.StatusBadRequest)
		return
	}
	stage := request.Header.Get(headerStage)
	if stage != "" && !stages[stage] {
		http.Error(w, "Stage is unknown", http.StatusBadRequest)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, maxReport))
	if err != nil {
		http.Error(w, "Report too large", http.StatusRequestEntityTooLarge)
		return
	}
	switch err := r.keep(request.Context(), from.secret, machine, stage, readable(string(body))); {
	case errors.Is(err, errManyReports):
		http.Error(w, err.Error(), http.StatusTooManyRequests)
	case err != nil:
		http.Error(w, "Report not kept", http.StatusServiceUnavailable)
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}

// readable is one line that can stand in a condition: nothing that moves a terminal's cursor.
func readable(text string) string {
	text = strings.Map(func(char rune) rune {
		switch {
		case unicode.IsSpace(char):
			return ' '
		case unicode.IsPrint(char):
			return char
		}
		return -1
	}, strings.ToValidUTF8(text, ""))
	return kube.Shorten(strings.TrimSpace(text), maxReport)
}
