/**
 * A tree of which only the rows in sight are in the document.
 *
 * One row, the active one, can be reached with Tab; arrows, Home, End, Page Up, Page Down and the first
 * letters of a name move it. It stays in the document when it is scrolled out of sight, so the keyboard
 * focus is never lost.
 */

import * as React from 'react';

import { Outline } from './outline';
import { Row } from './tree';

/** Heights of rows in pixels, as in base.css: clusters and orders have a second line. */
const HEIGHTS: Record<Row['kind'], number> = { account: 24, cluster: 38, order: 38, workload: 24 };

/** Rows drawn beyond both edges, so that scrolling shows no gaps. */
const MARGIN_ROWS = 6;

/** Letters that follow each other this fast belong together. */
export const TYPE_AHEAD_MS = 700;

export interface ITreeProps {
  outline: Outline;
  label: string;
  /** Draw one row, `top` pixels below the start of the list. */
  renderRow: (row: Row, place: IRowPlace) => React.ReactElement;
  /** Enter, or a double click. */
  onOpen: (row: Row) => void;
  /** Delete. */
  onRemove: (row: Row) => void;
}

export interface IRowPlace {
  isActive: boolean;
  top: number;
}

export function Tree(props: ITreeProps): React.ReactElement {
  const { outline } = props;
  const box = React.useRef<HTMLDivElement>(null);
  const [sight, setSight] = useSight(box);
  const tops = React.useMemo(() => topsOf(outline.rows), [outline.rows]);
  useFocusFollowsActive(box, outline, tops);
  const onKeyDown = useKeys(props, tops, sight.height);
  const indexes = indexesInSight(sight, tops, outline.activeIndex);
  const height = tops[outline.rows.length];
  return (
    <div
      ref={box}
      className="jp-GpuClusters-tree"
      role="tree"
      aria-label={props.label}
      tabIndex={-1}
      style={{ flexBasis: height }}
      onKeyDown={onKeyDown}
      onScroll={event => setSight(event.currentTarget)}
    >
      <div role="presentation" style={{ height }}>
        {indexes.map(index => {
          const row = outline.rows[index];
          const place = { isActive: index === outline.activeIndex, top: tops[index] ?? 0 };
          return row && props.renderRow(row, place);
        })}
      </div>
    </div>
  );
}

interface ISight {
  readonly top: number;
  readonly height: number;
}

/** Which part of the list is in sight, in pixels. */
function useSight(box: React.RefObject<HTMLDivElement>): [ISight, (node: Element) => void] {
  const [sight, set] = React.useState<ISight>({ top: 0, height: 0 });
  const update = React.useCallback(
    (node: Element) => set({ top: node.scrollTop, height: node.clientHeight }),
    []
  );
  React.useLayoutEffect(() => {
    const node = box.current;
    if (!node) {
      return undefined;
    }
    update(node);
    const observer = new ResizeObserver(() => update(node));
    observer.observe(node);
    return () => observer.disconnect();
  }, [box, update]);
  return [sight, update];
}

/** Where each row starts, in pixels; last, where the list ends. */
export function topsOf(rows: readonly Pick<Row, 'kind'>[]): number[] {
  const tops = [0];
  for (const { kind } of rows) {
    tops.push((tops.at(-1) ?? 0) + HEIGHTS[kind]);
  }
  return tops;
}

/** The row at a height, or the last one. */
function indexAt(y: number, tops: readonly number[]): number {
  let [low, high] = [0, Math.max(0, tops.length - 2)];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((tops[middle] ?? 0) <= y) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

/**
 * The rows to draw: those in sight with a margin, and the active one wherever it is.
 *
 * In ascending order, so that React never moves the element that has the focus (it would lose it).
 */
export function indexesInSight(sight: ISight, tops: readonly number[], active: number): number[] {
  const count = tops.length - 1;
  const first = Math.max(0, indexAt(sight.top, tops) - MARGIN_ROWS);
  const end = Math.min(count, indexAt(sight.top + sight.height, tops) + 1 + MARGIN_ROWS);
  const indexes = Array.from({ length: Math.max(0, end - first) }, (_, i) => first + i);
  if (active < first) {
    indexes.unshift(active);
  } else if (active >= end && active < count) {
    indexes.push(active);
  }
  return indexes;
}

/** Where the tree has the focus, it goes with the active row, and stays when that row's element goes away. */
function useFocusFollowsActive(
  box: React.RefObject<HTMLDivElement>,
  outline: Outline,
  tops: readonly number[]
): void {
  // Asked before the document changes: a browser may take the focus from an element that goes away.
  const hadFocus = box.current?.contains(document.activeElement) ?? false;
  const key = outline.active?.key;
  React.useLayoutEffect(() => {
    if (box.current && hadFocus) {
      const [top = 0, bottom = 0] = tops.slice(outline.activeIndex, outline.activeIndex + 2);
      bringIntoSight(box.current, top, bottom);
      focusActive(box.current);
    }
    // The index alone changes when rows come and go above: no reason to scroll.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [box, key]);
  React.useLayoutEffect(() => {
    if (box.current && hadFocus && document.activeElement !== box.current) {
      focusActive(box.current);
    }
  });
}

function focusActive(tree: Element): void {
  tree.querySelector<HTMLElement>('[role=treeitem][tabindex="0"]')?.focus({ preventScroll: true });
}

function bringIntoSight(node: Element, top: number, bottom: number): void {
  if (top < node.scrollTop) {
    node.scrollTop = top;
  } else if (bottom > node.scrollTop + node.clientHeight) {
    node.scrollTop = bottom - node.clientHeight;
  }
}

/** What the keys do. Keys with a modifier belong to JupyterLab. */
function useKeys(
  props: ITreeProps,
  tops: readonly number[],
  height: number
): (event: React.KeyboardEvent) => void {
  const typed = React.useRef({ text: '', at: 0 });
  return event => {
    const { outline } = props;
    const row = outline.active;
    if (!row || event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    const isHandled =
      moves(outline, event.key, (by: number) =>
        indexAt((tops[outline.activeIndex] ?? 0) + by * height, tops)
      ) ||
      acts(props, row, event.key) ||
      (event.key.length === 1 && typesAhead(outline, typed.current, event.key, event.timeStamp));
    if (isHandled) {
      event.preventDefault();
      event.stopPropagation();
    }
  };
}

/** `pageTo` finds the row that many heights of the list further down. */
function moves(outline: Outline, key: string, pageTo: (by: number) => number): boolean {
  const { rows, active, activeIndex } = outline;
  const to = (index: number) => {
    const target = rows[Math.max(0, Math.min(index, rows.length - 1))];
    if (target) {
      outline.activate(target.key);
    }
    return true;
  };
  switch (key) {
    case 'ArrowDown':
      return to(activeIndex + 1);
    case 'ArrowUp':
      return to(activeIndex - 1);
    case 'PageDown':
      return to(pageTo(1));
    case 'PageUp':
      return to(pageTo(-1));
    case 'Home':
      return to(0);
    case 'End':
      return to(rows.length - 1);
    case 'ArrowRight':
      return active?.isExpanded ? to(activeIndex + 1) : folds(outline, true);
    case 'ArrowLeft':
      return active?.isExpanded ? folds(outline, false) : to(parentIndex(outline));
    default:
      return false;
  }
}

function parentIndex({ rows, active, activeIndex }: Outline): number {
  const index = rows.findIndex(row => row.key === active?.parent);
  return index < 0 ? activeIndex : index;
}

function folds(outline: Outline, isExpanded: boolean): boolean {
  const row = outline.active;
  if (row && row.isExpanded !== null) {
    outline.setExpanded(row.key, isExpanded);
  }
  return true;
}

function acts(props: ITreeProps, row: Row, key: string): boolean {
  switch (key) {
    case 'Enter':
      props.onOpen(row);
      return true;
    case ' ':
      return folds(props.outline, !row.isExpanded);
    case 'Delete':
      props.onRemove(row);
      return true;
    default:
      return false;
  }
}

/** Go to the next row whose name starts with what was typed; the same letter again goes on to the next. */
function typesAhead(
  outline: Outline,
  typed: { text: string; at: number },
  letter: string,
  atMs: number
): boolean {
  typed.text = atMs - typed.at > TYPE_AHEAD_MS ? letter : typed.text + letter;
  typed.at = atMs;
  const isRepeat = Array.from(typed.text).every(other => other === letter);
  const wanted = (isRepeat ? letter : typed.text).toLowerCase();
  const { rows, activeIndex } = outline;
  const start = activeIndex + (isRepeat ? 1 : 0);
  for (let i = 0; i < rows.length; i++) {
    const row = rows[(start + i) % rows.length];
    if (row?.name.toLowerCase().startsWith(wanted)) {
      outline.activate(row.key);
      return true;
    }
  }
  return true;
}
