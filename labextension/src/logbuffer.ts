/**
 * Output of the ranks as lines of a bounded number, in the order they came. Pure.
 *
 * A line that is not finished yet is shown and grows; a carriage return starts it anew, as a terminal does.
 */

import { ILogChunk } from './api';

export interface ILogLine {
  /** Grows by one from line to line, without gaps; the same for as long as the line lives. */
  readonly id: number;
  /** `null` for our own notes. */
  readonly rank: number | null;
  text: string;
}

/** What a chunk did, so that a view can do the same to its document. */
export interface ILogChange {
  readonly added: ILogLine[];
  readonly grown: ILogLine[];
  /** How many of the oldest lines went. */
  readonly dropped: number;
}

/** Colours and cursor movements of terminals. */
const TERMINAL_CODES =
  // eslint-disable-next-line no-control-regex
  /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;

/** Longest line that is kept whole. */
const MAX_LINE = 10_000;

export class LogBuffer {
  constructor(
    private readonly _maxLines: number,
    private readonly _gapNote: (rank: number, bytes: number) => string
  ) {}

  get lines(): readonly ILogLine[] {
    return this._lines;
  }

  /** Ranks seen so far, ascending. */
  get ranks(): number[] {
    return [...this._ends.keys()].sort((a, b) => a - b);
  }

  /** Lines that were dropped since the start to keep the bound. */
  get droppedLines(): number {
    return this._dropped;
  }

  /** Bytes that were written before the first chunk of each rank, in all. */
  get skippedBytes(): number {
    return this._skipped;
  }

  add(chunks: readonly ILogChunk[]): ILogChange {
    const added: ILogLine[] = [];
    const grown = new Set<ILogLine>();
    for (const chunk of chunks) {
      this._noteGap(chunk, added);
      this._addText(chunk, added, grown);
      this._ends.set(chunk.rank, chunk.end);
    }
    const dropped = Math.max(0, this._lines.length - this._maxLines);
    this._lines.splice(0, dropped);
    this._dropped += dropped;
    const first = this._lines[0]?.id ?? this._nextId;
    return {
      added: added.filter(line => line.id >= first),
      grown: [...grown].filter(line => line.id >= first),
      dropped
    };
  }

  private _noteGap({ rank, offset }: ILogChunk, added: ILogLine[]): void {
    const expected = this._ends.get(rank);
    if (expected === undefined) {
      this._skipped += offset;
    } else if (offset > expected) {
      this._open.delete(rank);
      added.push(this._append(null, this._gapNote(rank, offset - expected)));
    }
  }

  private _addText({ rank, text }: ILogChunk, added: ILogLine[], grown: Set<ILogLine>): void {
    const pieces = text.replace(TERMINAL_CODES, '').split('\n');
    const last = pieces.length - 1;
    pieces.forEach((piece, index) => {
      const open = this._open.get(rank);
      if (index === last && piece === '') {
        return;
      }
      if (open) {
        open.text = overwrite(open.text + piece);
        grown.add(open);
      }
      const line = open ?? this._append(rank, overwrite(piece));
      if (!open) {
        added.push(line);
      }
      if (index === last) {
        this._open.set(rank, line);
      } else {
        this._open.delete(rank);
      }
    });
  }

  private _append(rank: number | null, text: string): ILogLine {
    const line = { id: this._nextId++, rank, text };
    this._lines.push(line);
    return line;
  }

  private readonly _lines: ILogLine[] = [];
  /** Unfinished line of each rank. */
  private readonly _open = new Map<number, ILogLine>();
  /** Where the last chunk of each rank ended. */
  private readonly _ends = new Map<number, number>();
  private _nextId = 0;
  private _dropped = 0;
  private _skipped = 0;
}

/** What a terminal would show of a line with carriage returns in it. A last one waits for what follows. */
function overwrite(text: string): string {
  const body = text.replace(/\r+$/, '');
  const shown = body.slice(body.lastIndexOf('\r') + 1) + (body.length < text.length ? '\r' : '');
  return shown.length > MAX_LINE ? `${shown.slice(0, MAX_LINE)}…` : shown;
}
