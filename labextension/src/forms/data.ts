/** From what stands in a form to a spec, and from problems of the spec to the fields of the form. Pure. */

import { JSONObject, JSONValue } from '@lumino/coreutils';

import { IProblem } from '../api';
import { BRANCH, Definitions, ISchema, isObject, resolve, Scalar } from './schema';

/** A form's data: JSON in which anything may still be missing. */
export type Data = JSONValue | undefined;

type Written = NonNullable<JSONValue>;

/** The spec that the data of a form stands for: without what was left empty. */
export function toSpec(schema: ISchema, data: Data): JSONObject {
  return asObject(specOf(schema, data, schema.$defs ?? {})) ?? {};
}

function specOf(given: ISchema, data: Data, definitions: Definitions): Data {
  const schema = resolve(given, definitions);
  if (data === undefined || data === null) {
    return undefined;
  }
  if (schema.anyOf) {
    return chosen(schema.anyOf, data, definitions);
  }
  if (schema.isPairs) {
    return mappingOf(schema, data, definitions);
  }
  if (schema.type === 'array') {
    return listOf(schema, data, definitions);
  }
  if (isObject(schema)) {
    return objectOf(schema, data, definitions);
  }
  if (typeof data === 'string') {
    return schema.isJson ? parsed(data) : schema.scalars ? scalarOf(data, schema.scalars) : data;
  }
  return data;
}

/** An object that is there because the user wanted it is sent, even when nothing stands in it. */
function chosen(options: ISchema[], data: Data, definitions: Definitions): Data {
  const option = options[branchOf(options, data, definitions)];
  if (!option || option.type === 'null') {
    return undefined;
  }
  const value = specOf(option, data, definitions);
  return value === undefined && isObject(resolve(option, definitions)) ? {} : value;
}

function mappingOf(schema: ISchema, data: Data, definitions: Definitions): Data {
  const value = schema.items?.properties?.value ?? {};
  const empty = resolve(value, definitions).type === 'string' ? '' : undefined;
  const entries = pairsOf(data)
    .filter(pair => pair.name !== '')
    .map(pair => [pair.name, specOf(value, pair.value, definitions) ?? empty] as const)
    .filter((entry): entry is readonly [string, Written] => entry[1] !== undefined);
  return entries.length > 0 ? Object.fromEntries(entries) : undefined;
}

function listOf(schema: ISchema, data: Data, definitions: Definitions): Data {
  const items = resolve(schema.items ?? {}, definitions);
  const values = (Array.isArray(data) ? data : [])
    .map(item => specOf(items, item, definitions) ?? (isObject(items) ? {} : undefined))
    .filter((item): item is Written => item !== undefined);
  return values.length > 0 ? values : undefined;
}

function objectOf(schema: ISchema, data: Data, definitions: Definitions): Data {
  const written: JSONObject = { ...schema.constants };
  const object = asObject(data) ?? {};
  for (const [key, inner] of Object.entries(schema.properties ?? {})) {
    const value = specOf(inner, object[key], definitions);
    if (value !== undefined) {
      written[key] = value;
    } else if (schema.required?.includes(key) && isObject(resolve(inner, definitions))) {
      written[key] = {};
    }
  }
  return Object.keys(written).length > 0 ? written : undefined;
}

/** Which option of a union the data is; 0 for what is not there. */
export function branchOf(options: ISchema[], data: Data, definitions: Definitions): number {
  if (data === undefined || data === null) {
    return 0;
  }
  const object = asObject(data);
  const index = options.findIndex(option => {
    const { type, isPairs, branch, ...schema } = resolve(option, definitions);
    if (object) {
      return isObject({ type, ...schema }) && (branch ?? 0) === (object[BRANCH] ?? branch ?? 0);
    }
    return Array.isArray(data)
      ? type === 'array' || isPairs === true
      : type !== 'null' && type !== 'array' && !isObject({ type, ...schema });
  });
  return Math.max(0, index);
}

function parsed(text: string): Data {
  if (text.trim() === '') {
    return undefined;
  }
  try {
    return JSON.parse(text) as JSONValue;
  } catch {
    return text;
  }
}

/** A number or a truth value where the field may be one and the text reads like one. */
export function scalarOf(text: string, types: readonly string[]): Scalar {
  if (types.includes('integer') && /^-?(0|[1-9]\d{0,15})$/.test(text)) {
    return Number(text);
  }
  if (types.includes('number') && /^-?(0|[1-9]\d*)(\.\d+)?$/.test(text)) {
    return Number(text);
  }
  return types.includes('boolean') && /^(true|false)$/.test(text) ? text === 'true' : text;
}

interface IPair {
  name: string;
  value: Data;
}

function pairsOf(data: Data): IPair[] {
  return (Array.isArray(data) ? data : []).map(item => {
    const { name, value } = asObject(item) ?? {};
    return { name: typeof name === 'string' ? name : '', value };
  });
}

function asObject(data: Data): (Record<string, Data> & JSONObject) | null {
  return typeof data === 'object' && data !== null && !Array.isArray(data) ? data : null;
}

/** Problems as the form wants them: at each place, by key or index, its texts. */
export interface IErrors {
  [key: string]: IErrors | string[] | undefined;
  __errors?: string[];
}

export interface IPlaced {
  errors: IErrors;
  /** Problems of no field that the form has. */
  rest: IProblem[];
}

/** Put every problem beside its field. */
export function place(problems: readonly IProblem[], schema: ISchema, data: Data): IPlaced {
  const placed: IPlaced = { errors: {}, rest: [] };
  for (const problem of problems) {
    const path = pathOf(problem.field, schema, data, schema.$defs ?? {});
    if (path.length === 0) {
      placed.rest.push(problem);
      continue;
    }
    let here = placed.errors;
    for (const key of path) {
      here = (here[key] ??= {}) as IErrors;
    }
    (here.__errors ??= []).push(problem.text);
  }
  return placed;
}

/** Where in the form's data a dotted path of the spec leads, as far as it can be followed. */
function pathOf(field: string, given: ISchema, data: Data, definitions: Definitions): string[] {
  const schema = resolve(given, definitions);
  if (field === '') {
    return [];
  }
  if (schema.anyOf) {
    const option = schema.anyOf[branchOf(schema.anyOf, data, definitions)];
    return option ? pathOf(field, option, data, definitions) : [];
  }
  if (schema.isPairs) {
    return pairPath(field, schema, data, definitions);
  }
  const index = /^\[(\d+)\]\.?(.*)$/.exec(field);
  if (index && schema.items) {
    const [, at = '0', rest = ''] = index;
    const item = Array.isArray(data) ? data[Number(at)] : undefined;
    return [at, ...pathOf(rest, schema.items, item, definitions)];
  }
  const key = longest(Object.keys(schema.properties ?? {}), field);
  const inner = key === undefined ? undefined : schema.properties?.[key];
  return key === undefined || inner === undefined
    ? []
    : [key, ...pathOf(after(field, key), inner, asObject(data)?.[key], definitions)];
}

function pairPath(field: string, schema: ISchema, data: Data, definitions: Definitions): string[] {
  const pairs = pairsOf(data);
  const name = longest(pairs.map(pair => pair.name).filter(Boolean), field);
  const index = pairs.findIndex(pair => pair.name === name);
  const value = schema.items?.properties?.value;
  return index < 0 || name === undefined || !value
    ? []
    : [
        String(index),
        'value',
        ...pathOf(after(field, name), value, pairs[index]?.value, definitions)
      ];
}

/** The longest of `keys` with which the path begins; keys may hold dots themselves. */
function longest(keys: string[], field: string): string | undefined {
  const fitting = keys.filter(
    key => field === key || field.startsWith(`${key}.`) || field.startsWith(`${key}[`)
  );
  return fitting.sort((one, other) => other.length - one.length)[0];
}

function after(field: string, key: string): string {
  return field.slice(key.length).replace(/^\./, '');
}
