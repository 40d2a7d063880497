// A flow's hash: what an instance is pinned to (semantics 23).
//   HA1. It covers name, nodes, ids, order, routes, loop limits, signal names, and whatever else decides which calls
//        are made in which order: concurrency, whether a wait has a time-out, what a failure does. Not functions,
//        durations, retries, tags, priorities, sessions, metadata: tuning strands no running work.
//   HA2. The bytes that are hashed are stored behaviour: a change of them strands every instance of every flow.
//        Golden vectors in test/flow hold them.

import { hash } from "node:crypto";
import type { FlowDefinition, FlowNode, Keyed, WorkDefinition } from "./definition.ts";

type Shape = string | number | boolean | null | readonly Shape[];

export function hashOf(definition: FlowDefinition): string {
  const { name, compactAfter, nodes } = definition;
  const shape = ["perdure.flow.1", name, compactAfter ?? null, shapes(nodes)];
  return hash("sha256", JSON.stringify(shape), "hex");
}

/** How much of it stands in the names of a flow's own activities. */
const SHORT_HASH_CHARACTERS = 8;

/** The name of the activity that runs a flow's own function. */
export function ownActivityName(flow: string, hashText: string, path: string): string {
  return `${flow}@${hashText.slice(0, SHORT_HASH_CHARACTERS)}/${path}`;
}

function shapes(nodes: readonly FlowNode[]): readonly Shape[] {
  return nodes.map(shape);
}

function shape(node: FlowNode): Shape {
  const { kind, id } = node;
  switch (kind) {
    case "task":
      return [kind, id, ...work(node), undo(node.defer)];
    case "fork":
      return [kind, id, node.onError === "settle", keyed(node.branches)];
    case "map":
      return [
        kind,
        id,
        ...work(node.items),
        node.concurrency,
        node.onError === "settle",
        shapes(node.nodes),
      ];
    case "route": {
      // Only one case is taken: their order decides nothing.
      const cases = [...node.cases].sort((a, b) => (a.key < b.key ? -1 : 1));
      const otherwise = node.otherwise === undefined ? null : shapes(node.otherwise);
      return [kind, id, ...work(node.key), keyed(cases), otherwise, node.envelope === true];
    }
    case "loop":
      return [kind, id, node.maxIterations, node.onMax, shapes(node.nodes)];
    case "delay":
      return [kind, id];
    case "wait":
      return [kind, id, node.signal, node.timeoutMs !== undefined, node.onTimeout === "continue"];
    case "call":
      return [kind, id, shapes(node.nodes), undo(node.defer)];
    case "child":
      return [kind, id, node.orchestration, undo(node.defer)];
    case "catch":
      return [kind, id, shapes(node.nodes), shapes(node.handler)];
  }
}

function keyed(list: readonly Keyed[]): readonly Shape[] {
  return list.map(({ key, nodes }) => [key, shapes(nodes)]);
}

function work({ activity, version }: WorkDefinition): readonly Shape[] {
  return [activity ?? null, version ?? null];
}

function undo(defer: WorkDefinition | undefined): Shape {
  return defer === undefined ? null : work(defer);
}
