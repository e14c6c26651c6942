/** The commands that open forms and details, and that suspend and resume. */

import { addIcon, infoIcon } from '@jupyterlab/ui-components';
import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';

import { Actions } from './actions';
import { ICluster } from './api';
import {
  activeWorkload,
  Args,
  argsSchema,
  clusterOf,
  IPlaces,
  isGiven,
  textArg,
  workloadOf
} from './commandargs';
import { CommandIds } from './commandids';
import { Known } from './facts';
import { Target } from './forms/target';
import { clusterIcon } from './icons';
import { canBeChanged, canResume, canSuspend } from './text';

export interface IFormCommandContext extends IPlaces {
  actions: Actions;
  trans: TranslationBundle;
  openForm(target: Target): Promise<void>;
  openDetails(thing: Known): void;
}

export function addFormCommands(commands: CommandRegistry, context: IFormCommandContext): void {
  addCreate(commands, context);
  addClusterForms(commands, context);
  addRest(commands, context);
  addDetails(commands, context);
}

function addCreate(commands: CommandRegistry, context: IFormCommandContext): void {
  const { outline, openForm, trans } = context;
  commands.addCommand(CommandIds.newCluster, {
    label: args => (args.isLauncher ? trans.__('New GPU Cluster') : trans.__('New Cluster…')),
    caption: trans.__('New cluster'),
    icon: args => (args.isLauncher ? clusterIcon : addIcon),
    describedBy: { args: argsSchema({ account: trans.__('Name of the account') }) },
    isEnabled: args => {
      const row = outline.active;
      return args.ofRow !== true || row?.kind !== 'account' || row.account.can.includes('create');
    },
    execute: args => {
      const row = outline.active;
      const ofRow = args.ofRow === true && row?.kind === 'account' ? row.account.account : null;
      return openForm({
        kind: 'create',
        account: isGiven(args, 'account') ? textArg(args, 'account') : ofRow
      });
    }
  });
}

function addClusterForms(commands: CommandRegistry, context: IFormCommandContext): void {
  const { outline, openForm, trans } = context;
  const schema = argsSchema({
    account: trans.__('Name of the account'),
    cluster_id: trans.__("The provider's id of the cluster")
  });
  const isPossible = (args: Args, ability: string) =>
    isGiven(args, 'cluster_id') || canBeChanged(outline.active, ability);
  const open = async (args: Args, targetOf: (cluster: ICluster) => Target) => {
    const cluster = await clusterOf(args, context);
    if (cluster) {
      await openForm(targetOf(cluster));
    }
  };
  commands.addCommand(CommandIds.submitWorkload, {
    label: trans.__('Submit Workload…'),
    describedBy: { args: schema },
    isEnabled: args => isPossible(args, 'workloads'),
    execute: args => open(args, cluster => ({ kind: 'submit', ...idsOf(cluster) }))
  });
  commands.addCommand(CommandIds.scaleCluster, {
    label: trans.__('Scale…'),
    describedBy: { args: schema },
    isEnabled: args => isPossible(args, 'scale'),
    execute: args =>
      open(args, cluster => ({ kind: 'scale', nodes: cluster.node_count, ...idsOf(cluster) }))
  });
  commands.addCommand(CommandIds.act, {
    label: args => trans.__('%1…', textArg(args, 'title') || textArg(args, 'action')),
    describedBy: { args: schema },
    isEnabled: args => isGiven(args, 'action') && isPossible(args, 'actions'),
    execute: args => {
      const action = textArg(args, 'action');
      const title = textArg(args, 'title') || action;
      return open(args, cluster => ({ kind: 'act', action, title, ...idsOf(cluster) }));
    }
  });
}

function addRest(commands: CommandRegistry, context: IFormCommandContext): void {
  const { actions, outline, trans } = context;
  const schema = argsSchema({
    account: trans.__('Name of the account'),
    cluster_id: trans.__("The provider's id of the cluster"),
    workload_id: trans.__("The provider's id of the workload")
  });
  commands.addCommand(CommandIds.suspendWorkload, {
    label: trans.__('Suspend…'),
    describedBy: { args: schema },
    isEnabled: args => isGiven(args, 'workload_id') || canSuspend(outline.active),
    execute: async args => {
      const workload = await workloadOf(args, context);
      if (workload) {
        await actions.suspend(workload);
      }
    }
  });
  commands.addCommand(CommandIds.resumeWorkload, {
    label: trans.__('Resume'),
    describedBy: { args: schema },
    isEnabled: args => isGiven(args, 'workload_id') || canResume(outline.active),
    execute: async args => {
      const workload = await workloadOf(args, context);
      if (workload) {
        await actions.resume(workload);
      }
    }
  });
}

function addDetails(commands: CommandRegistry, context: IFormCommandContext): void {
  const { outline, openDetails, trans } = context;
  commands.addCommand(CommandIds.showDetails, {
    label: trans.__('Details'),
    icon: infoIcon,
    describedBy: {
      args: argsSchema({
        account: trans.__('Name of the account'),
        cluster_id: trans.__("The provider's id of the cluster"),
        workload_id: trans.__("The provider's id of the workload")
      })
    },
    isEnabled: args =>
      isGiven(args, 'cluster_id') || (outline.active !== null && outline.active.kind !== 'account'),
    execute: async args => {
      if (!isGiven(args, 'cluster_id') && outline.active?.kind === 'order') {
        openDetails(outline.active.order);
        return;
      }
      const isOfWorkload = isGiven(args, 'cluster_id')
        ? isGiven(args, 'workload_id')
        : activeWorkload(outline) !== null;
      const thing = await (isOfWorkload ? workloadOf(args, context) : clusterOf(args, context));
      if (thing) {
        openDetails(thing);
      }
    }
  });
}

function idsOf({ account, cluster_id, full_name }: ICluster) {
  return { account, cluster_id, full_name };
}
