/**
 * From the JSON schema that pydantic writes to one that a form can show. Pure.
 *
 * A form holds only what the user wrote: defaults become placeholders, "or null" goes away (what is left empty is
 * left out), mappings become lists of pairs, tags of unions are hidden, and secrets are not shown at all.
 */

export type Scalar = string | number | boolean;

/** The part of JSON schema that pydantic uses, and below it our own words for the form. */
export interface ISchema {
  type?: string;
  title?: string;
  description?: string;
  properties?: Record<string, ISchema>;
  required?: string[];
  additionalProperties?: boolean | ISchema;
  items?: ISchema;
  enum?: Scalar[];
  const?: Scalar;
  default?: unknown;
  anyOf?: ISchema[];
  oneOf?: ISchema[];
  allOf?: ISchema[];
  $ref?: string;
  $defs?: Record<string, ISchema>;
  discriminator?: { propertyName: string };
  format?: string;
  pattern?: string;
  writeOnly?: boolean;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
  /** The look-up that has the choices (`core/choices.py`). */
  choices?: string;
  /** Dotted paths of the fields whose change makes the choices void. */
  depends_on?: string[];

  /** What is so when the field is left empty. */
  placeholder?: string;
  /** Known values of a field that takes others too. */
  suggestions?: Scalar[];
  /** Text of many lines. */
  isLong?: boolean;
  /** Text that may mean a number, or true or false. */
  scalars?: string[];
  /** Any value, written as JSON. */
  isJson?: boolean;
  /** A list of `{name, value}` that stands for a mapping. */
  isPairs?: boolean;
  /** An entry of a list. */
  isItem?: boolean;
  /** Which branch of a union it is; kept in the form's data under {@link BRANCH}. */
  branch?: number;
  /** What is always sent with an object. */
  constants?: Record<string, Scalar>;
}

export type Definitions = Record<string, ISchema>;

/** Where an object of the form's data says which branch of a union it is. */
export const BRANCH = '$branch';

export interface IAdapted {
  schema: ISchema;
  /** Titles of the fields that are not in the form because they hold secrets. */
  secrets: string[];
}

const NESTING = 12;
const LONG = /(script|dockerfile)(_content)?$/i;
const NUMBERS = ['integer', 'number'];
const ACRONYMS = new Set(
  'api aws cpu cpus dns e2e gpu gpus http https id ids ip ips json nfs ram sfs sha ssh tcp ttl udp uid gid uri url uuid vm vpc yaml'.split(
    ' '
  )
);

/**
 * @param root the schema of the whole spec
 * @param omitted properties at the top that have a control of their own
 */
export function adapt(root: ISchema, omitted: readonly string[] = []): IAdapted {
  const adapter = new Adapter(root.$defs ?? {});
  const kept = Object.entries(root.properties ?? {}).filter(([key]) => !omitted.includes(key));
  const top = adapter.node({ ...root, properties: Object.fromEntries(kept) }, '', 0);
  const { title: _, description: __, ...schema } = top;
  return { schema: { ...schema, $defs: adapter.definitions() }, secrets: [...adapter.secrets] };
}

/** The definition that a schema refers to, with what the schema says itself laid over it. */
export function resolve(schema: ISchema, definitions: Definitions): ISchema {
  if (schema.$ref === undefined) {
    return schema;
  }
  const { $ref, ...own } = schema;
  const target = definitions[$ref.replace('#/$defs/', '')];
  return target ? { ...resolve(target, definitions), ...own } : own;
}

export function isObject(schema: ISchema): boolean {
  return schema.properties !== undefined || schema.type === 'object';
}

class Adapter {
  constructor(private readonly _definitions: Definitions) {}

  readonly secrets = new Set<string>();

  /** All definitions, adapted: references to objects stay, so that recursive models end. */
  definitions(): Definitions {
    const entries = Object.entries(this._definitions);
    return Object.fromEntries(entries.map(([name, schema]) => [name, this.node(schema, '', 1)]));
  }

  node(given: ISchema, key: string, depth: number): ISchema {
    const schema = { ...unwrapped(given), title: titleOf(given, key) };
    if (depth > NESTING) {
      return { ...words(schema), type: 'string', isLong: true, isJson: true };
    }
    const options = schema.anyOf ?? schema.oneOf;
    if (options) {
      return this._union(schema, options, key, depth);
    }
    if (schema.$ref !== undefined) {
      const target = this._resolve(schema);
      return isModel(target) ? words(schema, { $ref: schema.$ref }) : this.node(target, key, depth);
    }
    return this._plain(schema, key, depth);
  }

  private _plain(schema: ISchema, key: string, depth: number): ISchema {
    if (schema.const !== undefined) {
      return words(schema, { type: typeOf(schema.const), enum: [schema.const] });
    }
    if (schema.enum) {
      return words(schema, { type: schema.type ?? 'string', enum: schema.enum });
    }
    if (schema.properties) {
      return this._object(schema, depth);
    }
    if (schema.type === 'object' && typeof schema.additionalProperties === 'object') {
      return this._pairs(schema, schema.additionalProperties, key, depth);
    }
    if (schema.type === 'array' && schema.items) {
      return this._list(schema, schema.items, depth);
    }
    if (schema.type === 'string') {
      return words(schema, { type: 'string', ...(LONG.test(key) ? { isLong: true } : {}) });
    }
    if (schema.type === 'boolean' || NUMBERS.includes(schema.type ?? '')) {
      return words(schema, { type: schema.type, ...limits(schema) });
    }
    return words(schema, { type: 'string', isLong: true, isJson: true });
  }

  private _object(schema: ISchema, depth: number): ISchema {
    const properties: Record<string, ISchema> = {};
    const constants: Record<string, Scalar> = { ...schema.constants };
    for (const [key, inner] of Object.entries(schema.properties ?? {})) {
      const { const: constant } = unwrapped(inner);
      if (constant !== undefined) {
        if (schema.required?.includes(key)) {
          constants[key] = constant;
        }
      } else if (this._isSecret(inner)) {
        this.secrets.add(titleOf(inner, key));
      } else {
        properties[key] = this.node(inner, key, depth + 1);
      }
    }
    const required = (schema.required ?? []).filter(key => key in properties);
    const { branch } = schema;
    return words(schema, { type: 'object', properties, required, constants, branch });
  }

  private _pairs(schema: ISchema, values: ISchema, key: string, depth: number): ISchema {
    const value = { placeholder: 'Value', ...this.node(values, '', depth + 1), title: 'Value' };
    const name: ISchema = { type: 'string', title: 'Name', placeholder: 'Name' };
    const items: ISchema = { type: 'object', properties: { name, value }, isItem: true };
    const marked = LONG.test(key) ? { isLong: true } : {};
    return words(schema, { type: 'array', isPairs: true, items, ...marked });
  }

  private _list(schema: ISchema, items: ISchema, depth: number): ISchema {
    const { choices, depends_on } = schema;
    const marked = choices === undefined ? items : { choices, depends_on, ...items };
    const own = { ...schema, choices: undefined, depends_on: undefined };
    const inner = { ...this.node(marked, '', depth + 1), isItem: true };
    return words(own, { type: 'array', items: inner });
  }

  private _union(schema: ISchema, options: ISchema[], key: string, depth: number): ISchema {
    const { anyOf: _, oneOf: __, ...own } = schema;
    const isNullable = options.some(isNull);
    const rest = this._told(options.filter(option => !isNull(option)));
    const [only] = rest;
    if (only && rest.length === 1) {
      const single = this.node({ ...only, ...own, title: own.title ?? only.title }, key, depth);
      return isNullable && this._isModelNode(only) ? optional(own, [single]) : single;
    }
    if (rest.every(option => isScalar(this._resolve(option)))) {
      return this._scalars(
        own,
        rest.map(option => this._resolve(option)),
        key
      );
    }
    const branches = rest.map((option, index) => this._branch(schema, option, index, depth));
    return isNullable ? optional(own, branches) : words(own, { anyOf: branches });
  }

  private _branch(union: ISchema, option: ISchema, index: number, depth: number): ISchema {
    const target = this._resolve(option);
    if (!isModel(target)) {
      return { ...this.node(option, '', depth + 1), title: option.title ?? kindWord(target) };
    }
    const tag = union.discriminator?.propertyName;
    const value = tag === undefined ? undefined : target.properties?.[tag]?.const;
    const constants = tag === undefined || value === undefined ? {} : { [tag]: value };
    const adapted = this._object({ ...target, constants, branch: index }, depth + 1);
    return { ...adapted, title: target.title ?? String(value ?? index + 1) };
  }

  /** Text or number, or a choice with other values allowed: one control. */
  private _scalars(own: ISchema, options: ISchema[], key: string): ISchema {
    const suggestions = options.flatMap(({ enum: values, const: value }) =>
      value !== undefined ? [value] : (values ?? [])
    );
    const types = options.map(({ type, enum: [first] = [] }) => type ?? typeOf(first ?? ''));
    return words(own, {
      type: 'string',
      scalars: [...new Set(types)].filter(type => type !== 'string'),
      ...(suggestions.length > 0 ? { suggestions } : {}),
      ...(LONG.test(key) ? { isLong: true } : {})
    });
  }

  /** A decimal comes as number or text of digits: the number will do. */
  private _told(options: ISchema[]): ISchema[] {
    const numbers = options.filter(({ type }) => NUMBERS.includes(type ?? ''));
    const isDecimal = options.every(
      option => numbers.includes(option) || (option.type === 'string' && option.pattern)
    );
    return isDecimal && numbers.length > 0 ? numbers.slice(0, 1) : options;
  }

  private _isSecret(schema: ISchema): boolean {
    const target = this._resolve(unwrapped(schema));
    const options = target.anyOf ?? target.oneOf ?? [];
    return (
      target.format === 'password' ||
      target.writeOnly === true ||
      options.some(option => this._isSecret(option))
    );
  }

  private _isModelNode(schema: ISchema): boolean {
    return isModel(this._resolve(schema));
  }

  private _resolve(schema: ISchema): ISchema {
    return resolve(unwrapped(schema), this._definitions);
  }
}

/** "Not set" first, so that nothing is there until the user wants it. */
function optional(own: ISchema, branches: ISchema[]): ISchema {
  return words(own, { anyOf: [{ type: 'null' }, ...branches] });
}

function unwrapped(schema: ISchema): ISchema {
  const { allOf, ...own } = schema;
  const [only] = allOf ?? [];
  return only && allOf?.length === 1 ? { ...only, ...own } : schema;
}

/** What a schema says to people and to look-ups, and `more`. */
function words(schema: ISchema, more: ISchema = {}): ISchema {
  const { title, description, choices, depends_on, default: value } = schema;
  const isShown = ['string', 'number', 'boolean'].includes(typeof value) && value !== '';
  return {
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(choices === undefined ? {} : { choices, depends_on: depends_on ?? [] }),
    ...(isShown ? { placeholder: String(value) } : {}),
    ...more
  };
}

function limits({ minimum, maximum, exclusiveMinimum, exclusiveMaximum }: ISchema): ISchema {
  const [low, high] = [minimum ?? exclusiveMinimum, maximum ?? exclusiveMaximum];
  return {
    ...(low === undefined ? {} : { minimum: low }),
    ...(high === undefined ? {} : { maximum: high })
  };
}

function isNull(schema: ISchema): boolean {
  return schema.type === 'null';
}

function isModel(schema: ISchema): boolean {
  return schema.properties !== undefined;
}

function isScalar(schema: ISchema): boolean {
  return (
    schema.enum !== undefined ||
    schema.const !== undefined ||
    ['string', 'boolean', ...NUMBERS].includes(schema.type ?? '')
  );
}

function typeOf(value: Scalar): string {
  return typeof value === 'number' && Number.isInteger(value) ? 'integer' : typeof value;
}

function kindWord({ type }: ISchema): string {
  const kinds: Record<string, string> = { array: 'List', object: 'Mapping', string: 'Text' };
  return kinds[type ?? ''] ?? 'Value';
}

/** The title, unless pydantic made it up from the key: then the key in words. */
function titleOf({ title }: ISchema, key: string): string {
  const automatic = key
    .replaceAll('_', ' ')
    .replace(/[A-Za-z]+/g, word => word.charAt(0).toUpperCase() + word.slice(1).toLowerCase())
    .trim();
  return title !== undefined && (key === '' || title.toLowerCase() !== automatic.toLowerCase())
    ? title
    : humanised(key);
}

/** `gpus_per_node` and `gpusPerNode` as `GPUs per node`. */
export function humanised(key: string): string {
  const parts = key.replace(/([a-z0-9])([A-Z])/g, '$1_$2').split(/[_\-\s]+/);
  const text = parts
    .filter(Boolean)
    .map(word => {
      const low = word.toLowerCase();
      return ACRONYMS.has(low)
        ? low.endsWith('s') && ACRONYMS.has(low.slice(0, -1))
          ? `${low.slice(0, -1).toUpperCase()}s`
          : low.toUpperCase()
        : low;
    })
    .join(' ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}
