/** What the server says about forms, choices, plans and details, and what it is asked. */

import { ReadonlyJSONObject } from '@lumino/coreutils';

import { ClusterRef, ICluster, IMoney, IWorkload, WorkloadRef } from '../api';

export interface ILookUp {
  title: string;
  /** Dotted paths of the fields whose values change the list. */
  depends_on: string[];
  /** Dotted paths of the fields without which it cannot be had. */
  needs: string[];
}

export interface IForm {
  account: string;
  /** The provider's. */
  title: string;
  /** JSON schema as pydantic writes it. */
  schema: ReadonlyJSONObject;
  look_ups: Record<string, ILookUp>;
}

/** What a provider can do to a cluster besides scaling and deleting it. */
export interface IAction {
  name: string;
  title: string;
  description: string;
  schema: ReadonlyJSONObject;
}

export interface IActions {
  actions: IAction[];
  look_ups: Record<string, ILookUp>;
}

export interface IChoice {
  value: string | number;
  label: string;
  detail: Record<string, string | number | null>;
  why_not: string | null;
}

export interface IChoices {
  choices: IChoice[];
  is_complete: boolean;
  not_seen: string[];
}

export type Wish =
  | {
      verb: 'create';
      account: string;
      name: string | null;
      spec: ReadonlyJSONObject;
      /** After so many hours it is to be deleted. */
      max_hours: number | null;
    }
  | ({ verb: 'submit'; name: string | null; spec: ReadonlyJSONObject } & ClusterRef)
  | ({ verb: 'scale'; nodes: number } & ClusterRef)
  | ({ verb: 'act'; action: string; spec: ReadonlyJSONObject } & ClusterRef);

export interface IPlan {
  verb: string;
  provider: string;
  account: string;
  name: string;
  action: string | null;
  shown: ReadonlyJSONObject;
  nodes: number;
  processes: number;
  gpus: number;
  is_free: boolean;
  price_per_hour: IMoney | null;
  commitment: IMoney | null;
  confirm: string | null;
  /** After so many hours we delete it, where the provider keeps no end time itself. */
  max_hours: number | null;
  warnings: string[];
}

export type Ask = 'nothing' | 'confirm' | 'price' | 'unknown_price' | 'commitment';

export interface IPlanned {
  plan_id: string;
  plan: IPlan;
  ask: Ask;
  question: string;
  /** The sentence to agree to, `null` where nothing is asked. */
  agreement: string | null;
  valid_for_s: number;
  /** The notebook cell that does the same. */
  cell: string | null;
}

export interface IAgreement {
  agreed: boolean;
  words: string | null;
}

export interface ISent {
  cluster?: ICluster;
  workload?: IWorkload;
  /** It was there already, and nothing was sent. */
  attached: boolean;
  note: string | null;
}

export type Thing = ClusterRef | WorkloadRef;

export type Cell = string | number | null;

/** One of the provider's own tables. */
export interface IDetails {
  title: string;
  columns: string[];
  rows: Record<string, Cell>[];
  note: string | null;
}
