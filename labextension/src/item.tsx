/** One row of the sidebar. Plain values in, so that it is redrawn only when it says something else. */

import {
  caretDownIcon,
  caretRightIcon,
  closeIcon,
  deleteIcon,
  LabIcon,
  linkIcon,
  refreshIcon,
  stopIcon,
  textEditorIcon
} from '@jupyterlab/ui-components';
import { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import { Offer } from './certainty';
import { clusterIcon, PhaseSign } from './icons';
import { IRowText } from './text';
import { Row } from './tree';

/** What can be done with a row, by its key. */
export interface IItemHandlers {
  activate(key: string): void;
  toggle(key: string): void;
  /** The first thing one wants of it: fold or unfold, see the log, look what became of it. */
  open(key: string): void;
  /** Delete a cluster, cancel a workload, wish away what an order made. */
  remove(key: string): void;
  /** Settle what is not certain. */
  settle(key: string, offer: Offer): void;
  /** Open the form of a new cluster. */
  create(): void;
}

export interface IItemProps extends IRowText {
  rowKey: string;
  kind: Row['kind'];
  /** Name of the provider, for the context menu. */
  provider: string;
  name: string;
  level: number;
  position: number;
  setSize: number;
  isExpanded: boolean | null;
  isActive: boolean;
  /** A request about it is under way. */
  isBusy: boolean;
  top: number;
  handlers: IItemHandlers;
  trans: TranslationBundle;
}

export const Item = React.memo(function Item(props: IItemProps): React.ReactElement {
  const { rowKey, kind, handlers } = props;
  const activate = () => handlers.activate(rowKey);
  return (
    // The keys are handled by the tree around it, where the focus moves from row to row.
    // eslint-disable-next-line jsx-a11y/click-events-have-key-events
    <div
      className="jp-GpuClusters-item"
      role="treeitem"
      tabIndex={props.isActive ? 0 : -1}
      aria-level={props.level}
      aria-posinset={props.position}
      aria-setsize={props.setSize}
      aria-expanded={props.isExpanded ?? undefined}
      aria-selected={props.isActive}
      aria-busy={props.isBusy}
      aria-label={props.label}
      data-kind={kind}
      data-provider={props.provider}
      data-stale={props.isStale || undefined}
      data-vanished={(kind === 'cluster' && props.buttons === 'close') || undefined}
      style={{ top: props.top }}
      title={props.tip}
      onFocus={activate}
      onContextMenu={activate}
      onClick={activate}
      onDoubleClick={() => handlers.open(rowKey)}
    >
      <Caret {...props} />
      {kind === 'account' && props.tone === 'quiet' ? (
        <clusterIcon.react className="jp-GpuClusters-sign" tag="span" />
      ) : (
        <PhaseSign shape={props.shape} tone={props.tone} />
      )}
      <span className="jp-GpuClusters-name">{props.name}</span>
      <span className="jp-GpuClusters-word">
        {props.word}
        {props.alarm && (
          <>
            {' · '}
            <b className="jp-GpuClusters-alarm">{props.alarm}</b>
          </>
        )}
        {props.detail && ` · ${props.detail}`}
      </span>
      <span className="jp-GpuClusters-meta">{props.meta}</span>
      <Buttons {...props} />
    </div>
  );
});

/** The triangle that folds a row; for the mouse only, the tree has keys for it. */
function Caret({ isExpanded, rowKey, handlers }: IItemProps): React.ReactElement {
  if (isExpanded === null) {
    return <span className="jp-GpuClusters-caret" />;
  }
  const icon = isExpanded ? caretDownIcon : caretRightIcon;
  return (
    <span
      className="jp-GpuClusters-caret"
      aria-hidden
      onClick={() => handlers.toggle(rowKey)}
      onDoubleClick={event => event.stopPropagation()}
    >
      <icon.react tag="span" />
    </span>
  );
}

type ButtonName = Offer | 'open' | 'remove';

function Buttons(props: IItemProps): React.ReactElement | null {
  if (props.buttons === '') {
    return null;
  }
  const names = props.buttons.split(' ') as ButtonName[];
  return (
    <span className="jp-GpuClusters-buttons">
      {names.map(name => (
        <IconButton
          key={name}
          {...faceOf(name, props)}
          whyNot={whyNotPress(name, props)}
          onClick={() => press(name, props)}
        />
      ))}
    </span>
  );
}

function faceOf(button: ButtonName, props: IItemProps): { icon: LabIcon; label: string } {
  const { kind, name, trans } = props;
  switch (button) {
    case 'open':
      return { icon: textEditorIcon, label: trans.__('Show the log of %1', name) };
    case 'remove':
      return kind === 'cluster'
        ? { icon: deleteIcon, label: trans.__('Delete cluster %1…', name) }
        : { icon: stopIcon, label: trans.__('Cancel workload %1…', name) };
    case 'check':
      return { icon: refreshIcon, label: trans.__('Check now what became of %1', name) };
    case 'adopt':
      return { icon: linkIcon, label: trans.__('Adopt what was made of %1…', name) };
    case 'delete':
      return { icon: deleteIcon, label: trans.__('Delete %1 as soon as it shows…', name) };
    case 'close':
      return { icon: closeIcon, label: trans.__('Close %1…', name) };
  }
}

function whyNotPress(button: ButtonName, props: IItemProps): string | null {
  if (button === 'open') {
    return null;
  }
  if (props.isBusy) {
    return props.trans.__('A request is under way.');
  }
  return button === 'remove' || button === 'close' ? props.whyNot : null;
}

function press(button: ButtonName, { rowKey, handlers }: IItemProps): void {
  if (button === 'open' || button === 'remove') {
    handlers[button](rowKey);
  } else {
    handlers.settle(rowKey, button);
  }
}

interface IIconButtonProps {
  icon: LabIcon;
  label: string;
  whyNot?: string | null;
  onClick: () => void;
}

/** Not in the tab order: one row has one stop, and each button has a key and a place in the context menu. */
function IconButton({ icon, label, whyNot, onClick }: IIconButtonProps): React.ReactElement {
  return (
    <button
      type="button"
      className="jp-GpuClusters-button"
      tabIndex={-1}
      aria-label={label}
      title={whyNot ? `${label}\n${whyNot}` : label}
      aria-disabled={whyNot ? true : undefined}
      onClick={event => {
        event.stopPropagation();
        if (!whyNot) {
          onClick();
        }
      }}
      onDoubleClick={event => event.stopPropagation()}
    >
      <icon.react tag="span" />
    </button>
  );
}
