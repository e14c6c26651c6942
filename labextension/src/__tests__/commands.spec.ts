import { nullTranslator } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { beforeEach, describe, expect, it } from 'vitest';

import { Actions } from '../actions';
import { CommandIds } from '../commandids';
import { addCommands } from '../commands';
import { addFormCommands } from '../formcommands';
import { Outline } from '../outline';
import { Recovery } from '../recovery';
import { addRecoveryCommands } from '../recoverycommands';
import { targetKey } from '../forms/target';
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
    cancelWorkload: ({ name }: { name: string }) => Promise.resolve(did.push(`cancel ${name}`)),
    suspend: ({ name }: { name: string }) => Promise.resolve(did.push(`suspend ${name}`)),
    resume: ({ name }: { name: string }) => Promise.resolve(did.push(`resume ${name}`))
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
  addFormCommands(commands, {
    model,
    outline,
    trans,
    actions: actions as unknown as Actions,
    openForm: target => {
      did.push(`form ${targetKey(target)}`);
      return Promise.resolve();
    },
    openDetails: ({ name }) => did.push(`details ${name}`)
  });
  addRecoveryCommands(commands, {
    model,
    outline,
    trans,
    recovery: {} as unknown as Recovery,
    openOrphans: () => undefined
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

  it('open forms and details for what the active row is', async () => {
    go('local');
    await commands.execute(CommandIds.newCluster, { ofRow: true });
    go('demo');
    await commands.execute(CommandIds.submitWorkload);
    await commands.execute(CommandIds.act, { action: 'restart', title: 'Restart' });
    await commands.execute(CommandIds.showDetails);
    go('train');
    await commands.execute(CommandIds.showDetails);
    expect(did).toEqual([
      'form create',
      'form submit/local/id-demo/',
      'form act/local/id-demo/restart',
      'details demo',
      'details train'
    ]);
  });

  it('are off where the provider cannot do it, and where it would make no sense', () => {
    go('demo');
    expect(commands.isEnabled(CommandIds.submitWorkload)).toBe(true);
    expect(commands.isEnabled(CommandIds.scaleCluster)).toBe(false);
    expect(commands.isEnabled(CommandIds.act, { action: 'restart' })).toBe(false);
    go('train');
    expect(commands.isEnabled(CommandIds.suspendWorkload)).toBe(false);
    expect(commands.isEnabled(CommandIds.resumeWorkload)).toBe(false);
    expect(commands.isEnabled(CommandIds.submitWorkload)).toBe(false);
  });
});
