/** The commands about what is not certain. Without arguments they mean the active row. */

import { closeIcon, deleteIcon, linkIcon, refreshIcon } from '@jupyterlab/ui-components';
import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';

import { ICluster, IOrder } from './api';
import { isOutcomeUnknown } from './certainty';
import { activeCluster, Args, argsSchema, IPlaces, isGiven, NO_ARGS, textArg } from './commandargs';
import { CommandIds } from './commandids';
import { Recovery } from './recovery';

export interface IRecoveryCommandContext extends IPlaces {
  recovery: Recovery;
  trans: TranslationBundle;
  openOrphans(): void;
}

export function addRecoveryCommands(
  commands: CommandRegistry,
  context: IRecoveryCommandContext
): void {
  addOrderCommands(commands, context);
  addClose(commands, context);
  commands.addCommand(CommandIds.showOrphans, {
    label: context.trans.__('Show What Was Not Ordered Here'),
    describedBy: { args: NO_ARGS },
    execute: () => context.openOrphans()
  });
}

function addOrderCommands(commands: CommandRegistry, context: IRecoveryCommandContext): void {
  const { recovery, trans } = context;
  const describedBy = { args: argsSchema({ order_id: trans.__('The id of the order') }) };
  const isFor = (args: Args, fits: (order: IOrder) => boolean) => {
    const order = orderOf(args, context);
    return order !== null && fits(order);
  };
  const on = (work: (order: IOrder) => Promise<void>) => async (args: Args) => {
    const order = orderOf(args, context);
    if (order) {
      await work(order);
    }
  };
  commands.addCommand(CommandIds.checkOrder, {
    label: trans.__('Check Now'),
    icon: refreshIcon,
    describedBy,
    isEnabled: args => isFor(args, () => true),
    execute: on(order => recovery.check(order))
  });
  commands.addCommand(CommandIds.adoptOrder, {
    label: trans.__('Adopt…'),
    icon: linkIcon,
    describedBy,
    isEnabled: args =>
      isFor(
        args,
        order =>
          order.verb === 'create' &&
          isOutcomeUnknown(order) &&
          recovery.candidatesOf(order)?.length !== 0
      ),
    execute: on(order => recovery.adopt(order))
  });
  commands.addCommand(CommandIds.deleteOnSight, {
    label: trans.__('Delete As Soon As It Shows…'),
    icon: deleteIcon,
    describedBy,
    isEnabled: args => isFor(args, order => order.verb === 'create' && !order.on_sight),
    execute: on(order => recovery.deleteOnSight(order))
  });
}

/** For open orders and for clusters that vanished. */
function addClose(commands: CommandRegistry, context: IRecoveryCommandContext): void {
  const { recovery, trans } = context;
  commands.addCommand(CommandIds.closeWithStatement, {
    label: trans.__('Close…'),
    caption: trans.__('State that nothing exists of it'),
    icon: closeIcon,
    describedBy: {
      args: argsSchema({
        order_id: trans.__('The id of the order'),
        account: trans.__('Name of the account'),
        cluster_id: trans.__("The provider's id of a cluster that vanished")
      })
    },
    isEnabled: args => {
      const order = orderOf(args, context);
      return order ? isOutcomeUnknown(order) : vanishedOf(args, context) !== null;
    },
    execute: async args => {
      const order = orderOf(args, context);
      const cluster = vanishedOf(args, context);
      if (order) {
        await recovery.closeOrder(order);
      } else if (cluster) {
        await recovery.closeVanished(cluster);
      }
    }
  });
}

/** The open order that the arguments name, else the active one. */
function orderOf(args: Args, { model, outline }: IPlaces): IOrder | null {
  if (isGiven(args, 'cluster_id')) {
    return null;
  }
  if (isGiven(args, 'order_id')) {
    const id = textArg(args, 'order_id');
    return model.view.state?.orders.find(({ order_id }) => order_id === id) ?? null;
  }
  return outline.active?.kind === 'order' ? outline.active.order : null;
}

/** The vanished cluster that the arguments name, else the active one. */
function vanishedOf(args: Args, { model, outline }: IPlaces): ICluster | null {
  const [account, id] = [textArg(args, 'account'), textArg(args, 'cluster_id')];
  const cluster = isGiven(args, 'cluster_id')
    ? model.view.state?.clusters.find(one => one.account === account && one.cluster_id === id)
    : activeCluster(outline);
  return cluster?.vanished_at ? cluster : null;
}
