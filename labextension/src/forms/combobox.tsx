/**
 * A text field with a list below it: what is chosen from the list by its label goes into the field by its value, and
 * any other text may be typed. Keys as everywhere: arrows, Home, End, Enter, Escape.
 */

import { TranslationBundle } from '@jupyterlab/translation';
import { caretDownEmptyIcon } from '@jupyterlab/ui-components';
import * as React from 'react';

import { IChoice } from './answers';
import { Scalar } from './schema';

const MAX_SHOWN = 200;

export interface IComboboxProps {
  id: string;
  label: string;
  describedBy: string;
  value: Scalar | undefined;
  choices: readonly IChoice[];
  isLoading: boolean;
  isInvalid: boolean;
  placeholder?: string;
  onChange(value: Scalar | undefined): void;
  /** What typed text means. */
  read(text: string): Scalar;
  trans: TranslationBundle;
}

export function Combobox(props: IComboboxProps): React.ReactElement {
  const { id, choices, value, trans } = props;
  const [text, setText] = React.useState<string | null>(null);
  const [isOpen, setOpen] = React.useState(false);
  const [active, setActive] = React.useState(-1);
  const box = React.useRef<HTMLDivElement>(null);
  const input = React.useRef<HTMLInputElement>(null);
  const shown = React.useMemo(() => matching(choices, text), [choices, text]);
  const listId = `${id}__list`;
  const optionId = (index: number) => `${listId}-${index}`;
  const open = () => {
    setOpen(true);
    setActive(shown.findIndex(choice => choice.value === value));
  };
  const close = () => {
    setOpen(false);
    setText(null);
    setActive(-1);
  };
  const choose = (choice: IChoice | undefined) => {
    if (choice?.why_not === null) {
      props.onChange(choice.value);
      close();
    }
  };
  const type = (typed: string) => {
    setText(typed);
    setOpen(true);
    setActive(-1);
    props.onChange(typed === '' ? undefined : props.read(typed));
  };
  const onKeyDown = (event: React.KeyboardEvent) => {
    const move = moved(event.key, active, shown.length);
    if (move !== null && (isOpen || event.key.startsWith('Arrow'))) {
      event.preventDefault();
      setOpen(true);
      setActive(
        isOpen
          ? move
          : Math.max(
              0,
              shown.findIndex(choice => choice.value === value)
            )
      );
    } else if (event.key === 'Enter') {
      event.preventDefault();
      if (isOpen && active >= 0) {
        choose(shown[active]);
      }
    } else if (event.key === 'Escape' && isOpen) {
      event.stopPropagation();
      close();
    }
  };
  React.useEffect(() => {
    if (isOpen && active >= 0) {
      document.getElementById(`${listId}-${active}`)?.scrollIntoView({ block: 'nearest' });
    }
  }, [isOpen, active, listId]);
  return (
    <div
      ref={box}
      className="jp-GpuClusters-combobox"
      onBlur={event => {
        if (!box.current?.contains(event.relatedTarget)) {
          close();
        }
      }}
    >
      <input
        ref={input}
        id={id}
        type="text"
        role="combobox"
        className="jp-GpuClusters-input"
        autoComplete="off"
        spellCheck={false}
        aria-label={props.label}
        aria-describedby={props.describedBy}
        aria-invalid={props.isInvalid}
        aria-expanded={isOpen}
        aria-controls={listId}
        aria-autocomplete="list"
        aria-busy={props.isLoading}
        aria-activedescendant={isOpen && active >= 0 ? optionId(active) : undefined}
        placeholder={props.placeholder}
        value={text ?? labelOf(value, choices)}
        onChange={event => type(event.target.value)}
        onClick={open}
        onKeyDown={onKeyDown}
      />
      <button
        type="button"
        className="jp-GpuClusters-comboboxButton"
        tabIndex={-1}
        aria-label={trans.__('Choices for %1', props.label)}
        aria-expanded={isOpen}
        onMouseDown={event => event.preventDefault()}
        onClick={() => {
          input.current?.focus();
          if (isOpen) {
            close();
          } else {
            open();
          }
        }}
      >
        <caretDownEmptyIcon.react tag="span" />
      </button>
      <ul
        id={listId}
        role="listbox"
        aria-label={props.label}
        className="jp-GpuClusters-options"
        hidden={!isOpen}
      >
        {isOpen &&
          shown.map((choice, index) => (
            <Option
              key={index}
              id={optionId(index)}
              choice={choice}
              isActive={index === active}
              isSelected={choice.value === value}
              onChoose={() => choose(choice)}
            />
          ))}
        {isOpen && shown.length === 0 && (
          <li className="jp-GpuClusters-noOption" role="presentation">
            {props.isLoading ? trans.__('Looking…') : trans.__('Nothing in the list fits.')}
          </li>
        )}
      </ul>
    </div>
  );
}

interface IOptionProps {
  id: string;
  choice: IChoice;
  isActive: boolean;
  isSelected: boolean;
  onChoose(): void;
}

function Option({ id, choice, isActive, isSelected, onChoose }: IOptionProps): React.ReactElement {
  const { label, value, detail, why_not: whyNot } = choice;
  const more = [
    ...(String(value) === label ? [] : [String(value)]),
    ...Object.entries(detail)
      .filter(([, told]) => told !== null && told !== '' && String(told) !== String(value))
      .slice(0, 4)
      .map(([key, told]) => `${key.replaceAll('_', ' ')}: ${String(told)}`)
  ];
  return (
    // The keys are handled by the input, which has the focus.
    // eslint-disable-next-line jsx-a11y/click-events-have-key-events
    <li
      id={id}
      role="option"
      className="jp-GpuClusters-option"
      aria-selected={isSelected}
      aria-disabled={whyNot !== null}
      data-active={isActive || undefined}
      title={[label, ...more, whyNot].filter(Boolean).join('\n')}
      onMouseDown={event => event.preventDefault()}
      onClick={onChoose}
    >
      <span>{label}</span>
      <small>{whyNot ?? more.join(' · ')}</small>
    </li>
  );
}

/** The choices that fit what was typed; all of them as long as nothing was. */
export function matching(choices: readonly IChoice[], text: string | null): readonly IChoice[] {
  const wanted = text?.trim().toLowerCase() ?? '';
  const fitting =
    wanted === ''
      ? choices
      : choices.filter(({ label, value }) => `${label} ${value}`.toLowerCase().includes(wanted));
  return fitting.slice(0, MAX_SHOWN);
}

function labelOf(value: Scalar | undefined, choices: readonly IChoice[]): string {
  return (
    choices.find(choice => choice.value === value)?.label ??
    (value === undefined ? '' : String(value))
  );
}

/** Where a key leads in a list of so many, `null` if it is no such key. */
function moved(key: string, active: number, count: number): number | null {
  switch (key) {
    case 'ArrowDown':
      return count === 0 ? -1 : (active + 1) % count;
    case 'ArrowUp':
      return count === 0 ? -1 : (active <= 0 ? count : active) - 1;
    case 'PageDown':
      return Math.min(count - 1, active + 10);
    case 'PageUp':
      return Math.max(0, active - 10);
    default:
      return null;
  }
}
