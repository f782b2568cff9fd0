package azure

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
)

const (
	// apiMachines is that of virtual machines.
	apiMachines = "2024-03-01"
	// consoleLimit in bytes is more than Azure keeps of a console.
	consoleLimit = 16 << 20
)

// ConsoleLog is what a virtual machine has written to its serial console since its last start, as its boot diagnostics keep it.
func (s *Session) ConsoleLog(ctx context.Context, id string) ([]byte, error) {
	var answer struct {
		Address string `json:"serialConsoleLogBlobUri"`
	}
	query := url.Values{"sasUriExpirationTimeInMinutes": {"10"}}
	if err := s.callQuery(ctx, http.MethodPost, id+"/retrieveBootDiagnosticsData", apiMachines, query, nil, &answer); err != nil {
		return nil, err
	}
	if answer.Address == "" {
		return nil, errors.New("Azure names no console log; is boot diagnostics on?")
	}
	log, status, err := s.readPublic(ctx, answer.Address, consoleLimit)
	var asked *url.Error
	if errors.As(err, &asked) {
		err = asked.Err // the address opens the log for whoever reads it
	}
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("its address answers %d", status)
	}
	if err != nil {
		return nil, fmt.Errorf("read the console log that Azure names: %w", err)
	}
	return log, nil
}
