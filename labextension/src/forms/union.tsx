/** A field that may be one of several things, or nothing: which one is chosen first, then filled in. */

import { FieldProps } from '@rjsf/utils';
import * as React from 'react';

import { contextOf } from './controls';
import { branchOf, Data, IErrors } from './data';
import { BRANCH, ISchema, isObject } from './schema';
import { BARE, errorCount, Section } from './templates';

/** What of rjsf's properties we use; it has `any` for what depends on the schema. */
interface IUnionProps {
  name: string;
  schema: ISchema;
  options: ISchema[];
  required?: boolean;
  formData: Data;
  idSchema: { $id: string };
  errorSchema?: IErrors;
  formContext?: unknown;
  registry: { formContext: unknown; fields: Record<string, React.ComponentType<object>> };
  onChange(data: Data): void;
}

/** rjsf gives us the options with their references resolved. */
export function Union(props: FieldProps): React.ReactElement {
  const { options } = props as unknown as IUnionProps;
  const [nothing, only] = options;
  return options.length === 2 && nothing?.type === 'null' && only && isObject(only) ? (
    <Optional {...(props as unknown as IUnionProps)} option={only} />
  ) : (
    <OneOf {...(props as unknown as IUnionProps)} />
  );
}

/** An object that is there or not. */
function Optional(props: IUnionProps & { option: ISchema }): React.ReactElement {
  const { idSchema, formData, option } = props;
  const { trans } = contextOf(props);
  const { schema } = props;
  const title = schema.title ?? option.title ?? props.name;
  const isThere = formData !== undefined && formData !== null;
  const toggle = () => props.onChange(isThere ? undefined : {});
  if (!isThere) {
    return (
      <div className="jp-GpuClusters-section">
        <div className="jp-GpuClusters-sectionHead" title={schema.description}>
          <span className="jp-GpuClusters-notSet">{title}</span>
          <button
            type="button"
            className="jp-GpuClusters-link"
            aria-label={trans.__('Set %1', title)}
            onClick={toggle}
          >
            {trans.__('Set')}
          </button>
        </div>
      </div>
    );
  }
  return (
    <Section
      id={idSchema.$id}
      title={title}
      required={false}
      description={schema.description ?? option.description}
      errors={errorCount(props.errorSchema)}
      isOpen
      trans={trans}
      aside={
        <button
          type="button"
          className="jp-GpuClusters-link"
          aria-label={trans.__('Remove %1', title)}
          onClick={toggle}
        >
          {trans.__('Remove')}
        </button>
      }
    >
      <Inner {...props} option={option} />
    </Section>
  );
}

/** One of several kinds of things. */
function OneOf(props: IUnionProps): React.ReactElement {
  const { options, idSchema, formData } = props;
  const { trans } = contextOf(props);
  const { schema } = props;
  const title = schema.title ?? props.name;
  const [index, setIndex] = React.useState(() => branchOf(options, formData, {}));
  const option = options[index];
  const choose = (next: number) => {
    const chosen = options[next];
    setIndex(next);
    props.onChange(chosen && isObject(chosen) ? { [BRANCH]: chosen.branch ?? 0 } : undefined);
  };
  return (
    <Section
      id={idSchema.$id}
      title={title}
      required={props.required ?? false}
      description={schema.description}
      errors={errorCount(props.errorSchema)}
      isOpen={formData !== undefined}
      trans={trans}
    >
      <div className="jp-GpuClusters-field" data-wide>
        <label htmlFor={`${idSchema.$id}__kind`}>{trans.__('Kind')}</label>
        <select
          id={`${idSchema.$id}__kind`}
          className="jp-GpuClusters-input"
          aria-label={trans.__('Kind of %1', title)}
          value={index}
          onChange={event => choose(Number(event.target.value))}
        >
          {options.map(({ title: word, type }, at) => (
            <option key={at} value={at}>
              {type === 'null' ? trans.__('Not set') : (word ?? type)}
            </option>
          ))}
        </select>
      </div>
      {option && option.type !== 'null' && <Inner {...props} option={option} />}
    </Section>
  );
}

/** The fields of what was chosen, without a heading of their own. */
function Inner({ option, ...props }: IUnionProps & { option: ISchema }): React.ReactElement | null {
  const { SchemaField } = props.registry.fields;
  if (!SchemaField) {
    return null;
  }
  const { options: _, ...rest } = props;
  return <SchemaField {...rest} {...{ schema: option, uiSchema: BARE }} />;
}
