package server

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

	"github.com/hypershift-on-azure/hypershift/internal/ignition/machinereport"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

// Reports come from machines with a token of their pool, which is all that is known of them: sizes, number and rate are bounded, and a
// report is only ever shown as what a machine says.
const (
	headerMachine = "Machine"
	headerStage   = "Stage"
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
	all := machinereport.Of(secret)
	known, there := all[machine]
	if known.Stage == stage && known.Text == text {
		return nil
	}
	if !there && len(all) >= maxReports {
		return errManyReports
	}
	changed := secret.DeepCopy()
	since := r.now()
	if known.Stage == stage {
		since = known.Since
	}
	machinereport.Keep(changed, machine, machinereport.Report{Stage: stage, Since: since, Text: text})
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
	if stage != "" && !machinereport.KnownStage(stage) {
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
