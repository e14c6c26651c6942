/** The controls of single values: text, number, choice, yes or no. */

import { TranslationBundle } from '@jupyterlab/translation';
import { WidgetProps } from '@rjsf/utils';
import * as React from 'react';

import { useSignals } from '../hooks';
import { IChoice } from './answers';
import { ChoiceLists } from './choicelists';
import { Combobox } from './combobox';
import { scalarOf } from './data';
import { ISchema, Scalar } from './schema';

/** What the parts of a form share; rjsf hands it to each of them. */
export interface IContext {
  trans: TranslationBundle;
  lists: ChoiceLists;
  /** Lab's own templates, which we replace, look for it. */
  defaultFormData: undefined;
}

export function contextOf(props: {
  formContext?: unknown;
  registry: { formContext: unknown };
}): IContext {
  return (props.formContext ?? props.registry.formContext) as IContext;
}

/** The ids of what stands around a control, as `Field` in templates.tsx gives them. */
export function describedBy(id: string): string {
  return `${id}__error ${id}__note ${id}__description`;
}

/** Which entry of its list the field with this id is, from 1. */
export function entryNumber(id: string): number {
  return Number(/_(\d+)$/.exec(id)?.[1] ?? 0) + 1;
}

/** What a control is called; entries of lists by their number, since the list has the name. */
function labelOf(props: WidgetProps): string {
  return (props.schema as ISchema).isItem
    ? contextOf(props).trans.__('Entry %1', entryNumber(props.id))
    : props.label;
}

export function isInvalid(props: { rawErrors?: readonly string[] }): boolean {
  return (props.rawErrors?.length ?? 0) > 0;
}

/** Text and numbers; with a list where choices are known. */
export function TextControl(props: WidgetProps): React.ReactElement {
  const schema = props.schema as ISchema;
  if (schema.choices !== undefined) {
    return <LookedUpControl {...props} />;
  }
  if (schema.suggestions) {
    const choices = schema.suggestions.map(value => choiceOf(value));
    return <ChoiceControl {...props} choices={choices} isLoading={false} />;
  }
  return schema.isLong ? <LongControl {...props} /> : <LineControl {...props} />;
}

function LineControl(props: WidgetProps): React.ReactElement {
  const schema = props.schema as ISchema;
  const isNumber = schema.type === 'integer' || schema.type === 'number';
  return (
    <input
      {...common(props)}
      type={isNumber ? 'number' : 'text'}
      step={schema.type === 'number' ? 'any' : undefined}
      min={schema.minimum}
      max={schema.maximum}
      autoComplete="off"
      spellCheck={false}
      onChange={event => props.onChange(emptyToUndefined(event.target.value))}
    />
  );
}

function LongControl(props: WidgetProps): React.ReactElement {
  return (
    <textarea
      {...common(props)}
      rows={5}
      spellCheck={false}
      onChange={event => props.onChange(emptyToUndefined(event.target.value))}
    />
  );
}

function common(props: WidgetProps) {
  const value = props.value as Scalar | undefined | null;
  return {
    id: props.id,
    className: 'jp-GpuClusters-input',
    'aria-label': labelOf(props),
    'aria-describedby': describedBy(props.id),
    'aria-invalid': isInvalid(props),
    'aria-required': props.required ?? false,
    placeholder: placeholderOf(props.schema as ISchema),
    value: value === undefined || value === null ? '' : String(value)
  };
}

/** A closed choice. */
export function SelectControl(props: WidgetProps): React.ReactElement {
  const values = (props.schema as ISchema).enum ?? [];
  return <ClosedChoice control={props} words={values.map(value => [value, String(value)])} />;
}

/** Yes, no, or left to the default. */
export function TruthControl(props: WidgetProps): React.ReactElement {
  const { trans } = contextOf(props);
  const words: [Scalar, string][] = [
    [true, trans.__('Yes')],
    [false, trans.__('No')]
  ];
  return <ClosedChoice control={props} words={words} />;
}

interface IClosedChoiceProps {
  control: WidgetProps;
  /** Each value with its word. */
  words: readonly (readonly [Scalar, string])[];
}

function ClosedChoice({ control, words }: IClosedChoiceProps): React.ReactElement {
  const { trans } = contextOf(control);
  const { placeholder } = control.schema as ISchema;
  const preset = words.find(([value]) => String(value) === placeholder)?.[1] ?? placeholder;
  return (
    <select
      id={control.id}
      className="jp-GpuClusters-input"
      aria-label={labelOf(control)}
      aria-describedby={describedBy(control.id)}
      aria-invalid={isInvalid(control)}
      aria-required={control.required ?? false}
      value={words.findIndex(([value]) => value === control.value)}
      onChange={event => control.onChange(words[Number(event.target.value)]?.[0])}
    >
      <option value={-1}>
        {preset === undefined ? trans.__('Not set') : trans.__('Default: %1', preset)}
      </option>
      {words.map(([value, word], at) => (
        <option key={String(value)} value={at}>
          {word}
        </option>
      ))}
    </select>
  );
}

/** Choices that the provider looks up. */
function LookedUpControl(props: WidgetProps): React.ReactElement {
  const { lists, trans } = contextOf(props);
  const { choices: name = '', depends_on: dependsOn } = props.schema as ISchema;
  useSignals(lists.changed);
  React.useEffect(() => lists.want(name, dependsOn ?? []), [lists, name, dependsOn]);
  const list = lists.get(name);
  return (
    <>
      <ChoiceControl {...props} choices={list.choices} isLoading={list.isLoading} />
      <div id={`${props.id}__note`} className="jp-GpuClusters-fieldNote" role="status">
        {list.isLoading && trans.__('Looking for choices…')}
        {list.missing.length > 0 &&
          trans.__('Choices are known once this is filled in: %1', list.missing.join(', '))}
        {!list.isComplete && trans.__('Not all choices are known: %1', list.notSeen.join(', '))}
        {list.error !== null && (
          <>
            {trans.__('The choices could not be looked up: %1', list.error.message)}{' '}
            <button
              type="button"
              className="jp-GpuClusters-link"
              onClick={() => lists.reload(name)}
            >
              {trans.__('Try again')}
            </button>
          </>
        )}
      </div>
    </>
  );
}

function ChoiceControl(
  props: WidgetProps & { choices: readonly IChoice[]; isLoading: boolean }
): React.ReactElement {
  const schema = props.schema as ISchema;
  const types = schema.scalars ?? (schema.type === 'string' ? [] : [schema.type ?? '']);
  return (
    <Combobox
      id={props.id}
      label={labelOf(props)}
      describedBy={describedBy(props.id)}
      value={props.value as Scalar | undefined}
      choices={props.choices}
      isLoading={props.isLoading}
      isInvalid={isInvalid(props)}
      placeholder={placeholderOf(schema)}
      read={text => scalarOf(text, types)}
      onChange={value => props.onChange(value)}
      trans={contextOf(props).trans}
    />
  );
}

function choiceOf(value: Scalar): IChoice {
  return {
    value: typeof value === 'boolean' ? String(value) : value,
    label: String(value),
    detail: {},
    why_not: null
  };
}

function placeholderOf({ placeholder }: ISchema): string | undefined {
  return placeholder === undefined ? undefined : placeholder.slice(0, 80);
}

function emptyToUndefined(text: string): string | undefined {
  return text === '' ? undefined : text;
}
