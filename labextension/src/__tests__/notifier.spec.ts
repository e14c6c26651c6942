/** Each thing is told once, by one of all tabs. */

import { Notification } from '@jupyterlab/apputils';
import { nullTranslator } from '@jupyterlab/translation';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { Ledger } from '../ledger';
import { Notifier } from '../notifier';
import { cluster, order, state, ToldModel, until, view } from './make';

const trans = nullTranslator.load('test');
const DAY_MS = 24 * 3600_000;
const lost = state({ orders: [order('lost')] });

let shown: string[];
let notifiers: Notifier[];

/** One tab. */
function tab(scope = '/'): ToldModel {
  const model = new ToldModel(view(null));
  const ledger = new Ledger({ storage: localStorage, scope, settleMs: 20 });
  notifiers.push(new Notifier({ model, ledger, show: row => shown.push(row), trans }));
  return model;
}

const texts = () => Notification.manager.notifications.map(({ message }) => message);
const settle = () => new Promise(resolve => setTimeout(resolve, 60));

beforeEach(() => {
  localStorage.clear();
  Notification.dismiss();
  shown = [];
  notifiers = [];
});

afterEach(() => {
  notifiers.forEach(notifier => notifier.dispose());
  vi.restoreAllMocks();
});

describe('notifications', () => {
  it('come once from many tabs, however often the list is fetched', async () => {
    const tabs = [tab(), tab(), tab()];
    for (let round = 0; round < 3; round++) {
      tabs.forEach(model => model.show(view({ ...lost })));
      await settle();
    }
    tab().show(view({ ...lost }));
    await settle();
    expect(texts()).toHaveLength(1);
    expect(texts()[0]).toContain('create of “lost”');
  });

  it('of two servers on one origin are two', async () => {
    tab('/user/a/').show(view(lost));
    tab('/user/b/').show(view(lost));
    await settle();
    expect(texts()).toHaveLength(2);
  });

  it('lead to the row', async () => {
    tab().show(view(lost));
    await until(() => texts().length === 1);
    const [action] = Notification.manager.notifications[0]?.options.actions ?? [];
    action?.callback(new MouseEvent('click'));
    expect(shown).toEqual(['local/order:o-lost']);
  });

  it('are summed up when there are many', async () => {
    tab().show(view(state({ orders: Array.from({ length: 9 }, (_, i) => order(`o${i}`)) })));
    await until(() => texts().length === 6);
    expect(texts().some(text => text.startsWith('4 more things'))).toBe(true);
  });

  it('wait until the page is in sight', async () => {
    const model = tab();
    const hidden = vi.spyOn(document, 'hidden', 'get').mockReturnValue(true);
    model.show(view(lost));
    await settle();
    expect(texts()).toEqual([]);
    hidden.mockReturnValue(false);
    model.show(view({ ...lost }));
    await until(() => texts().length === 1);
  });

  it('are not made of a list that could not be fetched', async () => {
    tab().show(view(lost, { status: 'failed' }));
    await settle();
    expect(texts()).toEqual([]);
  });

  it('tell a second failure after the first was over', async () => {
    const model = tab();
    for (const phase of ['running', 'failed', 'running', 'failed'] as const) {
      model.show(view(state({ clusters: [cluster('demo', { phase })] })));
      await settle();
    }
    expect(texts()).toHaveLength(2);
  });

  it('keep the model following what the server says', () => {
    expect(tab().isFollowed).toBe(true);
  });
});

describe('the ledger', () => {
  it('forgets what is old, and keeps a bounded number', async () => {
    let now = 100 * DAY_MS;
    const options = { storage: localStorage, scope: '/', settleMs: 0, now: () => now };
    const first = new Ledger(options);
    for (let i = 0; i < 510; i++) {
      await first.claim(`k${i}`);
      now++;
    }
    localStorage.setItem('of another', 'x');
    expect(await new Ledger(options).claim('k509')).toBe(false);
    expect(localStorage.length).toBe(501);
    now += 41 * DAY_MS;
    expect(await new Ledger(options).claim('k509')).toBe(true);
    expect(localStorage.getItem('of another')).toBe('x');
  });

  it('without a storage has everything told', async () => {
    const ledger = new Ledger({ storage: null, scope: '/', settleMs: 0 });
    expect([await ledger.claim('k'), await ledger.claim('k')]).toEqual([true, true]);
  });
});
