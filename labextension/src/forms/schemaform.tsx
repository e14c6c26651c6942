/** The fields of a schema, drawn by Lab's own form component with our controls and templates. */

import { TranslationBundle } from '@jupyterlab/translation';
import { FormComponent } from '@jupyterlab/ui-components';
import { JSONObject, ReadonlyJSONObject } from '@lumino/coreutils';
import { RJSFSchema, ValidatorType } from '@rjsf/utils';
import * as React from 'react';

import { ChoiceLists } from './choicelists';
import { IContext, SelectControl, TextControl, TruthControl } from './controls';
import { IErrors } from './data';
import { ISchema } from './schema';
import { Field, Group, List } from './templates';
import { Union } from './union';

export interface ISchemaFormProps {
  schema: ISchema;
  data: JSONObject;
  errors: IErrors;
  lists: ChoiceLists;
  trans: TranslationBundle;
  onChange(data: JSONObject): void;
}

const TEMPLATES = {
  FieldTemplate: Field,
  ObjectFieldTemplate: Group,
  ArrayFieldTemplate: List
};
const WIDGETS = {
  TextWidget: TextControl,
  SelectWidget: SelectControl,
  CheckboxWidget: TruthControl
};
const FIELDS = { AnyOfField: Union };

/** The server is the only judge of a spec; here only the branches of unions are told apart. */
const VALIDATOR = {
  isValid: (schema: ISchema, data: unknown) =>
    (schema.type === 'null') === (data === undefined || data === null),
  validateFormData: () => ({ errors: [], errorSchema: {} }),
  rawValidation: () => ({}),
  toErrorList: () => []
};

const UNJUDGED = { noValidate: true };

export function SchemaForm(props: ISchemaFormProps): React.ReactElement {
  const { lists, trans } = props;
  const context = React.useMemo<IContext>(
    () => ({ lists, trans, defaultFormData: undefined }),
    [lists, trans]
  );
  return (
    <FormComponent
      schema={props.schema as RJSFSchema}
      formData={props.data}
      validator={VALIDATOR as unknown as ValidatorType<ReadonlyJSONObject>}
      templates={TEMPLATES}
      widgets={WIDGETS}
      fields={FIELDS}
      formContext={context}
      extraErrors={props.errors}
      experimental_defaultFormStateBehavior={{ emptyObjectFields: 'skipDefaults' }}
      showErrorList={false}
      noHtml5Validate
      tagName="div"
      {...UNJUDGED}
      onChange={({ formData }) => props.onChange((formData ?? {}) as JSONObject)}
    />
  );
}
