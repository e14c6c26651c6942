import { describe, expect, it } from 'vitest';

import { LogBuffer } from '../logbuffer';

let ends: Record<number, number>;

function buffer(maxLines = 100): LogBuffer {
  ends = {};
  return new LogBuffer(maxLines, (rank, bytes) => `${bytes} bytes of rank ${rank} missing`);
}

/** The next chunk of a rank, as the server would cut it. */
function chunk(rank: number, text: string, skip = 0) {
  const offset = (ends[rank] ?? 0) + skip;
  ends[rank] = offset + text.length;
  return { rank, offset, end: ends[rank], text };
}

const shown = (of: LogBuffer) => of.lines.map(({ rank, text }) => `${rank ?? '-'}: ${text}`);

describe('LogBuffer', () => {
  it('cuts chunks into lines of their rank, in the order they came', () => {
    const log = buffer();
    log.add([chunk(0, 'a\nb\n'), chunk(1, 'c\n'), chunk(0, '\nd\n')]);
    expect(shown(log)).toEqual(['0: a', '0: b', '1: c', '0: ', '0: d']);
    expect(log.ranks).toEqual([0, 1]);
  });

  it('shows an unfinished line at once, and lets it grow where it stands', () => {
    const log = buffer();
    log.add([chunk(0, 'epoch')]);
    log.add([chunk(1, 'other\n')]);
    const change = log.add([chunk(0, ' 1\nnext')]);
    expect(shown(log)).toEqual(['0: epoch 1', '1: other', '0: next']);
    expect(change.grown.map(({ text }) => text)).toEqual(['epoch 1']);
    expect(change.added.map(({ text }) => text)).toEqual(['next']);
  });

  it('lets a progress bar overwrite its line', () => {
    const log = buffer();
    log.add([chunk(0, '10%\r20%\r')]);
    log.add([chunk(0, '30%\r')]);
    expect(log.lines[0]?.text.trimEnd()).toBe('30%');
    log.add([chunk(0, 'done\nnext\r\n')]);
    expect(shown(log).map(line => line.trimEnd())).toEqual(['0: done', '0: next']);
  });

  it('leaves out colours and other codes for terminals', () => {
    const log = buffer();
    log.add([chunk(0, '\u001b[1;31mred\u001b[0m \u001b]0;title\u0007plain\n')]);
    expect(shown(log)).toEqual(['0: red plain']);
  });

  it('marks bytes that are missing', () => {
    const log = buffer();
    log.add([chunk(0, 'a\n')]);
    log.add([chunk(0, 'z\n', 70)]);
    expect(shown(log)).toEqual(['0: a', '-: 70 bytes of rank 0 missing', '0: z']);
  });

  it('counts what was written before it began to read', () => {
    const log = buffer();
    log.add([chunk(0, 'tail\n', 1000), chunk(1, 'tail\n', 10)]);
    expect([log.skippedBytes, log.lines.length]).toEqual([1010, 2]);
  });

  it('keeps a bounded number of lines, and says how many went', () => {
    const log = buffer(3);
    log.add([chunk(0, '1\n2\n')]);
    const change = log.add([chunk(0, '3\n4\n5\n')]);
    expect(shown(log)).toEqual(['0: 3', '0: 4', '0: 5']);
    expect([change.dropped, log.droppedLines]).toEqual([2, 2]);
    const flood = log.add([chunk(0, 'a\nb\nc\nd\ne\n')]);
    expect(flood.added.map(({ text }) => text)).toEqual(['c', 'd', 'e']);
    expect(flood.dropped).toBe(5);
  });

  it('cuts a line without an end, so that it cannot fill the memory', () => {
    const log = buffer();
    for (let i = 0; i < 5; i++) {
      log.add([chunk(0, 'x'.repeat(9000))]);
    }
    expect(log.lines).toHaveLength(1);
    expect(log.lines[0]?.text.length).toBeLessThan(10_100);
  });
});
