/** What commands are given: names and ids as arguments, or nothing, and then they mean the active row. */

import { ReadonlyJSONObject, ReadonlyPartialJSONObject } from '@lumino/coreutils';

import { ICluster, IWorkload } from './api';
import { ILogTarget } from './logview';
import { Outline } from './outline';
import { IClustersModel } from './tokens';
import { clusterKey, workloadKey } from './tree';

export type Args = ReadonlyPartialJSONObject;

/** Where things are looked for. */
export interface IPlaces {
  model: IClustersModel;
  outline: Outline;
}

export function isGiven(args: Args, name: string): boolean {
  return typeof args[name] === 'string';
}

export function textArg(args: Args, name: string): string {
  const value = args[name];
  return typeof value === 'string' ? value : '';
}

export function activeCluster(outline: Outline): ICluster | null {
  return outline.active?.kind === 'cluster' ? outline.active.cluster : null;
}

export function activeWorkload(outline: Outline): IWorkload | null {
  return outline.active?.kind === 'workload' ? outline.active.workload : null;
}

/** The cluster that the arguments name, else the active one. */
export async function clusterOf(args: Args, places: IPlaces): Promise<ICluster | null> {
  return isGiven(args, 'cluster_id') ? findCluster(args, places) : activeCluster(places.outline);
}

/** The workload that the arguments name, else the active one. */
export async function workloadOf(args: Args, places: IPlaces): Promise<IWorkload | null> {
  return isGiven(args, 'workload_id') ? findWorkload(args, places) : activeWorkload(places.outline);
}

export function logTarget(args: Args): ILogTarget {
  const ids = {
    account: textArg(args, 'account'),
    cluster_id: textArg(args, 'cluster_id'),
    workload_id: textArg(args, 'workload_id')
  };
  return { ...ids, full_name: textArg(args, 'full_name') || ids.workload_id };
}

async function findCluster(args: Args, { model }: IPlaces): Promise<ICluster | null> {
  await model.refresh();
  const key = clusterKey({
    account: textArg(args, 'account'),
    cluster_id: textArg(args, 'cluster_id')
  });
  return model.view.state?.clusters.find(cluster => clusterKey(cluster) === key) ?? null;
}

async function findWorkload(args: Args, { model }: IPlaces): Promise<IWorkload | null> {
  await model.refresh();
  const key = workloadKey(logTarget(args));
  return model.view.state?.workloads.find(workload => workloadKey(workload) === key) ?? null;
}

export const NO_ARGS: ReadonlyJSONObject = { type: 'object', properties: {} };

export function argsSchema(descriptions: Record<string, string>): ReadonlyJSONObject {
  const entries = Object.entries(descriptions);
  return {
    type: 'object',
    properties: Object.fromEntries(
      entries.map(([name, description]) => [name, { type: 'string', description }])
    )
  };
}
