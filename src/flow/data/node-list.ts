// The node list: a flow's nodes as a flat list, for dashboards and tools.

import type { ActivityOptions } from "../../core/history/events.ts";
import { defined } from "../../core/values/defined.ts";
import type { FlowDefinition, Json, NodeKind } from "./definition.ts";
import { ownActivityName } from "./hash.ts";
import { walk, nodeWorkOf, type NodePosition } from "./paths.ts";

/** One node in the result of `flow.nodes()`. */
export interface FlowNodeInfo {
  readonly id: string;
  readonly kind: NodeKind;
  readonly path: string;
  /** The path of the enclosing node. Absent on the first level. */
  readonly parent?: string;
  /** The path of the previous node on its level. */
  readonly after?: string;
  /** The activity that runs the task, or that computes a map's items or a route's key. */
  readonly activity?: string;
  readonly options?: ActivityOptions;
  readonly description?: string;
  readonly metadata?: Json;
  /** The length of a delay, or the timeout of a wait. */
  readonly durationMs?: number;
  readonly signal?: string;
}

export function nodeList(definition: FlowDefinition, hash: string): readonly FlowNodeInfo[] {
  return [...walk(definition.nodes)].map((position) => {
    const { node, path, parent, after } = position;
    return {
      id: node.id,
      kind: node.kind,
      path,
      ...(parent === null ? {} : { parent }),
      ...(after === null ? {} : { after }),
      ...details(position, (own) => ownActivityName(definition.name, hash, own)),
    };
  });
}

function details(
  { node, path }: NodePosition,
  nameOf: (own: string) => string,
): Partial<FlowNodeInfo> {
  if (node.kind === "delay") return { durationMs: node.delayMs };
  if (node.kind === "wait") {
    const { signal, timeoutMs } = node;
    return { signal, ...defined({ durationMs: timeoutMs }) };
  }
  const work = nodeWorkOf(node, path)[0];
  if (work === undefined || node.kind === "call" || node.kind === "child") return {};
  const { activity, options, description, metadata } = work.definition;
  return {
    activity: activity ?? nameOf(work.path),
    ...defined({ options, description, metadata }),
  };
}
