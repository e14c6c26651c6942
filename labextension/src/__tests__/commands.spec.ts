import { nullTranslator } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { beforeEach, describe, expect, it } from 'vitest';

import { Actions } from '../actions';
import { CommandIds } from '../commandids';
import { addCommands } from '../commands';
import { Outline } from '../outline';
import { account, cluster, state, ToldModel, view, workload } from './make';

const trans = nullTranslator.load('test');
const demo = cluster('demo');
const train = workload(demo, 'train');
const done = workload(demo, 'done', { phase: 'succeeded' });

let commands: CommandRegistry;
let outline: Outline;
let did: string[];

beforeEach(() => {
  const model = new ToldModel(view(null));
  outline = new Outline(model);
  did = [];
  const actions = {
    deleteCluster: ({ name }: { name: string }) => Promise.resolve(did.push(`delete ${name}`)),
    cancelWorkload: ({ name }: { name: string }) => Promise.resolve(did.push(`cancel ${name}`))
  };
  commands = new CommandRegistry();
  addCommands(commands, {
    model,
    outline,
    trans,
    actions: actions as unknown as Actions,
    openLog: ({ full_name: name }) => did.push(`log ${name}`),
    showPanel: () => did.push('show'),
    setShowFinished: value => (outline.showFinished = value)
  });
  model.show(view(state({ accounts: [account()], clusters: [demo], workloads: [train, done] })));
});

function go(name: string): void {
  outline.activate(outline.rows.find(row => row.name === name)?.key ?? '');
}

describe('commands', () => {
  it('all say what arguments they take', async () => {
    for (const id of Object.values(CommandIds)) {
      const { args } = await commands.describedBy(id);
      expect(args, id).toMatchObject({ type: 'object' });
    }
  });

  it('without arguments mean the active row, and are off where they do not fit it', async () => {
    go('demo');
    expect(commands.isEnabled(CommandIds.cancelWorkload)).toBe(false);
    expect(commands.isEnabled(CommandIds.showLogs)).toBe(false);
    await commands.execute(CommandIds.deleteCluster);
    go('train');
    expect(commands.isEnabled(CommandIds.deleteCluster)).toBe(false);
    await commands.execute(CommandIds.showLogs);
    await commands.execute(CommandIds.cancelWorkload);
    expect(did).toEqual(['delete demo', 'log local/demo/train', 'cancel train']);
  });

  it('cannot cancel what has ended', () => {
    go('done');
    expect(commands.isEnabled(CommandIds.cancelWorkload)).toBe(false);
    expect(commands.isEnabled(CommandIds.showLogs)).toBe(true);
  });

  it('with arguments mean what these name', async () => {
    go('local');
    const { account: owner, cluster_id, workload_id } = train;
    await commands.execute(CommandIds.cancelWorkload, { account: owner, cluster_id, workload_id });
    await commands.execute(CommandIds.deleteCluster, { account: owner, cluster_id });
    await commands.execute(CommandIds.deleteCluster, {
      account: owner,
      cluster_id: 'no such thing'
    });
    expect(did).toEqual(['cancel train', 'delete demo']);
  });

  it('can hide workloads that have ended, and say whether they do', async () => {
    expect(commands.isToggled(CommandIds.toggleFinished)).toBe(false);
    await commands.execute(CommandIds.toggleFinished);
    expect(commands.isToggled(CommandIds.toggleFinished)).toBe(true);
    expect(outline.rows.map(({ name }) => name)).toEqual(['local', 'demo', 'train']);
  });
});
