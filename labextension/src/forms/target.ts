/** What a form is for: where its fields come from and what is asked of the server. */

import { JSONObject } from '@lumino/coreutils';

import { IApi, ICluster } from '../api';
import { ILookUp, Wish } from './answers';
import { ISchema } from './schema';

/** Enough of a cluster to fill in a form about it. */
export type ClusterTarget = Pick<ICluster, 'account' | 'cluster_id' | 'full_name'>;

export type Target =
  | { readonly kind: 'create'; readonly account: string | null }
  | ({ readonly kind: 'submit' } & ClusterTarget)
  | ({ readonly kind: 'scale'; readonly nodes: number } & ClusterTarget)
  | ({ readonly kind: 'act'; readonly action: string; readonly title: string } & ClusterTarget);

/** The fields of a form, as the server tells them. */
export interface IFields {
  schema: ISchema;
  lookUps: Record<string, ILookUp>;
  /** One sentence on what happens, where there is one. */
  description: string | null;
}

/** Whether the form has a field for a name of its own. */
export function hasName(target: Target): boolean {
  return target.kind === 'create' || target.kind === 'submit';
}

/** Forms with the same key are for the same. */
export function targetKey(target: Target): string {
  const parts =
    target.kind === 'create'
      ? []
      : [target.account, target.cluster_id, target.kind === 'act' ? target.action : ''];
  return [target.kind, ...parts].map(encodeURIComponent).join('/');
}

export async function fetchFields(api: IApi, target: Target, account: string): Promise<IFields> {
  switch (target.kind) {
    case 'create': {
      const { schema, look_ups: lookUps } = await api.accountForm(account);
      return { schema: schema, lookUps, description: null };
    }
    case 'submit': {
      const { schema, look_ups: lookUps } = await api.clusterForm(target);
      return { schema: schema, lookUps, description: null };
    }
    case 'scale':
      return { schema: scaleSchema(target.nodes), lookUps: {}, description: null };
    case 'act': {
      const { actions, look_ups: lookUps } = await api.actions(target);
      const action = actions.find(({ name }) => name === target.action);
      return {
        schema: action?.schema ?? {},
        lookUps,
        description: action?.description ?? null
      };
    }
  }
}

export function wishOf(
  target: Target,
  account: string,
  name: string | null,
  spec: JSONObject,
  maxHours: number | null = null
): Wish {
  if (target.kind === 'create') {
    return { verb: 'create', account, name, spec, max_hours: maxHours };
  }
  const cluster = { account: target.account, cluster_id: target.cluster_id };
  switch (target.kind) {
    case 'submit':
      return { verb: 'submit', ...cluster, name, spec };
    case 'scale':
      return {
        verb: 'scale',
        ...cluster,
        nodes: typeof spec.nodes === 'number' ? spec.nodes : target.nodes
      };
    case 'act':
      return { verb: 'act', ...cluster, action: target.action, spec };
  }
}

function scaleSchema(nodes: number): ISchema {
  const title = 'Nodes';
  const description = 'How many nodes the cluster shall have in all.';
  return {
    type: 'object',
    properties: { nodes: { type: 'integer', title, description, minimum: 1, default: nodes } }
  };
}
