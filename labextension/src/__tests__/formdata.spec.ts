/** What pydantic writes for its usual types, as a form and back. */

import { describe, expect, it } from 'vitest';

import { branchOf, Data, IErrors, place, toSpec } from '../forms/data';
import { adapt, BRANCH, humanised, ISchema } from '../forms/schema';

const NULL: ISchema = { type: 'null' };

/** As `model_json_schema()` gives them: one property of each kind. */
const SCHEMA: ISchema = {
  type: 'object',
  title: 'Spec',
  $defs: {
    Colour: { type: 'string', enum: ['red', 'blue'], title: 'Colour' },
    Disk: {
      type: 'object',
      title: 'Disk',
      properties: {
        size_gib: { type: 'integer', title: 'Size Gib', minimum: 1 },
        inner: { anyOf: [{ $ref: '#/$defs/Disk' }, NULL], default: null }
      },
      required: ['size_gib']
    },
    Slurm: {
      type: 'object',
      title: 'Slurm',
      properties: { kind: { const: 'slurm', type: 'string' }, partition: { type: 'string' } },
      required: ['kind', 'partition']
    },
    Kube: {
      type: 'object',
      title: 'Kube',
      properties: {
        kind: { const: 'kube', type: 'string', default: 'kube' },
        project: { type: 'string' }
      }
    }
  },
  properties: {
    name: { type: 'string', title: 'Name' },
    nodes: { type: 'integer', title: 'Nodes', default: 1, minimum: 1, maximum: 8 },
    image: { anyOf: [{ type: 'string' }, NULL], default: null, title: 'Image', choices: 'images' },
    plan: {
      anyOf: [{ type: 'integer' }, { type: 'string' }, NULL],
      default: null,
      choices: 'plans'
    },
    price: { anyOf: [{ type: 'number' }, { type: 'string', pattern: '^\\d+$' }], default: '10' },
    is_public: { type: 'boolean', default: false },
    colour: { anyOf: [{ $ref: '#/$defs/Colour' }, NULL], default: null },
    size: { anyOf: [{ enum: ['small', 'big'], type: 'string' }, { type: 'string' }] },
    disk: { anyOf: [{ $ref: '#/$defs/Disk' }, NULL], default: null, title: 'The disk' },
    main_disk: { $ref: '#/$defs/Disk' },
    disks: { type: 'array', items: { $ref: '#/$defs/Disk' } },
    ssh_keys: { type: 'array', items: { type: 'string' }, choices: 'keys', depends_on: ['image'] },
    env: { type: 'object', additionalProperties: { type: 'string' } },
    ports: { anyOf: [{ type: 'object', additionalProperties: { type: 'integer' } }, NULL] },
    scheduler: {
      oneOf: [{ $ref: '#/$defs/Slurm' }, { $ref: '#/$defs/Kube' }],
      discriminator: { propertyName: 'kind' }
    },
    token: { anyOf: [{ type: 'string', format: 'password', writeOnly: true }, NULL] },
    start_script: { anyOf: [{ type: 'string' }, NULL] },
    extra: { type: 'object', additionalProperties: true }
  },
  required: ['name', 'main_disk']
};

const { schema, secrets } = adapt(SCHEMA, ['name']);
const field = (name: string): ISchema => schema.properties?.[name] ?? {};

describe('A form', () => {
  it('has every field but the omitted and the secret ones', () => {
    const shown = Object.keys(schema.properties ?? {});
    const all = Object.keys(SCHEMA.properties ?? {});
    expect(shown).toEqual(all.filter(name => !['name', 'token'].includes(name)));
    expect(secrets).toEqual(['Token']);
    expect(schema.required).toEqual(['main_disk']);
  });

  it('has no "or null" and no defaults but as placeholders', () => {
    expect(field('image')).toEqual({
      type: 'string',
      title: 'Image',
      choices: 'images',
      depends_on: []
    });
    expect(field('nodes')).toMatchObject({ placeholder: '1', minimum: 1, maximum: 8 });
    expect(field('is_public')).toMatchObject({ type: 'boolean', placeholder: 'false' });
    expect(JSON.stringify(schema)).not.toContain('"default"');
  });

  it('shows closed choices as such, open ones as suggestions, decimals as numbers', () => {
    expect(field('colour')).toMatchObject({ enum: ['red', 'blue'], type: 'string' });
    expect(field('size')).toMatchObject({ suggestions: ['small', 'big'], scalars: [] });
    expect(field('price')).toMatchObject({ type: 'number', placeholder: '10' });
    expect(field('plan')).toMatchObject({ type: 'string', scalars: ['integer'], choices: 'plans' });
  });

  it('keeps optional objects away until they are wanted', () => {
    expect(field('disk').anyOf?.map(({ type, $ref }) => type ?? $ref)).toEqual([
      'null',
      '#/$defs/Disk'
    ]);
    expect(field('disk').title).toBe('The disk');
  });

  it('looks up the entries of a list, not the list', () => {
    expect(field('ssh_keys').choices).toBeUndefined();
    expect(field('ssh_keys').items).toMatchObject({ choices: 'keys', depends_on: ['image'] });
  });

  it('knows long text by its name', () => {
    expect(field('start_script')).toMatchObject({ type: 'string', isLong: true });
  });

  it('ends with models that hold themselves', () => {
    expect(schema.$defs?.Disk?.properties?.inner?.anyOf?.[1]?.$ref).toBe('#/$defs/Disk');
  });
});

describe('What is written', () => {
  const spec = (data: Parameters<typeof toSpec>[1]) => toSpec(schema, data);

  it('is only what was filled in', () => {
    expect(spec({})).toEqual({ main_disk: {} });
    expect(spec({ image: null, ssh_keys: [], env: [], main_disk: { size_gib: 2 } })).toEqual({
      main_disk: { size_gib: 2 }
    });
  });

  it('has numbers where numbers may be meant, and text where it is text', () => {
    expect(spec({ plan: '12' }).plan).toBe(12);
    expect(spec({ plan: 'hourly' }).plan).toBe('hourly');
    expect(spec({ plan: '012' }).plan).toBe('012');
    expect(spec({ image: '12' }).image).toBe('12');
  });

  it('has mappings for pairs, in which a value may be empty', () => {
    const env: Data = [{ name: 'A.B', value: '1' }, { name: 'C' }, { value: 'lost' }];
    expect(spec({ env }).env).toEqual({ 'A.B': '1', C: '' });
    expect(spec({ ports: [{ name: 'web', value: 80 }, { name: 'none' }] }).ports).toEqual({
      web: 80
    });
  });

  it('has an optional object that was wanted, even when it is empty', () => {
    expect(spec({ disk: {} }).disk).toEqual({});
    expect(spec({ disk: null })).not.toHaveProperty('disk');
  });

  it('has the tag of the chosen branch', () => {
    expect(spec({ scheduler: { [BRANCH]: 1, project: 'p' } }).scheduler).toEqual({
      kind: 'kube',
      project: 'p'
    });
    expect(spec({ scheduler: { [BRANCH]: 0 } }).scheduler).toEqual({ kind: 'slurm' });
  });

  it('has any value where any may stand', () => {
    expect(spec({ extra: '{"a": [1]}' }).extra).toEqual({ a: [1] });
    expect(spec({ extra: '{"a": [1' }).extra).toBe('{"a": [1');
  });

  it('does not have what the form does not know', () => {
    expect(spec({ token: 'x', unknown: 1 })).toEqual({ main_disk: {} });
  });
});

describe('Branches of a union', () => {
  it('are told apart by the kind of the data', () => {
    const options: ISchema[] = [
      { type: 'null' },
      { type: 'string' },
      { type: 'array', items: {} },
      { type: 'object', properties: {}, branch: 0 },
      { type: 'object', properties: {}, branch: 1 }
    ];
    const data: Data[] = [undefined, 'x', [], {}, { [BRANCH]: 1 }];
    expect(data.map(value => branchOf(options, value, {}))).toEqual([0, 1, 2, 3, 4]);
  });
});

describe('Problems', () => {
  const at = (path: string, data: Parameters<typeof place>[2] = {}) =>
    place([{ field: path, text: 'is wrong.' }], schema, data);
  const wrong = { __errors: ['is wrong.'] };

  it.each<[string, Parameters<typeof place>[2], IErrors]>([
    ['nodes', {}, { nodes: wrong }],
    ['disks[1].size_gib', { disks: [{}, {}] }, { disks: { 1: { size_gib: wrong } } }],
    ['disk.inner.size_gib', { disk: { inner: {} } }, { disk: { inner: { size_gib: wrong } } }],
    ['env.A.B', { env: [{ name: 'A' }, { name: 'A.B' }] }, { env: { 1: { value: wrong } } }],
    ['ssh_keys[0]', { ssh_keys: ['x'] }, { ssh_keys: { 0: wrong } }],
    ['scheduler.project', { scheduler: { [BRANCH]: 1 } }, { scheduler: { project: wrong } }],
    ['main_disk.unknown', {}, { main_disk: wrong }]
  ])('of %s stand beside their field', (path, data, errors) => {
    expect(at(path, data)).toEqual({ errors, rest: [] });
  });

  it('of no field are left over', () => {
    expect(at('').rest).toHaveLength(1);
    expect(at('token').rest).toHaveLength(1);
  });
});

it('Keys become words', () => {
  expect(['gpus_per_node', 'sshKeyIDs', 'url', 'node-name'].map(humanised)).toEqual([
    'GPUs per node',
    'SSH key IDs',
    'URL',
    'Node name'
  ]);
});
