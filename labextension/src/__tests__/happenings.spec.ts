/** What is told although nobody looks: each thing by one key, the same in every tab. */

import { nullTranslator } from '@jupyterlab/translation';
import { describe, expect, it } from 'vitest';

import { happenings, overBy, untilNext } from '../happenings';
import { cluster, NOW, order, state } from './make';

const trans = nullTranslator.load('test');
const AT = Date.parse(NOW);
const demo = (change: Parameters<typeof cluster>[1] = {}) =>
  state({ clusters: [cluster('demo', change)] });

function told(before: ReturnType<typeof state> | null, after: ReturnType<typeof state>) {
  return happenings(before, after, AT, trans);
}

describe('a cluster', () => {
  it('is ready when it was seen being created, and only then', () => {
    const creating = demo({ phase: 'creating' });
    expect(told(creating, demo()).map(({ key, text }) => [key, text])).toEqual([
      ['ready local/id-demo', 'local/demo is ready.']
    ]);
    expect(told(null, demo())).toEqual([]);
    expect(told(state(), demo())).toEqual([]);
    expect(told(demo({ phase: 'degraded' }), demo())).toEqual([]);
  });

  it('fails with its reason, and again after it was well', () => {
    const failed = demo({ phase: 'failed', reason: 'No power.' });
    const [news] = told(demo(), failed);
    expect(news).toMatchObject({ type: 'error', text: 'local/demo failed. No power.' });
    expect(told(failed, failed)).toEqual([]);
    expect(told(null, failed)).toEqual([]);
    expect(overBy(failed, demo())).toEqual([news?.key]);
    expect(overBy(demo(), demo())).toEqual([]);
  });

  it('of somebody else is none of our news', () => {
    const theirs = { created_here: false };
    expect(told(demo({ ...theirs, phase: 'creating' }), demo(theirs))).toEqual([]);
    expect(told(demo(theirs), demo({ ...theirs, phase: 'failed' }))).toEqual([]);
  });

  it('is told 15 minutes before it ends, once for each end', () => {
    const ends = (ends_at: string) => told(null, demo({ ends_at }));
    expect(ends('2026-11-30T12:15:01Z')).toEqual([]);
    const [news] = ends('2026-11-30T12:14:00Z');
    expect(news?.text).toBe('local/demo is deleted in 14 min.');
    expect(ends('2026-11-30T12:14:20Z')[0]?.key).toBe(news?.key);
    expect(ends('2026-11-30T12:10:00Z')[0]?.key).not.toBe(news?.key);
    expect(ends('2026-11-30T11:59:00Z')).toEqual([]);
    expect(told(null, demo({ ends_at: '2026-11-30T12:05:00Z', phase: 'deleting' }))).toEqual([]);
  });

  it('that vanished is told for each time that it does', () => {
    const [first] = told(null, demo({ vanished_at: NOW }));
    expect(first?.text).toContain('whether it still bills is not known');
    expect(told(null, demo({ vanished_at: '2026-11-30T12:30:00Z' }))[0]?.key).not.toBe(first?.key);
  });

  it('that does not go is told after 15 minutes, with the reason', () => {
    const going = cluster('demo', { phase: 'deleting', reason: 'It may bill on.' });
    const wish = order('demo', {
      verb: 'delete',
      target_id: going.cluster_id,
      created_at: '2026-11-30T11:44:00Z'
    });
    const [news] = told(null, state({ clusters: [going], orders: [wish] }));
    expect(news).toMatchObject({
      key: 'unconfirmed o-demo',
      text: 'local/demo is still not confirmed gone. It may bill on.',
      row: 'local/id-demo'
    });
  });
});

it('an order without a known outcome is told, one that is being sent is not', () => {
  const sending = order('new', { state: 'open', note: null });
  const news = told(null, state({ orders: [order('lost'), sending] }));
  expect(news.map(({ key, row }) => [key, row])).toEqual([
    ['unknown o-lost', 'local/order:o-lost']
  ]);
});

it('notices, such as a late arrival, are told', () => {
  const notice = 'local/demo is there, although its order was closed.';
  expect(told(null, state({ notices: [notice] })).map(({ text }) => text)).toEqual([notice]);
});

describe('the next moment at which something happens by itself', () => {
  it('is the nearest one to come', () => {
    const wish = order('x', { verb: 'delete', created_at: '2026-11-30T11:50:00Z' });
    const soon = cluster('soon', { ends_at: '2026-11-30T12:25:00Z' });
    const past = cluster('past', { ends_at: '2026-11-30T12:05:00Z' });
    expect(untilNext(state({ clusters: [soon, past], orders: [wish] }), AT)).toBe(5 * 60_000);
    expect(untilNext(state({ clusters: [soon, past] }), AT)).toBe(10 * 60_000);
    expect(untilNext(state({ clusters: [past] }), AT)).toBeNull();
  });
});
