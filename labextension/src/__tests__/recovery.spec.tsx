import { Dialog } from '@jupyterlab/apputils';
import { nullTranslator } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { act, fireEvent, render, screen } from '@testing-library/react';
import * as React from 'react';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { Actions } from '../actions';
import { Api, IRecovered } from '../api';
import { CommandIds } from '../commandids';
import { Dialogs } from '../dialogs';
import { OrphansView } from '../orphans';
import { Outline } from '../outline';
import { Recovery } from '../recovery';
import { addRecoveryCommands } from '../recoverycommands';
import { RecoveryDialogs } from '../recoverydialogs';
import { handlersFor } from '../rowhandlers';
import { orderKey } from '../tree';
import { account, cluster, NOW, order, state, ToldModel, until, view } from './make';
import { TestServer } from './server';

const trans = nullTranslator.load('test');
const lost = order('lost');
const gone = cluster('gone', { vanished_at: NOW, is_free: false, phase: 'unknown' });
const LIST = state({ orders: [lost], clusters: [gone] });
const maybe = cluster('renamed', { cluster_id: 'c/1' });

let server: TestServer;
let model: ToldModel;
let actions: Actions;
let recovery: Recovery;
let api: Api;

function found(change: Partial<IRecovered> = {}): { recovered: IRecovered[] } {
  const one: IRecovered = {
    kind: 'not seen',
    account: 'local',
    name: 'lost',
    since: NOW,
    note: 'The provider does not show it.',
    order: lost,
    cluster: null,
    price_per_hour: null,
    candidates: [],
    ...change
  };
  return { recovered: [one] };
}

beforeEach(async () => {
  server = await TestServer.start();
  api = new Api(server.settings());
  model = new ToldModel(view(LIST));
  const dialogs = new Dialogs(trans);
  actions = new Actions({ api, model, dialogs, trans });
  const asking = new RecoveryDialogs(trans, dialogs);
  recovery = new Recovery({ api, model, actions, dialogs: asking, trans });
});

afterEach(async () => {
  Dialog.flush();
  await until(() => dialogs().length === 0);
  await server.stop();
});

const dialogs = () => [...document.querySelectorAll<HTMLElement>('.jp-Dialog')];
const text = () => dialogs()[0]?.textContent ?? '';
const button = (label: string) =>
  [...document.querySelectorAll<HTMLButtonElement>('.jp-Dialog-footer button')].find(
    ({ textContent }) => textContent === label
  );
const field = () => document.querySelector<HTMLTextAreaElement>('.jp-Dialog textarea');

async function dialogWith(words: string): Promise<void> {
  await until(() => text().includes(words) && document.activeElement?.tagName === 'BUTTON');
}

function say(words: string): void {
  const box = field();
  expect(box).not.toBeNull();
  if (box) {
    act(() => void fireEvent.change(box, { target: { value: words } }));
  }
}

function refuse(code: string, status: number): void {
  server.answer = () => ({ status, body: { message: 'No.', code } });
}

describe('closing an order', () => {
  it('says what is known and that its mark is watched, with the focus on Cancel', async () => {
    void recovery.closeOrder(lost);
    await dialogWith('watched for 30 days');
    expect(text()).toContain('may cost 6.00 USD/h');
    expect(text()).toContain('lost-1f0ak3j2hq');
    expect(document.activeElement?.textContent).toBe('Cancel');
  });

  it('takes no empty statement, and sends the one that is given once', async () => {
    server.answer = () => ({ body: { order: lost } });
    const done = Promise.all([recovery.closeOrder(lost), recovery.closeOrder(lost)]);
    await dialogWith('Close “lost”?');
    await until(() => button('Close')?.disabled === true);
    say('  \n ');
    await until(() => button('Close')?.disabled === true);
    say('The console shows nothing.');
    await until(() => button('Close')?.disabled === false);
    button('Close')?.click();
    await done;
    expect(server.asked).toEqual(['POST /gpu-clusters/orders/o-lost/close']);
    expect(model.refreshes).toBe(1);
  });

  it('sends nothing after Escape', async () => {
    const done = recovery.closeOrder(lost);
    await dialogWith('Close “lost”?');
    fireEvent.keyDown(document.activeElement ?? document.body, { key: 'Escape' });
    await done;
    expect(server.asked).toEqual([]);
  });

  async function close(): Promise<void> {
    const done = recovery.closeOrder(lost);
    await dialogWith('Close “lost”?');
    say('x');
    await until(() => button('Close')?.disabled === false);
    button('Close')?.click();
    await until(() => server.asked.length === 1);
    await Promise.race([done, dialogWith('no longer open')]);
  }

  it('is calm when another tab was faster', async () => {
    refuse('not_found', 404);
    await close();
    expect(dialogs()).toHaveLength(0);
  });

  it('does not hide that it has shown meanwhile', async () => {
    refuse('not_found', 404);
    model.view = view({ ...LIST, clusters: [cluster('late', { order_id: lost.order_id })] });
    await close();
    expect(text()).toContain('It has shown meanwhile as local/late');
  });
});

describe('looking again', () => {
  it('tells what is known and what may be it, and remembers it for the row', async () => {
    server.answer = () => ({ body: found({ candidates: [maybe] }) });
    expect(recovery.candidatesOf(lost)).toBeNull();
    void recovery.check(lost);
    await dialogWith('It is still not known what became of “lost”');
    expect(text()).toMatch(/does not show it\..*local\/renamed \(c\/1\): running, 2 nodes/);
    expect(recovery.candidatesOf(lost)).toEqual([maybe]);
    expect(server.asked).toEqual(['GET /gpu-clusters/recover']);
  });

  it('tells that it is settled', async () => {
    const made = cluster('lost');
    server.answer = () => ({
      body: found({ kind: 'settled', note: 'Settled: done.', cluster: made })
    });
    void recovery.check(lost);
    await dialogWith('It is known what became of “lost”');
    expect(text()).toContain('It is in the list: local/lost.');
  });
});

describe('adopting', () => {
  it('shows each thing with its facts, takes one by choice, and sends its id', async () => {
    server.answer = line =>
      line.startsWith('GET') ? { body: found({ candidates: [maybe] }) } : { body: {} };
    const done = recovery.adopt(lost);
    await dialogWith('What was made of “lost”?');
    expect(text()).toContain('renamed (c/1)');
    await until(() => button('Adopt')?.disabled === true);
    act(() => document.querySelector<HTMLInputElement>('.jp-Dialog input[type=radio]')?.click());
    await until(() => button('Adopt')?.disabled === false);
    button('Adopt')?.click();
    await done;
    expect(server.asked.at(-1)).toBe('POST /gpu-clusters/orders/o-lost/adopt');
  });

  it('where nothing may be it asks nothing', async () => {
    server.answer = () => ({ body: found() });
    void recovery.adopt(lost);
    await dialogWith('It is still not known');
    expect(button('Adopt')).toBeUndefined();
  });
});

describe('deleting on sight', () => {
  async function wish(): Promise<void> {
    const done = recovery.deleteOnSight(lost);
    await dialogWith('Delete “lost” as soon as it shows?');
    expect(document.activeElement?.textContent).toBe('Cancel');
    button('Delete as soon as it shows')?.click();
    await until(() => server.asked.length === 1);
    await Promise.race([done, dialogWith('no longer open')]);
  }

  it('asks, then sends the wish', async () => {
    server.answer = () => ({ body: { order: lost } });
    await wish();
    expect(server.asked).toEqual(['POST /gpu-clusters/orders/o-lost/delete']);
  });

  it('is calm when it showed meanwhile and goes already', async () => {
    refuse('not_found', 404);
    const going = cluster('lost', { order_id: lost.order_id, phase: 'deleting' });
    model.view = view({ ...LIST, clusters: [going] });
    await wish();
    expect(dialogs()).toHaveLength(0);
  });

  it('says when it showed meanwhile and stays', async () => {
    refuse('not_found', 404);
    model.view = view({ ...LIST, clusters: [cluster('lost', { order_id: lost.order_id })] });
    await wish();
    expect(text()).toContain('nothing was done to it');
  });
});

it('a vanished cluster is closed with a statement', async () => {
  server.answer = () => ({ body: { cluster: gone } });
  const done = recovery.closeVanished(gone);
  await dialogWith('Close cluster “local/gone”?');
  say('The bill says so.');
  await until(() => button('Close')?.disabled === false);
  button('Close')?.click();
  await done;
  expect(server.asked).toEqual(['POST /gpu-clusters/clusters/local/id-gone/close']);
});

describe('commands', () => {
  let commands: CommandRegistry;
  let outline: Outline;
  let did: string[];

  beforeEach(() => {
    did = [];
    outline = new Outline(model);
    const note = (what: string) => (thing: { name: string }) =>
      Promise.resolve(void did.push(`${what} ${thing.name}`));
    const told = {
      candidatesOf: () => null,
      check: note('check'),
      adopt: note('adopt'),
      deleteOnSight: note('delete'),
      closeOrder: note('close order'),
      closeVanished: note('close cluster')
    } as unknown as Recovery;
    commands = new CommandRegistry();
    const openOrphans = () => void did.push('orphans');
    addRecoveryCommands(commands, { model, outline, recovery: told, trans, openOrphans });
    model.show(view({ ...LIST, clusters: [gone, cluster('well')] }));
  });

  const key = (name: string) => outline.rows.find(row => row.name === name)?.key ?? '';

  it('mean the active row, by button, Enter and Delete', () => {
    const handlers = handlersFor(commands, outline);
    handlers.open(orderKey(lost));
    handlers.remove(orderKey(lost));
    handlers.settle(orderKey(lost), 'adopt');
    handlers.settle(orderKey(lost), 'close');
    handlers.remove(key('gone'));
    expect(did).toEqual([
      'check lost',
      'delete lost',
      'adopt lost',
      'close order lost',
      'close cluster gone'
    ]);
  });

  it('are off where they do not fit', () => {
    outline.activate(key('well'));
    for (const id of [
      CommandIds.checkOrder,
      CommandIds.deleteOnSight,
      CommandIds.closeWithStatement
    ]) {
      expect(commands.isEnabled(id), id).toBe(false);
    }
    outline.activate(key('gone'));
    expect(commands.isEnabled(CommandIds.closeWithStatement)).toBe(true);
    expect(commands.isEnabled(CommandIds.adoptOrder)).toBe(false);
  });

  it('with arguments mean what these name', async () => {
    outline.activate(key('local'));
    await commands.execute(CommandIds.closeWithStatement, {
      account: 'local',
      cluster_id: 'id-gone'
    });
    await commands.execute(CommandIds.checkOrder, { order_id: 'o-lost' });
    await commands.execute(CommandIds.checkOrder, { order_id: 'no such' });
    await commands.execute(CommandIds.showOrphans);
    expect(did).toEqual(['close cluster gone', 'check lost', 'orphans']);
  });
});

describe('what was not ordered here', () => {
  const theirs = cluster('theirs', { created_here: false, is_free: false });
  const line = {
    account: 'local',
    why: 'not created here',
    next_step: '%cluster_delete x',
    since: '2026-11-30T09:00:00Z',
    price_per_hour: { amount: '90', currency: 'USD' },
    is_free: false
  };
  const report = {
    items: [
      { ...line, name: 'theirs', ref: 'id-theirs' },
      { ...line, name: 'lost', ref: 'o-lost', price_per_hour: null },
      { ...line, name: 'gone', ref: 'id-gone' },
      { ...line, name: 'elsewhere', ref: 'unknown' }
    ],
    not_seen: ['cloud: no answer']
  };

  async function show(): Promise<void> {
    model.view = view({ ...LIST, clusters: [theirs, gone], accounts: [account()] });
    server.answer = line =>
      line.includes('orphans') ? { body: report } : { body: { is_gone: true, note: null } };
    render(<OrphansView {...{ api, model, actions, recovery, trans }} />);
    await until(() => screen.queryByRole('table') !== null);
  }

  const cells = () =>
    screen
      .getAllByRole('row')
      .slice(1)
      .map(row => row.textContent);

  it('is a table with age, price, what was not looked at, and single actions', async () => {
    await show();
    expect(cells()).toEqual([
      'theirslocalnot created here3 h 00 min ago90.00 USD/hid-theirsDelete…',
      'lostlocalnot created here3 h 00 min agoprice unknowno-lostCheck nowDelete as soon as it shows…Close…',
      'gonelocalnot created here3 h 00 min ago90.00 USD/hid-goneClose…',
      'elsewherelocalnot created here3 h 00 min ago90.00 USD/hunknown%cluster_delete x'
    ]);
    expect(document.body.textContent).toContain('Not looked at: cloud: no answer');
  });

  it('asks the same question as everywhere before it deletes, then looks again', async () => {
    await show();
    act(() => screen.getByRole('button', { name: 'Delete… (theirs)' }).click());
    await dialogWith('local/theirs');
    expect(text()).toContain('It was not created from here.');
    button('Delete')?.click();
    await until(() => server.asked.filter(line => line.includes('orphans')).length === 2);
    expect(server.asked).toContain('DELETE /gpu-clusters/clusters/local/id-theirs');
  });

  it('says that there is nothing, and why it could not look', async () => {
    server.answer = () => ({ status: 502, body: { message: 'No route.', code: 'transport' } });
    render(<OrphansView {...{ api, model, actions, recovery, trans }} />);
    await until(() => screen.queryByRole('alert') !== null);
    server.answer = () => ({ body: { items: [], not_seen: [] } });
    act(() => screen.getByText('Try again').click());
    await until(() => document.body.textContent.includes('Nothing: all that may cost'));
  });
});
