package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hypershift-on-azure/hypershift/internal/cli/command"
	"github.com/hypershift-on-azure/hypershift/sandbox"
)

func sandboxFault(dir *string) *cobra.Command {
	cmd := command.Parent("fault", "Make the embedded Azure, or a node of the management cluster, fail on purpose",
		sandboxFaultAdd(dir), sandboxFaultList(dir), sandboxFaultClear(dir), sandboxFaultNode(dir))
	cmd.Long = `Make the embedded Azure misbehave on purpose: slow, throttled, inconsistent and half-answered requests.

A fault is a rule: which requests, how often, and what goes wrong. Rules apply at once, are kept over a restart of the
sandbox in azure/faults.json of its directory, and stay until they are cleared. The access log names the rules that hit
a request.

"node" fails a node of the management cluster.`
	return cmd
}

func sandboxFaultAdd(dir *string) *cobra.Command {
	var f faultFlags
	var output string
	cmd := &cobra.Command{
		Use:   "add",
		Short: "Add a fault",
		Long: `Add a fault: a preset, changed by other flags, or one made of flags, or those of a file.

Presets:
` + presetTable(),
		Example: `  hypershift sandbox fault add --preset principal-not-found --seconds 5
  hypershift sandbox fault add --preset throttled --probability 0.05 --seed 7 --retry-after 2s
  hypershift sandbox fault add --plane arm --method PUT --path 'virtualNetworks/*' --status 409 --code Conflict --count 2
  hypershift sandbox fault add --latency 100ms`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			faults, err := f.faults()
			if err != nil {
				return err
			}
			added, err := sandbox.AddFaults(cmd.Context(), *dir, faults...)
			if err != nil {
				return err
			}
			return printFaults(cmd.OutOrStdout(), added, output)
		},
	}
	f.add(cmd.Flags())
	cmd.MarkFlagsMutuallyExclusive("reset-before", "reset-after")
	cmd.MarkFlagsMutuallyExclusive("file", "preset")
	outputFlag(cmd, &output)
	return cmd
}

// faultFlags say what goes wrong.
type faultFlags struct {
	fault                      sandbox.Fault
	latency, retryAfter, clock time.Duration
	resetBefore, resetAfter    bool
	patch, file                string
}

func (f *faultFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.fault.Preset, "preset", "", "a named fault")
	flags.StringVar(&f.file, "file", "", `add the faults of a JSON file, {"rules": [...]}, in the form of "fault list -o json"`)
	flags.StringVar(&f.fault.ID, "id", "", "name of the fault (default f1, f2, ...)")
	flags.StringVar(&f.fault.Plane, "plane", "", "only requests to arm, entra, graph, blob or vault")
	flags.StringVar(&f.fault.Method, "method", "", "only these HTTP methods, separated by commas")
	flags.StringVar(&f.fault.Path, "path", "", "only these paths, case ignored: * is any text without a slash, ** any text; a pattern without a leading slash may begin at any segment; regexp:EXPRESSION")
	flags.StringVar(&f.fault.Principal, "principal", "", "only requests of this client id or object id")
	flags.BoolVar(&f.fault.Create, "create", false, "only a PUT of a resource that does not exist")
	flags.IntVar(&f.fault.Count, "count", 0, "hit this many requests (default all)")
	flags.Float64Var(&f.fault.Chance, "probability", 0, "hit a request with this probability (default all)")
	flags.Uint64Var(&f.fault.Seed, "seed", 0, "of the probability; the same seed gives the same hits (default 1)")
	flags.DurationVar(&f.latency, "latency", 0, "answer later by this time")
	flags.IntVar(&f.fault.Status, "status", 0, "answer with this HTTP status, 400 to 599")
	flags.StringVar(&f.fault.Code, "code", "", "error code of the answer, or of the failing operation; for entra the number of an AADSTS error")
	flags.StringVar(&f.fault.Message, "message", "", "error message of the answer")
	flags.DurationVar(&f.retryAfter, "retry-after", 0, "Retry-After of the answer")
	flags.BoolVar(&f.resetBefore, "reset-before", false, "reset the connection before the request takes effect")
	flags.BoolVar(&f.resetAfter, "reset-after", false, "reset the connection after the request took effect: the answer is lost")
	flags.StringVar(&f.fault.Operation, "operation", "", "what the long-running operation of the request does: slow or fail")
	flags.StringVar(&f.fault.Propagate, "propagation", "", "what takes --seconds to spread after its creation: identity, role or federation")
	flags.Float64Var(&f.fault.Seconds, "seconds", 0, "of --propagation and --operation")
	flags.DurationVar(&f.clock, "clock", 0, "how far the clock of the token service is ahead")
	flags.IntVar(&f.fault.PageSize, "page-size", 0, "cut lists into pages of this size")
	flags.BoolVar(&f.fault.IDCase, "change-id-case", false, "spell ids in answers in another case")
	flags.StringVar(&f.patch, "patch", "", "JSON merged into the request's body, as a policy with the effect modify does")
}

// faults are the one of the flags, or those of the file.
func (f *faultFlags) faults() ([]sandbox.Fault, error) {
	fault := f.fault
	fault.Latency, fault.RetryAfter, fault.Clock = sandbox.FaultDuration(f.latency), sandbox.FaultDuration(f.retryAfter), sandbox.FaultDuration(f.clock)
	switch {
	case f.resetBefore:
		fault.Reset = "before"
	case f.resetAfter:
		fault.Reset = "after"
	}
	if f.patch != "" {
		if err := json.Unmarshal([]byte(f.patch), &fault.Patch); err != nil {
			return nil, fmt.Errorf("--patch is no JSON object: %w", err)
		}
	}
	if f.file != "" {
		return readFaults(f.file)
	}
	return []sandbox.Fault{fault}, nil
}

func presetTable() string { return summaryTable(sandbox.FaultPresets()) }

// summaryTable has a line for each name.
func summaryTable(summaries map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(summaries)) {
		fmt.Fprintf(&b, "  %-24s %s\n", name, summaries[name])
	}
	return b.String()
}

func sandboxFaultNode(dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "node NAME FAULT",
		Short: "Fail a node of the management cluster, and bring it back",
		Long: `Fail a node of the management cluster, and bring it back. The sandbox has to have several: hypershift sandbox up --management-nodes 3.
The first node is this machine, with the management API server, and cannot fail alone. A node fails in one way at a time: another one takes
the place of the one before.

The disk of a node's volumes is a file system in a file of 8 GiB, which takes no more room than what is written. It needs loop devices and the
program mkfs.ext4. A node that was made without them has its volumes in a directory of this machine, and its disk cannot fail.

Faults:
` + summaryTable(sandbox.NodeFaults()),
		Example: `  hypershift sandbox fault node management-1 down
  hypershift sandbox fault node management-2 disk-full
  hypershift sandbox fault node management-1 up`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return sandbox.FaultNode(cmd.Context(), *dir, args[0], args[1], cmd.ErrOrStderr())
		},
	}
}

func readFaults(file string) ([]sandbox.Fault, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("reading the faults: %w", err)
	}
	defer f.Close()
	var doc struct {
		Rules []sandbox.Fault `json:"rules"`
	}
	decoder := json.NewDecoder(f)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&doc); err != nil {
		return nil, fmt.Errorf("%s is no file of faults: %w", file, err)
	}
	if len(doc.Rules) == 0 {
		return nil, errors.New(file + ` has no faults: it needs {"rules": [...]}`)
	}
	return doc.Rules, nil
}

func sandboxFaultList(dir *string) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the faults and how often each hit",
		Example: `  hypershift sandbox fault list
  hypershift sandbox fault list -o json > faults.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			faults, err := sandbox.ListFaults(cmd.Context(), *dir)
			if err != nil {
				return err
			}
			return printFaults(cmd.OutOrStdout(), faults, output)
		},
	}
	outputFlag(cmd, &output)
	return cmd
}

func sandboxFaultClear(dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "clear [ID...]",
		Short: "Remove faults, all when none is named",
		Example: `  hypershift sandbox fault clear
  hypershift sandbox fault clear f1`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return sandbox.ClearFaults(cmd.Context(), *dir, args...)
		},
	}
}

func printFaults(w io.Writer, faults []sandbox.Fault, output string) error {
	if output == "json" {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		if faults == nil {
			faults = []sandbox.Fault{}
		}
		return encoder.Encode(map[string]any{"rules": faults})
	}
	if len(faults) == 0 {
		_, err := fmt.Fprintln(w, "No faults.")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "ID\tPRESET\tPLANE\tMETHOD\tPATH\tOFTEN\tHITS\tEFFECT")
	for _, f := range faults {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%d\t%s\n", f.ID, orDash(f.Preset), orDash(f.Plane), orDash(f.Method), orDash(f.Path), often(f), f.Fired, f.Effect())
	}
	return t.Flush()
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func often(f sandbox.Fault) string {
	var parts []string
	if f.Chance > 0 {
		parts = append(parts, fmt.Sprintf("%g%%", f.Chance*100))
	}
	if f.Count > 0 {
		parts = append(parts, fmt.Sprintf("%dx", f.Count))
	}
	if len(parts) == 0 {
		return "always"
	}
	return strings.Join(parts, ", ")
}
