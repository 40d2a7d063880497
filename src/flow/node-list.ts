// A flow's nodes as a list, for people and tools.

import type { ActivityOptions } from "../core/history-events.ts";
import type { FlowDefinition, Json, NodeKind } from "./definition.ts";
import { ownActivityName } from "./hash.ts";
import { walk, worksOf, type Place } from "./paths.ts";

/** A node as `flow.nodes()` shows it. */
export interface FlowNodeInfo {
  readonly id: string;
  readonly kind: NodeKind;
  readonly path: string;
  /** The path of the node that it is below; absent on the first level. */
  readonly parent?: string;
  /** The path of the node before it on its level. */
  readonly after?: string;
  /** The activity that runs it, or that a map's items or a route's key come from. */
  readonly activity?: string;
  readonly options?: ActivityOptions;
  readonly description?: string;
  readonly metadata?: Json;
  /** Of a delay, or of a wait's time-out. */
  readonly durationMs?: number;
  readonly signal?: string;
}

export function nodeList(definition: FlowDefinition, hash: string): readonly FlowNodeInfo[] {
  return [...walk(definition.nodes)].map((place) => {
    const { node, path, parent, after } = place;
    return {
      id: node.id,
      kind: node.kind,
      path,
      ...(parent === null ? {} : { parent }),
      ...(after === null ? {} : { after }),
      ...details(place, (own) => ownActivityName(definition.name, hash, own)),
    };
  });
}

function details({ node, path }: Place, nameOf: (own: string) => string): Partial<FlowNodeInfo> {
  if (node.kind === "delay") return { durationMs: node.delayMs };
  if (node.kind === "wait") {
    const { signal, timeoutMs } = node;
    return { signal, ...(timeoutMs === undefined ? {} : { durationMs: timeoutMs }) };
  }
  const work = worksOf(node, path)[0];
  if (work === undefined || node.kind === "call" || node.kind === "child") return {};
  const { activity, options, description, metadata } = work.definition;
  return {
    activity: activity ?? nameOf(work.path),
    ...(options === undefined ? {} : { options }),
    ...(description === undefined ? {} : { description }),
    ...(metadata === undefined ? {} : { metadata }),
  };
}
