/** The commands, for palette, context menu and other extensions. Without arguments they mean the active row. */

import { Clipboard } from '@jupyterlab/apputils';
import { filterIcon, refreshIcon } from '@jupyterlab/ui-components';
import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';

import { Actions } from './actions';
import {
  activeWorkload,
  Args,
  argsSchema,
  clusterOf,
  isGiven,
  logTarget,
  NO_ARGS,
  textArg,
  workloadOf
} from './commandargs';
import { CommandIds } from './commandids';
import { ILogTarget } from './logview';
import { Outline } from './outline';
import { whyNotEnd } from './text';
import { IClustersModel } from './tokens';

export interface ICommandContext {
  model: IClustersModel;
  outline: Outline;
  actions: Actions;
  trans: TranslationBundle;
  openLog(workload: ILogTarget): void;
  showPanel(): void;
  setShowFinished(value: boolean): void;
}

export function addCommands(commands: CommandRegistry, context: ICommandContext): void {
  addListCommands(commands, context);
  addClusterCommands(commands, context);
  addWorkloadCommands(commands, context);
}

function addListCommands(commands: CommandRegistry, context: ICommandContext): void {
  const { model, outline, trans } = context;
  commands.addCommand(CommandIds.showPanel, {
    label: trans.__('Show GPU Clusters'),
    describedBy: { args: NO_ARGS },
    execute: () => context.showPanel()
  });
  commands.addCommand(CommandIds.refresh, {
    label: trans.__('Refresh GPU Clusters'),
    caption: trans.__('Refresh'),
    icon: refreshIcon,
    describedBy: { args: NO_ARGS },
    execute: () => model.refresh()
  });
  commands.addCommand(CommandIds.toggleFinished, {
    label: trans.__('Hide Workloads That Have Ended'),
    icon: filterIcon,
    describedBy: { args: NO_ARGS },
    isToggled: () => !outline.showFinished,
    execute: () => context.setShowFinished(!outline.showFinished)
  });
  commands.addCommand(CommandIds.copyName, {
    label: trans.__('Copy Name'),
    describedBy: { args: argsSchema({ name: trans.__('The text to copy') }) },
    isEnabled: args => nameOf(args, outline) !== null,
    execute: args => {
      const name = nameOf(args, outline);
      if (name !== null) {
        Clipboard.copyToSystem(name);
      }
    }
  });
}

function addClusterCommands(commands: CommandRegistry, context: ICommandContext): void {
  const { actions, trans } = context;
  commands.addCommand(CommandIds.deleteCluster, {
    label: trans.__('Delete Cluster…'),
    describedBy: {
      args: argsSchema({
        account: trans.__('Name of the account'),
        cluster_id: trans.__("The provider's id of the cluster")
      })
    },
    isEnabled: args => isGiven(args, 'cluster_id') || isEndable('cluster', context),
    execute: async args => {
      const cluster = await clusterOf(args, context);
      if (cluster) {
        await actions.deleteCluster(cluster);
      }
    }
  });
}

function addWorkloadCommands(commands: CommandRegistry, context: ICommandContext): void {
  const { actions, outline, trans } = context;
  const schema = argsSchema({
    account: trans.__('Name of the account'),
    cluster_id: trans.__("The provider's id of the cluster"),
    workload_id: trans.__("The provider's id of the workload")
  });
  commands.addCommand(CommandIds.cancelWorkload, {
    label: trans.__('Cancel Workload…'),
    describedBy: { args: schema },
    isEnabled: args => isGiven(args, 'workload_id') || isEndable('workload', context),
    execute: async args => {
      const workload = await workloadOf(args, context);
      if (workload) {
        await actions.cancelWorkload(workload);
      }
    }
  });
  commands.addCommand(CommandIds.showLogs, {
    label: trans.__('Show Log'),
    describedBy: { args: schema },
    isEnabled: args => isGiven(args, 'workload_id') || activeWorkload(outline) !== null,
    execute: args => {
      const target = isGiven(args, 'workload_id') ? logTarget(args) : activeWorkload(outline);
      if (target) {
        context.openLog(target);
      }
    }
  });
}

function isEndable(kind: 'cluster' | 'workload', { outline, trans }: ICommandContext): boolean {
  const row = outline.active;
  return row?.kind === kind && whyNotEnd(row, trans) === null;
}

function nameOf(args: Args, outline: Outline): string | null {
  if (isGiven(args, 'name')) {
    return textArg(args, 'name');
  }
  const row = outline.active;
  switch (row?.kind) {
    case 'cluster':
      return row.cluster.full_name;
    case 'workload':
      return row.workload.full_name;
    default:
      return row?.name ?? null;
  }
}
