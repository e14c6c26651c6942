/** What a press on a row, or on one of its buttons, does: mostly a command about that row. */

import { CommandRegistry } from '@lumino/commands';

import { Offer } from './certainty';
import { CommandIds } from './commandids';
import { IItemHandlers } from './item';
import { Outline } from './outline';
import { Row } from './tree';

const SETTLE: Record<Offer, string> = {
  check: CommandIds.checkOrder,
  adopt: CommandIds.adoptOrder,
  delete: CommandIds.deleteOnSight,
  close: CommandIds.closeWithStatement
};

export function handlersFor(commands: CommandRegistry, outline: Outline): IItemHandlers {
  const rowOf = (key: string) => outline.rows.find(row => row.key === key);
  const toggle = (key: string) => outline.setExpanded(key, !rowOf(key)?.isExpanded);
  const run = (id: string) => {
    if (commands.isEnabled(id)) {
      void commands.execute(id);
    }
  };
  return {
    activate: key => outline.activate(key),
    toggle,
    open: key => {
      outline.activate(key);
      const kind = rowOf(key)?.kind;
      if (kind === 'workload') {
        run(CommandIds.showLogs);
      } else if (kind === 'order') {
        run(CommandIds.checkOrder);
      } else {
        toggle(key);
      }
    },
    create: () => run(CommandIds.newCluster),
    remove: key => {
      outline.activate(key);
      const row = rowOf(key);
      if (row) {
        run(removalOf(row));
      }
    },
    settle: (key, offer) => {
      outline.activate(key);
      run(SETTLE[offer]);
    }
  };
}

/** The command that ends what a row stands for. */
function removalOf(row: Row): string {
  switch (row.kind) {
    case 'order':
      return CommandIds.deleteOnSight;
    case 'workload':
      return CommandIds.cancelWorkload;
    case 'cluster':
      return row.cluster.vanished_at ? CommandIds.closeWithStatement : CommandIds.deleteCluster;
    case 'account':
      return CommandIds.deleteCluster; // off for an account
  }
}
