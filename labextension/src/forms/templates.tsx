/** How fields, groups and lists are laid out. */

import { TranslationBundle } from '@jupyterlab/translation';
import {
  addIcon,
  caretDownIcon,
  caretRightIcon,
  closeIcon,
  LabIcon,
  moveDownIcon,
  moveUpIcon
} from '@jupyterlab/ui-components';
import { ArrayFieldTemplateProps, FieldTemplateProps, ObjectFieldTemplateProps } from '@rjsf/utils';
import * as React from 'react';

import { contextOf, entryNumber } from './controls';
import { IErrors } from './data';
import { ISchema } from './schema';

/** Marks what is drawn inside something that has label and problems already. */
export const BARE = { 'ui:bare': true };

function isBare(uiSchema: object | undefined): boolean {
  return uiSchema !== undefined && 'ui:bare' in uiSchema;
}

/** One field: its label, the control, what is wrong with it, what it is for. */
export function Field(props: FieldTemplateProps): React.ReactElement {
  const { id, label, required, rawErrors = [], children, uiSchema } = props;
  const schema = props.schema as ISchema;
  if (id === 'root' || isBare(uiSchema)) {
    return <>{children}</>;
  }
  const isGroup = schema.type === 'object' || schema.type === 'array' || schema.anyOf !== undefined;
  const isEntry = schema.isItem === true;
  return (
    <div
      className="jp-GpuClusters-field"
      data-wide={isGroup || schema.isLong === true || undefined}
      data-invalid={rawErrors.length > 0 || undefined}
    >
      {!isGroup && !isEntry && label && (
        <label htmlFor={id}>
          {label}
          {required && <span aria-hidden> *</span>}
        </label>
      )}
      {children}
      <Problems id={`${id}__error`} texts={rawErrors} />
      {!isGroup && !isEntry && schema.description && (
        <div id={`${id}__description`} className="jp-GpuClusters-fieldHelp">
          {schema.description}
        </div>
      )}
    </div>
  );
}

export function Problems({
  id,
  texts
}: {
  id: string;
  texts: readonly string[];
}): React.ReactElement {
  return (
    <div id={id} className="jp-GpuClusters-fieldError">
      {[...new Set(texts)].map(text => (
        <div key={text}>{text}</div>
      ))}
    </div>
  );
}

/** The fields of an object; those of an inner one can be folded, and are drawn only while they are not. */
export function Group(props: ObjectFieldTemplateProps): React.ReactElement {
  const { idSchema, properties, uiSchema } = props;
  const schema = props.schema as ISchema;
  const content = properties.map(({ content: field, name }) => (
    <React.Fragment key={name}>{field}</React.Fragment>
  ));
  const isPair =
    schema.isItem === true && Object.keys(schema.properties ?? {}).join() === 'name,value';
  if (idSchema.$id === 'root' || isBare(uiSchema) || isPair) {
    return <div className="jp-GpuClusters-fields">{content}</div>;
  }
  const { trans } = contextOf(props);
  return (
    <Section
      id={idSchema.$id}
      title={titleOf(props, idSchema.$id, trans)}
      required={props.required === true && schema.isItem !== true}
      description={schema.description}
      errors={errorCount(props.errorSchema)}
      isOpen={schema.isItem === true}
      trans={trans}
    >
      <div className="jp-GpuClusters-fields">{content}</div>
    </Section>
  );
}

/** The title of a group; the entries of a list are numbered. */
function titleOf(
  { title, schema }: ObjectFieldTemplateProps,
  id: string,
  trans: TranslationBundle
): string {
  const { isItem, title: own } = schema as ISchema;
  const word = own === undefined || own === '' ? trans.__('Entry') : own;
  return isItem ? `${word} ${entryNumber(id)}` : title;
}

interface ISectionProps {
  id: string;
  title: string;
  required: boolean;
  description: string | undefined;
  /** How many problems there are inside. */
  errors: number;
  /** What stands in the heading beside the title. */
  aside?: React.ReactNode;
  /** Whether it is open at first. */
  isOpen?: boolean;
  trans: TranslationBundle;
  children: React.ReactNode;
}

/** A heading that folds what is below it. Problems inside open it. */
export function Section(props: ISectionProps): React.ReactElement {
  const { id, title, errors, trans } = props;
  const [isOpen, setOpen] = React.useState(props.isOpen ?? false);
  const hasErrors = errors > 0;
  React.useEffect(() => {
    if (hasErrors) {
      setOpen(true);
    }
  }, [hasErrors]);
  const icon = isOpen ? caretDownIcon : caretRightIcon;
  return (
    <div className="jp-GpuClusters-section" role="group" aria-labelledby={`${id}__title`}>
      <div className="jp-GpuClusters-sectionHead">
        <button
          type="button"
          id={`${id}__title`}
          aria-expanded={isOpen}
          aria-controls={`${id}__body`}
          onClick={() => setOpen(!isOpen)}
        >
          <icon.react tag="span" />
          {title}
          {props.required && <span aria-hidden> *</span>}
        </button>
        {hasErrors && (
          <span className="jp-GpuClusters-fieldError">
            {trans._n('%1 problem', '%1 problems', errors)}
          </span>
        )}
        {props.aside}
      </div>
      <div id={`${id}__body`} className="jp-GpuClusters-sectionBody" hidden={!isOpen}>
        {isOpen && props.description && (
          <div id={`${id}__description`} className="jp-GpuClusters-fieldHelp">
            {props.description}
          </div>
        )}
        {isOpen && props.children}
      </div>
    </div>
  );
}

/** A list; every entry can be moved and removed. */
export function List(props: ArrayFieldTemplateProps): React.ReactElement {
  const { idSchema, items, uiSchema } = props;
  const { trans } = contextOf(props);
  const schema = props.schema as ISchema;
  const title = schema.title ?? props.title;
  const body = (
    <div className="jp-GpuClusters-list" data-pairs={schema.isPairs === true || undefined}>
      {items.map(item => (
        <div key={item.key} className="jp-GpuClusters-listItem">
          <div className="jp-GpuClusters-listContent">{item.children}</div>
          <ItemButton
            icon={moveUpIcon}
            label={trans.__('Move entry %1 of %2 up', item.index + 1, title)}
            isDisabled={!item.hasMoveUp}
            onClick={item.onReorderClick(item.index, item.index - 1)}
          />
          <ItemButton
            icon={moveDownIcon}
            label={trans.__('Move entry %1 of %2 down', item.index + 1, title)}
            isDisabled={!item.hasMoveDown}
            onClick={item.onReorderClick(item.index, item.index + 1)}
          />
          <ItemButton
            icon={closeIcon}
            label={trans.__('Remove entry %1 of %2', item.index + 1, title)}
            isDisabled={false}
            onClick={item.onDropIndexClick(item.index)}
          />
        </div>
      ))}
      <button
        type="button"
        className="jp-GpuClusters-textButton"
        aria-label={trans.__('Add to %1', title)}
        onClick={props.onAddClick}
      >
        <addIcon.react tag="span" />
        {trans.__('Add')}
      </button>
    </div>
  );
  if (isBare(uiSchema)) {
    return body;
  }
  return (
    <fieldset className="jp-GpuClusters-listField">
      <legend>
        {title}
        {props.required && <span aria-hidden> *</span>}
      </legend>
      {schema.description && (
        <div id={`${idSchema.$id}__description`} className="jp-GpuClusters-fieldHelp">
          {schema.description}
        </div>
      )}
      {body}
    </fieldset>
  );
}

interface IItemButtonProps {
  icon: LabIcon;
  label: string;
  isDisabled: boolean;
  onClick: (event?: React.MouseEvent) => void;
}

function ItemButton({ icon, label, isDisabled, onClick }: IItemButtonProps): React.ReactElement {
  return (
    <button
      type="button"
      className="jp-GpuClusters-button"
      aria-label={label}
      title={label}
      disabled={isDisabled}
      onClick={onClick}
    >
      <icon.react tag="span" />
    </button>
  );
}

export function errorCount(errors: IErrors | undefined): number {
  const { __errors: own = [], ...inner } = errors ?? {};
  const below = Object.values(inner).filter(
    (value): value is IErrors => typeof value === 'object' && !Array.isArray(value)
  );
  return own.length + below.reduce((sum, value) => sum + errorCount(value), 0);
}
