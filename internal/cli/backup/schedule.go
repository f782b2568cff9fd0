package backup

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cronspec"
)

// timing is what schedule was asked for.
type timing struct {
	target
	cron        string
	off, dryRun bool
}

func newScheduleCommand() *cobra.Command {
	s := &timing{}
	cmd := s.verb(&cobra.Command{
		Use: "schedule NAME", Short: "Save the etcd of a hosted cluster again and again",
		Long: `Has the etcd of a hosted cluster saved again and again, with the storage and the identity of the newest backup that succeeded: make the first
with hypershift backup create. Of the backups that succeed, the operator keeps as many as its --etcd-backup-max-count says, and as many of those
that fail; what lies in the storage stays, until a lifecycle rule of the storage account deletes it. Of those that are missed, such as while
the operator is away, the last is made up for. Without a flag, the schedule that is set is printed.

The schedule is annotation ` + hyperv1.EtcdBackupScheduleAnnotation + ` of the HostedCluster.`,
		Example: "  hypershift backup schedule demo --cron @daily\n  hypershift backup schedule demo\n  hypershift backup schedule demo --off",
	}, func(cmd *cobra.Command) error {
		return s.run(cmd.Context(), cmd.OutOrStdout(), cmd.Flags().Changed("cron"))
	})
	flags := cmd.Flags()
	flags.StringVar(&s.cron, "cron", "", "when: five fields of cron in UTC, or @hourly, @daily, @weekly, @monthly, @yearly")
	flags.BoolVar(&s.off, "off", false, "make no more backups by themselves; those that are there stay")
	flags.BoolVar(&s.dryRun, "dry-run", false, "say what would change and write nothing")
	cmd.MarkFlagsMutuallyExclusive("cron", "off")
	return cmd
}

func (s *timing) run(ctx context.Context, out io.Writer, asked bool) error {
	hc, err := s.read(ctx)
	if err != nil {
		return err
	}
	had := hc.Annotations[hyperv1.EtcdBackupScheduleAnnotation]
	switch {
	case asked:
		return s.set(ctx, out, hc, had)
	case s.off && had == "":
		_, err = fmt.Fprintf(out, "%s has no schedule of backups\n", s.name)
		return err
	case s.off:
		return s.write(ctx, out, hc, "", "no more backups of "+s.name+" are made by themselves")
	case had == "":
		_, err = fmt.Fprintf(out, "%s has no schedule of backups; set one with: hypershift backup schedule %s --namespace %s --cron '0 2 * * *'\n", s.name, s.name, s.namespace)
		return err
	}
	_, err = fmt.Fprintln(out, had)
	return err
}

// set writes the schedule, once there is a backup that says where to.
func (s *timing) set(ctx context.Context, out io.Writer, hc *hyperv1.HostedCluster, had string) error {
	schedule, err := cronspec.Parse(s.cron)
	if err != nil {
		return fmt.Errorf("--cron: %w", err)
	}
	all, err := s.backups(ctx)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return errors.New("there is no backup yet whose storage and identity a schedule could use; make the first with: hypershift backup create " + s.name + " --namespace " + s.namespace + " --wait")
	}
	next := schedule.Next(s.now()).Format("2006-01-02 15:04 UTC")
	if had == s.cron {
		_, err := fmt.Fprintf(out, "%s has this schedule already; the next backup is made at %s\n", s.name, next)
		return err
	}
	return s.write(ctx, out, hc, s.cron, "etcd of "+s.name+" is saved at "+s.cron+", next at "+next)
}

// write changes the annotation, "" removes it, and says what was done.
func (s *timing) write(ctx context.Context, out io.Writer, hc *hyperv1.HostedCluster, schedule, done string) error {
	before := hc.DeepCopy()
	delete(hc.Annotations, hyperv1.EtcdBackupScheduleAnnotation)
	if schedule != "" {
		if hc.Annotations == nil {
			hc.Annotations = map[string]string{}
		}
		hc.Annotations[hyperv1.EtcdBackupScheduleAnnotation] = schedule
	}
	if s.dryRun {
		_, err := fmt.Fprintf(out, "would write: %s\n", done)
		return err
	}
	if err := s.client.Patch(ctx, hc, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("write the schedule of HostedCluster %s/%s: %w", hc.Namespace, hc.Name, err)
	}
	_, err := fmt.Fprintln(out, done)
	return err
}
