import { nullTranslator } from '@jupyterlab/translation';
import { describe, expect, it } from 'vitest';

import { endText, isOutcomeUnknown, madeBy, mayCost, offersOf, overdueDelete } from '../certainty';
import { factsOf } from '../facts';
import { describe as describeRow } from '../text';
import { buildRows, clusterKey } from '../tree';
import { cluster, NOW, order, state, view } from './make';

const trans = nullTranslator.load('test');
const AT = Date.parse(NOW);
const paid = { is_free: false, price_per_hour: { amount: '6', currency: 'USD' } };
const going = cluster('going', { ...paid, phase: 'deleting', reason: 'It may bill on.' });
const wish = (created_at: string) =>
  order('going', { verb: 'delete', target_id: going.cluster_id, created_at });

function row(name: string, of: ReturnType<typeof state>, candidates = 0) {
  const found = buildRows(of, { collapsed: new Set(), showFinished: true }).find(
    one => one.name === name
  );
  const shown = view(of);
  return found && describeRow(found, shown, shown.receivedAt, trans, candidates);
}

describe('an order', () => {
  it('has an unknown outcome once nobody sends it any more', () => {
    expect(isOutcomeUnknown(order('x', { state: 'open', note: null }))).toBe(false);
    expect(isOutcomeUnknown(order('x', { state: 'open', note: 'The answer was lost.' }))).toBe(
      true
    );
    expect(isOutcomeUnknown(order('x', { note: null }))).toBe(true);
    expect(isOutcomeUnknown(order('x', { state: 'closed' }))).toBe(false);
    expect(isOutcomeUnknown(order('x', { verb: 'delete' }))).toBe(false);
  });

  it('offers what makes sense for it, and adopting only where there is something to adopt', () => {
    expect(offersOf(order('x'), 0)).toEqual(['check', 'delete', 'close']);
    expect(offersOf(order('x'), 2)).toEqual(['check', 'adopt', 'delete', 'close']);
    expect(offersOf(order('x', { on_sight: true }), 0)).toEqual(['check', 'close']);
    expect(offersOf(order('x', { verb: 'scale' }), 2)).toEqual(['check', 'close']);
  });

  it('says what is not known, what it may cost, and that it is wished away', () => {
    const of = state({ orders: [order('lost', { on_sight: true })] });
    expect(row('lost', of)).toMatchObject({
      word: 'create: outcome unknown',
      alarm: 'to be deleted on sight',
      meta: 'may cost 6.00 USD/h',
      buttons: 'check close',
      whyNot: null
    });
    expect(row('lost', of)?.label).toBe(
      'order lost, create: outcome unknown, to be deleted on sight, may cost 6.00 USD/h'
    );
    expect(row('lost', of)?.tip).toMatch(/sent 10 min ago.*\nThe provider does not show it/);
  });

  it('that is being sent cannot be closed', () => {
    const of = state({ orders: [order('new', { state: 'open', note: null })] });
    expect(row('new', of)).toMatchObject({ word: 'create: being sent' });
    expect(row('new', of)?.whyNot).toContain('still at work');
  });

  it('never has a price of zero', () => {
    expect(mayCost(null, trans)).toBe('price unknown');
    expect(mayCost({ amount: '0.00', currency: 'USD' }, trans)).toBe('price unknown');
  });

  it('is found by what it made, unless that is gone', () => {
    const made = cluster('made', { order_id: 'o-x' });
    expect(madeBy(order('x'), state({ clusters: [cluster('a'), made] }))).toBe(made);
    const gone = { ...made, phase: 'deleted' as const };
    expect(madeBy(order('x'), state({ clusters: [gone] }))).toBeUndefined();
    expect(madeBy(order('x'), null)).toBeUndefined();
  });
});

describe('a delete', () => {
  it('is warned about after 15 minutes, on the clock of the server', () => {
    const soon = state({ clusters: [going], orders: [wish('2026-11-30T11:45:01Z')] });
    const late = state({ clusters: [going], orders: [wish('2026-11-30T11:45:00Z')] });
    expect(overdueDelete(going, soon, AT)).toBeNull();
    expect(overdueDelete(going, late, AT)?.target_id).toBe(going.cluster_id);
    expect(row('going', soon)).toMatchObject({ word: 'deleting', tone: 'busy' });
    expect(row('going', late)).toMatchObject({ word: 'deleting, not confirmed', tone: 'warn' });
    expect(row('going', late)?.tip).toContain('It may bill on.');
  });

  it('of another account is another one', () => {
    const other = { ...wish('2026-11-30T10:00:00Z'), account: 'other' };
    expect(overdueDelete(going, state({ orders: [other] }), AT)).toBeNull();
  });
});

describe('a cluster', () => {
  it('that vanished has a word of its own, and is closed rather than deleted', () => {
    const gone = cluster('gone', { ...paid, phase: 'unknown', vanished_at: NOW });
    expect(row('gone', state({ clusters: [gone] }))).toMatchObject({
      word: 'vanished',
      tone: 'warn',
      buttons: 'close'
    });
  });

  it('says in how much time it ends', () => {
    const at = (ends_at: string | null) => endText(cluster('x', { ends_at }), AT, trans);
    expect(at(null)).toBe('');
    expect(at('2026-11-30T15:05:00Z')).toBe('ends in 3 h 05 min');
    expect(at('2026-11-30T11:58:00Z')).toBe('was to end 2 min ago');
  });

  it('that nobody would end says NO END TIME', () => {
    const reason = 'NO END TIME: nobody who runs now would delete it.';
    const endless = cluster('endless', { reason });
    const said = row('endless', state({ clusters: [endless] }));
    expect(said).toMatchObject({ alarm: 'NO END TIME', detail: '2 nodes' });
    expect(said?.label).toContain('NO END TIME');
  });

  it('lists in its details when it ends, since when it vanished and was asked to go', () => {
    const shown = { ...going, ends_at: '2026-11-30T13:00:00Z', vanished_at: NOW };
    const known = view(state({ clusters: [shown], orders: [wish('2026-11-30T11:00:00Z')] }));
    const facts = Object.fromEntries(factsOf(shown, known, known.receivedAt, trans));
    expect(facts.Ends).toContain('ends in 1 h 00 min');
    expect(facts.Vanished).not.toBe('');
    expect(facts['Asked to go']).not.toBe('');
    expect(facts.State).toBe('vanished');
  });

  it('has no facts without a text, and orders have theirs', () => {
    const known = view(state());
    const plain = factsOf(cluster('x'), known, known.receivedAt, trans).map(([term]) => term);
    expect(plain).not.toContain('Ends');
    expect(plain).not.toContain('Vanished');
    const facts = Object.fromEntries(factsOf(order('x'), known, known.receivedAt, trans));
    expect(facts).toMatchObject({ State: 'outcome unknown', Price: 'may cost 6.00 USD/h' });
    expect(clusterKey(cluster('x'))).toBe('local/id-x');
  });
});
