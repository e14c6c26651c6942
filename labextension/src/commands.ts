/** The commands, for palette, context menu and other extensions. Without arguments they mean the active row. */

import { Clipboard } from '@jupyterlab/apputils';
import { filterIcon, refreshIcon } from '@jupyterlab/ui-components';
import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { ReadonlyJSONObject, ReadonlyPartialJSONObject } from '@lumino/coreutils';

import { Actions } from './actions';
import { ICluster, IWorkload } from './api';
import { CommandIds } from './commandids';
import { ILogTarget } from './logview';
import { Outline } from './outline';
import { whyNotEnd } from './text';
import { IClustersModel } from './tokens';
import { clusterKey, workloadKey } from './tree';

export interface ICommandContext {
  model: IClustersModel;
  outline: Outline;
  actions: Actions;
  trans: TranslationBundle;
  openLog(workload: ILogTarget): void;
  showPanel(): void;
  setShowFinished(value: boolean): void;
}

type Args = ReadonlyPartialJSONObject;

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
  const { actions, outline, trans } = context;
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
      const row = outline.active;
      const cluster = isGiven(args, 'cluster_id')
        ? await findCluster(args, context)
        : row?.kind === 'cluster' && row.cluster;
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
  const activeWorkload = () =>
    outline.active?.kind === 'workload' ? outline.active.workload : null;
  commands.addCommand(CommandIds.cancelWorkload, {
    label: trans.__('Cancel Workload…'),
    describedBy: { args: schema },
    isEnabled: args => isGiven(args, 'workload_id') || isEndable('workload', context),
    execute: async args => {
      const workload = isGiven(args, 'workload_id')
        ? await findWorkload(args, context)
        : activeWorkload();
      if (workload) {
        await actions.cancelWorkload(workload);
      }
    }
  });
  commands.addCommand(CommandIds.showLogs, {
    label: trans.__('Show Log'),
    describedBy: { args: schema },
    isEnabled: args => isGiven(args, 'workload_id') || activeWorkload() !== null,
    execute: args => {
      const target = isGiven(args, 'workload_id') ? logTarget(args) : activeWorkload();
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

function isGiven(args: Args, name: string): boolean {
  return typeof args[name] === 'string';
}

function textArg(args: Args, name: string): string {
  const value = args[name];
  return typeof value === 'string' ? value : '';
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

function logTarget(args: Args): ILogTarget {
  const ids = {
    account: textArg(args, 'account'),
    cluster_id: textArg(args, 'cluster_id'),
    workload_id: textArg(args, 'workload_id')
  };
  return { ...ids, full_name: textArg(args, 'full_name') || ids.workload_id };
}

async function findCluster(args: Args, { model }: ICommandContext): Promise<ICluster | undefined> {
  await model.refresh();
  const key = clusterKey({
    account: textArg(args, 'account'),
    cluster_id: textArg(args, 'cluster_id')
  });
  return model.view.state?.clusters.find(cluster => clusterKey(cluster) === key);
}

async function findWorkload(
  args: Args,
  { model }: ICommandContext
): Promise<IWorkload | undefined> {
  await model.refresh();
  const key = workloadKey(logTarget(args));
  return model.view.state?.workloads.find(workload => workloadKey(workload) === key);
}

const NO_ARGS: ReadonlyJSONObject = { type: 'object', properties: {} };

function argsSchema(descriptions: Record<string, string>): ReadonlyJSONObject {
  const entries = Object.entries(descriptions);
  return {
    type: 'object',
    properties: Object.fromEntries(
      entries.map(([name, description]) => [name, { type: 'string', description }])
    )
  };
}
