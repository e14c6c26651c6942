import { describe, expect, it } from 'vitest';

import { EventCursor } from '../cursor';

function at(seq: number): EventCursor {
  const cursor = new EventCursor();
  cursor.reset('one', seq);
  return cursor;
}

const event = (seq: number, topic = 'changed', stream = 'one') => ({ stream, seq, topic });

describe('EventCursor', () => {
  it('asks for the list when something changed', () => {
    expect(at(4).take(event(5))).toBe(true);
  });

  it('does not ask for it at a heartbeat that follows', () => {
    const cursor = at(4);
    expect([5, 6, 7].map(seq => cursor.take(event(seq, 'heartbeat')))).toEqual([
      false,
      false,
      false
    ]);
  });

  it('asks when a heartbeat shows that events were missed', () => {
    expect(at(4).take(event(6, 'heartbeat'))).toBe(true);
  });

  it('asks when the server was started anew, whatever the number', () => {
    expect(at(4).take(event(1, 'heartbeat', 'two'))).toBe(true);
    expect(at(4).take(event(5, 'heartbeat', 'two'))).toBe(true);
  });

  it('asks at the first event when there was no list yet', () => {
    expect(new EventCursor().take(event(1, 'heartbeat'))).toBe(true);
  });

  it('does not ask for what the list already holds', () => {
    const cursor = at(4);
    expect([3, 4].map(seq => cursor.take(event(seq)))).toEqual([false, false]);
  });

  it('recovers by the next list from a forged number', () => {
    const cursor = at(4);
    expect(cursor.take(event(1_000_000))).toBe(true);
    cursor.reset('one', 4);
    expect(cursor.take(event(5))).toBe(true);
  });

  it('ignores an event without a stream or a number', () => {
    expect(at(4).take({ topic: 'changed' })).toBe(false);
    expect(at(4).take({ stream: 'one', seq: '5', topic: 'changed' })).toBe(false);
  });
});
