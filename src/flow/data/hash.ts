// The hash of a flow's structure. Every instance is pinned to the hash it started with (semantics 23).
//   - The hash covers everything that decides which calls are made in which order: name, nodes, ids, order,
//        routes, loop limits, signal names, concurrency, whether a wait has a timeout, and the handling of
//        failures. It does not cover functions, durations, retries, tags, priorities, sessions and
//        metadata: changing those does not affect running instances.
//   - The hashed bytes must never change: every flow would get a new version, and no worker could run the
//        existing instances. Golden vectors in test/features/flow check the bytes.

import { hash } from "node:crypto";
import type { FlowDefinition, FlowNode, KeyedNodes, WorkDefinition } from "./definition.ts";

type Shape = string | number | boolean | null | readonly Shape[];

export function hashOf(definition: FlowDefinition): string {
  const { name, compactAfter, nodes } = definition;
  const shape = ["perdure.flow.1", name, compactAfter ?? null, shapes(nodes)];
  return hash("sha256", JSON.stringify(shape), "hex");
}

/** How many characters of the hash are in the name of an inline function's activity. */
const SHORT_HASH_CHARACTERS = 8;

/** The name of the activity that runs an inline function of a flow. */
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
      // Only one case runs, so the order of the cases has no effect.
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

function keyed(list: readonly KeyedNodes[]): readonly Shape[] {
  return list.map(({ key, nodes }) => [key, shapes(nodes)]);
}

function work({ activity, version }: WorkDefinition): readonly Shape[] {
  return [activity ?? null, version ?? null];
}

function undo(defer: WorkDefinition | undefined): Shape {
  return defer === undefined ? null : work(defer);
}
